//! What all errors of this crate have in common: a kind, and one way to print a chain.

use std::error::Error;

/// What an operator, or Velero, would do differently. The wire layer maps each to a gRPC code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request cannot be read, or a field of it is wrong.
    InvalidInput,
    /// The cluster is not set up for what was asked.
    FailedPrecondition,
    /// What was waited for did not come in time.
    DeadlineExceeded,
    /// The API server cannot be reached.
    Unavailable,
    /// The API server forbids it.
    PermissionDenied,
    /// A named object is not there.
    NotFound,
    /// A named object is there already.
    AlreadyExists,
    /// A quota or rate limit holds.
    ResourceExhausted,
    /// The request was given up half-way.
    Aborted,
    /// The caller has gone.
    Cancelled,
    /// A fault of ours.
    Internal,
}

/// The error and its sources, joined by `: `. A source that the text before it already ends
/// with is not repeated, since many foreign errors print their source as well (T6).
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let next = error.to_string();
        if !next.is_empty() && !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Layer {
        text: &'static str,
        source: Option<Box<Layer>>,
    }

    fn layers(texts: &[&'static str]) -> Layer {
        let mut source = None;
        for text in texts.iter().rev() {
            source = Some(Box::new(Layer { text, source }));
        }
        *source.unwrap()
    }

    #[test]
    fn sources_are_joined_in_order() {
        let error = layers(&["get pv-1", "connect", "refused"]);
        assert_eq!(chain(&error), "get pv-1: connect: refused");
    }

    #[test]
    fn source_that_is_already_in_the_text_is_not_repeated() {
        let error = layers(&["get pv-1: connect: refused", "connect: refused", "refused"]);
        assert_eq!(chain(&error), "get pv-1: connect: refused");
    }
}
