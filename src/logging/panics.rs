//! A panic as one Error line, with the fields of the spans that it happened in.

use std::panic;

/// Replaces the standard text on stderr, which a host would show as Debug, or from some version
/// on as a crash (A 7.4).
pub(super) fn install_hook() {
    panic::set_hook(Box::new(|info| {
        let text = info.payload_as_str().unwrap_or("without a text");
        let source = info.location().map_or_else(
            || "unknown".to_owned(),
            |place| format!("{}:{}", place_of(place.file()), place.line()),
        );
        tracing::error!(log_source = source.as_str(), "plugin panicked: {text}");
    }));
}

/// A library's file is a path on the machine that built it; only its end says something.
fn place_of(file: &str) -> &str {
    if !file.starts_with('/') {
        return file;
    }
    let end = file
        .rsplit('/')
        .take(3)
        .map(|part| part.len() + 1)
        .sum::<usize>();
    file.get(file.len().saturating_sub(end) + 1..)
        .unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};

    use tracing_subscriber::layer::SubscriberExt;

    use super::*;
    use crate::logging::JsonLayer;

    /// P-21, A 7.4: not the runtime's own text, and with the fields of the call that panicked.
    #[test]
    fn panic_is_one_error_line_with_its_place_and_the_fields_around_it() {
        let _alone = crate::logging::ONE_SUBSCRIBER
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        let layer = JsonLayer::new(tracing::Level::INFO, move |line: &[u8]| {
            sink.lock()
                .unwrap()
                .push(serde_json::from_slice(line).unwrap());
        });
        let registry = tracing_subscriber::registry().with(layer);
        let before = panic::take_hook();
        install_hook();
        let caught = tracing::subscriber::with_default(registry, || {
            let _span = tracing::info_span!("execute", namespace = "db", pvc = "data").entered();
            panic::catch_unwind(|| panic!("odd {}", 1))
        });
        panic::set_hook(before);
        assert!(caught.is_err());
        let lines: Vec<serde_json::Value> = std::mem::take(&mut lines.lock().unwrap());
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0]["@level"], "error");
        assert_eq!(lines[0]["@message"], "plugin panicked: odd 1");
        assert_eq!(lines[0]["pvc"], "data");
        assert!(
            lines[0]["logSource"]
                .as_str()
                .unwrap()
                .starts_with("src/logging/panics.rs:")
        );
    }

    #[test]
    fn absolute_path_is_cut_to_its_last_parts() {
        assert_eq!(place_of("src/main.rs"), "src/main.rs");
        assert_eq!(
            place_of("/home/x/.cargo/h2-0.4/src/server.rs"),
            "h2-0.4/src/server.rs"
        );
        assert_eq!(place_of("/a.rs"), "a.rs");
    }
}
