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
    use super::*;

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
