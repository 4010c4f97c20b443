//! The only place that chooses gRPC codes.
//!
//! Velero shows `rpc error: code = X desc = TEXT` and does the same for every code, so the code
//! is a word for the reader and the text carries everything.

use std::error::Error;

use tonic::{Code, Status};

use crate::action::ActionError;
use crate::error::{ErrorKind, chain};
use crate::goplugin::calls::Lost;

/// Longest text of a status in bytes: it travels in a header, percent-encoded, and is repeated
/// in a line of Velero's log.
const TEXT_LIMIT: usize = 8 * 1024;

/// The status of a failed action.
#[must_use]
pub fn of_action(error: &ActionError) -> Status {
    new(code(error.kind()), error)
}

/// The status of a request without an answer (P-21).
#[must_use]
pub fn of_lost(lost: &Lost) -> Status {
    match lost {
        Lost::Panicked(_) => new(Code::Aborted, lost),
        Lost::Stopped => new(Code::Unavailable, lost),
    }
}

/// The status for a plugin name that is not served here (P-14).
#[must_use]
pub fn unknown_plugin(kind: &str, name: &str) -> Status {
    let text = format!("{kind} plugin: {name} was not found or has an invalid name format");
    Status::new(Code::Unknown, shortened(text))
}

fn new(code: Code, error: &dyn Error) -> Status {
    Status::new(code, shortened(chain(error)))
}

fn code(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::InvalidInput => Code::InvalidArgument,
        ErrorKind::FailedPrecondition => Code::FailedPrecondition,
        ErrorKind::DeadlineExceeded => Code::DeadlineExceeded,
        ErrorKind::Unavailable => Code::Unavailable,
        ErrorKind::PermissionDenied => Code::PermissionDenied,
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::AlreadyExists => Code::AlreadyExists,
        ErrorKind::ResourceExhausted => Code::ResourceExhausted,
        ErrorKind::Aborted => Code::Aborted,
        ErrorKind::Cancelled => Code::Cancelled,
        ErrorKind::Internal => Code::Internal,
    }
}

fn shortened(mut text: String) -> String {
    if text.len() > TEXT_LIMIT {
        text.truncate(text.floor_char_boundary(TEXT_LIMIT));
        text.push_str("… (shortened)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_is_aborted_with_its_text() {
        let status = of_lost(&Lost::Panicked("index 3".to_owned()));
        assert_eq!(status.code(), Code::Aborted);
        assert_eq!(status.message(), "plugin panicked: index 3");
    }

    #[test]
    fn very_long_text_is_shortened_at_a_character() {
        let status = unknown_plugin("K", &"ä".repeat(TEXT_LIMIT));
        assert!(status.message().len() < TEXT_LIMIT + 32);
        assert!(status.message().ends_with("… (shortened)"));
    }
}
