//! The tracing layer: events with the fields of the spans around them become lines.

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::fields::{Fields, Value};
use super::line::Line;

/// The prefix of our own targets.
const OWN: &str = "velero_plugin_csi_fastpoll";

/// An event field that replaces `logSource`.
pub(super) const SOURCE_FIELD: &str = "log_source";

/// Renders events and hands each line to `W`.
#[derive(Debug)]
pub struct JsonLayer<W> {
    level: Level,
    write: W,
}

impl<W: Fn(&[u8]) + 'static> JsonLayer<W> {
    /// Lines of `level` and more severe ones go to `write`, one call per line.
    pub fn new(level: Level, write: W) -> Self {
        Self { level, write }
    }

    fn wants(&self, metadata: &Metadata<'_>) -> bool {
        effective_level(metadata) <= self.level
    }
}

impl<S, W> Layer<S> for JsonLayer<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: Fn(&[u8]) + 'static,
{
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // Our spans are kept at every level: a Warn inside an Info span needs its fields.
        if self.wants(metadata) || (metadata.is_span() && is_own(metadata)) {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.wants(metadata) || (metadata.is_span() && is_own(metadata))
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        // No hint under Info: spans of ours must not be filtered by the lines' level.
        Some(LevelFilter::from_level(self.level.max(Level::INFO)))
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if !is_own(span.metadata()) {
            return;
        }
        // Formatting runs foreign code, so it is done before the span is locked.
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let Some(mut fields) = span.extensions().get::<Fields>().cloned() else {
            return;
        };
        record.record(&mut fields);
        span.extensions_mut().replace(fields);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let mut fields = Fields::default();
        event.record(&mut fields);

        let mut source = None;
        fields.others.retain(|(name, value)| match (*name, value) {
            (SOURCE_FIELD, Value::Text(text)) => {
                source = Some(text.clone());
                false
            }
            _ => true,
        });
        let source = source.unwrap_or_else(|| source_of(metadata));
        let message = fields.message.as_deref().unwrap_or_else(|| metadata.name());
        let mut line = Line::new(word(effective_level(metadata)), message, &source);

        // Inner wins: the event's own fields first, then span by span outwards.
        let mut seen: Vec<&'static str> = Vec::with_capacity(16);
        let mut add = |fields: &Fields| {
            for (name, value) in &fields.others {
                if !seen.contains(name) {
                    seen.push(name);
                    line.field(name, value);
                }
            }
        };
        add(&fields);
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(fields) = span.extensions().get::<Fields>() {
                add(fields);
            }
        }
        (self.write)(&line.finish());
    }
}

fn is_own(metadata: &Metadata<'_>) -> bool {
    metadata.target().starts_with(OWN)
}

/// T13: an Error of a library would make the backup PartiallyFailed, so what a library tells
/// people is Debug, and its own Debug, a line for every HTTP/2 frame, is Trace.
fn effective_level(metadata: &Metadata<'_>) -> Level {
    let level = *metadata.level();
    if is_own(metadata) {
        level
    } else if level <= Level::INFO {
        Level::DEBUG
    } else {
        Level::TRACE
    }
}

/// The words that the host knows; any other makes the line invisible Debug text.
fn word(level: Level) -> &'static str {
    match level {
        Level::TRACE => "trace",
        Level::DEBUG => "debug",
        Level::INFO => "info",
        Level::WARN => "warn",
        Level::ERROR => "error",
    }
}

/// `src/file.rs:LINE` for ours. A library's file is a path on the machine that built it, so its
/// module stands in.
fn source_of(metadata: &Metadata<'_>) -> String {
    let file = if is_own(metadata) {
        metadata.file()
    } else {
        None
    };
    let place = file.unwrap_or_else(|| metadata.target());
    match metadata.line() {
        Some(line) => format!("{place}:{line}"),
        None => place.to_owned(),
    }
}

#[cfg(test)]
mod tests;
