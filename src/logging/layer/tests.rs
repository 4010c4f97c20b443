//! Lines as they come out of events and spans.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;
use tracing_subscriber::layer::SubscriberExt;

use super::*;

fn lines_of(level: Level, work: impl FnOnce()) -> Vec<Json> {
    // A test that failed meanwhile has done no harm to the others.
    let _alone = crate::logging::ONE_SUBSCRIBER
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&bytes);
    let layer = JsonLayer::new(level, move |line: &[u8]| {
        sink.lock()
            .unwrap()
            .push(serde_json::from_slice(line).unwrap());
    });
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
    Arc::try_unwrap(bytes).unwrap().into_inner().unwrap()
}

#[test]
fn event_carries_level_message_source_and_fields() {
    let lines = lines_of(Level::INFO, || {
        tracing::warn!(
            pvc = "data",
            size = 5_u32,
            big = u64::MAX,
            ratio = 0.5,
            "odd {}",
            1
        );
    });
    assert_eq!(lines.len(), 1);
    let line = &lines[0];
    assert_eq!(line["@level"], "warn");
    assert_eq!(line["@message"], "odd 1");
    assert_eq!(line["@logSourceSetBy"], "plugin");
    assert!(
        line["logSource"]
            .as_str()
            .unwrap()
            .starts_with("src/logging/layer/tests.rs:")
    );
    assert_eq!(line["pvc"], "data");
    assert_eq!(line["size"], 5);
    assert_eq!(line["big"], "18446744073709551615");
    assert_eq!(line["ratio"], "0.5");
    assert!(line.get("@timestamp").is_none());
    assert!(line.get("time").is_none());
}

#[test]
fn fields_of_all_spans_are_merged_and_the_inner_one_wins() {
    let lines = lines_of(Level::INFO, || {
        let _outer = tracing::info_span!("backup", backup = "b1", namespace = "outer").entered();
        let inner = tracing::info_span!("pvc", namespace = "db", class = tracing::field::Empty);
        inner.record("class", "fast");
        let _inner = inner.entered();
        tracing::info!(class = "faster", "chosen");
        tracing::info!("created");
    });
    assert_eq!(lines[0]["backup"], "b1");
    assert_eq!(lines[0]["namespace"], "db");
    assert_eq!(lines[0]["class"], "faster");
    assert_eq!(lines[1]["class"], "fast");
}

#[test]
fn span_below_the_level_still_gives_its_fields() {
    let lines = lines_of(Level::ERROR, || {
        let _span = tracing::info_span!("pvc", pvc = "data").entered();
        tracing::warn!("not shown");
        tracing::error!("shown");
    });
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["pvc"], "data");
}

/// T13, F117.
#[test]
fn library_error_is_debug_and_hidden_at_info() {
    let work = || {
        tracing::error!(target: "kube_client::client", "500 Internal Server Error");
        tracing::debug!(target: "h2", "frame");
    };
    assert!(lines_of(Level::INFO, work).is_empty());
    let lines = lines_of(Level::DEBUG, work);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["@level"], "debug");
    assert!(
        lines[0]["logSource"]
            .as_str()
            .unwrap()
            .starts_with("kube_client::client:")
    );
}

#[test]
fn error_field_shows_the_whole_chain() {
    #[derive(Debug, thiserror::Error)]
    #[error("get pv")]
    struct Outer(#[source] std::io::Error);
    let error = Outer(std::io::Error::other("refused"));
    let lines = lines_of(Level::INFO, || {
        tracing::error!(error = &error as &dyn std::error::Error, "failed");
    });
    assert_eq!(lines[0]["error"], "get pv: refused");
}

#[test]
fn log_source_field_replaces_the_place_of_the_call() {
    let lines = lines_of(Level::INFO, || {
        tracing::error!(log_source = "src/x.rs:1", "m");
    });
    assert_eq!(lines[0]["logSource"], "src/x.rs:1");
    assert!(lines[0].get("log_source").is_none());
}
