//! Model values as messages.

use prost_types::Timestamp;

use crate::action::Answer;
use crate::model::object_ref::ObjectRef;
use crate::model::operation_progress::Progress;
use crate::proto::generated::{OperationProgress, ResourceIdentifier};
use crate::proto::v2::ExecuteResponse;

/// Go's zero time in seconds. An absent timestamp would be read as 1970 (P-29).
const ZERO_TIME_SECONDS: i64 = -62_135_596_800;

/// Execute's answer.
pub(super) fn execute_response(answer: Answer) -> ExecuteResponse {
    ExecuteResponse {
        item: answer.item,
        additional_items: identifiers(answer.additional_items),
        operation_id: answer.operation_id,
        post_operation_items: identifiers(answer.post_operation_items),
    }
}

/// Progress's answer, every field set (P-28).
pub(super) fn operation_progress(progress: Progress) -> OperationProgress {
    OperationProgress {
        completed: progress.completed,
        err: progress.error,
        n_completed: progress.done,
        n_total: progress.total,
        operation_units: progress.units,
        description: progress.description,
        started: Some(timestamp(progress.started)),
        updated: Some(timestamp(progress.updated)),
    }
}

fn identifiers(objects: Vec<ObjectRef>) -> Vec<ResourceIdentifier> {
    objects
        .into_iter()
        .map(
            |ObjectRef {
                 group,
                 resource,
                 namespace,
                 name,
             }| ResourceIdentifier {
                group,
                resource,
                namespace,
                name,
            },
        )
        .collect()
}

fn timestamp(time: Option<jiff::Timestamp>) -> Timestamp {
    let Some(time) = time else {
        return Timestamp {
            seconds: ZERO_TIME_SECONDS,
            nanos: 0,
        };
    };
    // The wire counts nanoseconds forward from the second, also before 1970.
    let (seconds, nanos) = (time.as_second(), time.subsec_nanosecond());
    if nanos < 0 {
        Timestamp {
            seconds: seconds - 1,
            nanos: nanos + 1_000_000_000,
        }
    } else {
        Timestamp { seconds, nanos }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P-28, P-29.
    #[test]
    fn progress_of_nothing_has_go_zero_times() {
        let message = operation_progress(Progress::default());
        let zero = Some(Timestamp {
            seconds: ZERO_TIME_SECONDS,
            nanos: 0,
        });
        assert_eq!(message.started, zero);
        assert_eq!(message.updated, zero);
        assert!(!message.completed);
    }

    #[test]
    fn times_keep_their_nanoseconds_forward() {
        let time = |text: &str| timestamp(Some(text.parse().unwrap()));
        assert_eq!(
            time("2026-01-02T03:04:05.5Z"),
            Timestamp {
                seconds: 1_767_323_045,
                nanos: 500_000_000
            }
        );
        assert_eq!(
            time("1969-12-31T23:59:59.25Z"),
            Timestamp {
                seconds: -1,
                nanos: 250_000_000
            }
        );
    }
}
