//! What the claim looks like in the archive once its snapshot is taken (R-30 … R-39).
//!
//! May use: model.

use crate::model::backup::Backup;
use crate::model::item::{Item, ItemError};
use crate::model::names::{
    ANNOTATION_MUST_INCLUDE, LABEL_BACKUP_NAME, RESOURCE_VOLUME_SNAPSHOTS, SNAPSHOT_GROUP,
    VOLUME_SNAPSHOT_NAME,
};
use crate::model::object_ref::ObjectRef;
use crate::model::quantity::{Quantity, binary_si};
use crate::model::valid_label::get_valid_name;

/// The answer for a claim whose snapshot has a handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The changed item.
    pub item: Vec<u8>,
    /// What Velero must archive beside it: the VolumeSnapshot, nothing else (R-39).
    pub additional_items: Vec<ObjectRef>,
    /// For an Info line: the claim's request was raised (R-38).
    pub resized: Option<String>,
    /// For a Warn line: the claim's request cannot be compared and was left alone.
    pub warning: Option<String>,
}

/// The answer for `item`, snapshotted as `volume_snapshot`. `restore_size` is what the content
/// reports, in bytes.
///
/// # Errors
/// The item cannot be edited, which does not happen to one that was decoded.
pub fn outcome(
    backup: &Backup,
    item: &Item,
    volume_snapshot: &str,
    restore_size: Option<i64>,
) -> Result<Outcome, ItemError> {
    let mut edit = item.edit();
    edit.set_label(VOLUME_SNAPSHOT_NAME, get_valid_name(volume_snapshot))
        .set_label(LABEL_BACKUP_NAME, get_valid_name(&backup.name))
        .set_annotation(VOLUME_SNAPSHOT_NAME, volume_snapshot)
        .set_annotation(ANNOTATION_MUST_INCLUDE, "true");
    let mut resized = None;
    let mut warning = None;
    match request_for(item, restore_size) {
        Request::Keep => {}
        Request::Raise(size) => {
            resized = Some(format!(
                "Resetting storage requests for PVC {}/{} to {size}",
                item.namespace(),
                item.name()
            ));
            edit.set_storage_request(size);
        }
        Request::Unclear(reason) => warning = Some(reason),
    }
    Ok(Outcome {
        item: edit.into_bytes()?,
        additional_items: vec![ObjectRef {
            group: SNAPSHOT_GROUP.to_owned(),
            resource: RESOURCE_VOLUME_SNAPSHOTS.to_owned(),
            namespace: item.namespace().to_owned(),
            name: volume_snapshot.to_owned(),
        }],
        resized,
        warning,
    })
}

enum Request {
    Keep,
    Raise(String),
    Unclear(String),
}

/// R-34: a restored volume is never smaller than the snapshot needs, so the request is raised to
/// the restore size if it is missing or smaller. A negative size, which no driver should report,
/// is ignored.
fn request_for(item: &Item, restore_size: Option<i64>) -> Request {
    let Some(size) = restore_size.filter(|size| *size >= 0) else {
        return Request::Keep;
    };
    let Some(text) = item.storage_request() else {
        return Request::Raise(binary_si(size));
    };
    match text.trim().parse::<Quantity>() {
        Ok(request) if request < Quantity::from_bytes(size) => Request::Raise(binary_si(size)),
        Ok(_) => Request::Keep,
        Err(error) => Request::Unclear(format!(
            "storage request of PVC {}/{} is left as it is, although the snapshot needs {}: {error}",
            item.namespace(),
            item.name(),
            binary_si(size)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(spec: &str) -> Item {
        Item::decode(
            format!(
                r#"{{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"data","namespace":"db"}},"spec":{spec}}}"#
            )
            .as_bytes(),
        )
        .unwrap()
    }

    fn request(text: &str) -> String {
        format!(r#"{{"resources":{{"requests":{{"storage":"{text}"}}}}}}"#)
    }

    fn backup() -> Backup {
        Backup {
            name: "nightly".into(),
            ..Backup::default()
        }
    }

    fn result(spec: &str, restore_size: Option<i64>) -> (Option<String>, Outcome) {
        let outcome = outcome(&backup(), &item(spec), "velero-data-abcde", restore_size).unwrap();
        let changed = Item::decode(&outcome.item).unwrap();
        (changed.storage_request().map(str::to_owned), outcome)
    }

    #[test]
    fn snapshot_taken_then_labels_annotations_and_the_additional_item_r30_to_r39() {
        let (_, outcome) = result("{}", None);
        assert_eq!(
            String::from_utf8(outcome.item).unwrap(),
            r#"{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"db","labels":{"velero.io/volume-snapshot-name":"velero-data-abcde","velero.io/backup-name":"nightly"},"annotations":{"velero.io/volume-snapshot-name":"velero-data-abcde","backup.velero.io/must-include-additional-items":"true"}},"spec":{}}"#
        );
        assert_eq!(
            outcome.additional_items,
            [ObjectRef {
                group: "snapshot.storage.k8s.io".into(),
                resource: "volumesnapshots".into(),
                namespace: "db".into(),
                name: "velero-data-abcde".into()
            }]
        );
        assert_eq!((outcome.resized, outcome.warning), (None, None));
    }

    #[test]
    fn long_names_then_labels_are_shortened_and_the_annotation_is_not_r30_r31() {
        let backup = Backup {
            name: "b".repeat(84),
            ..Backup::default()
        };
        let snapshot = "s".repeat(80);
        let outcome = outcome(&backup, &item("{}"), &snapshot, None).unwrap();
        let changed = Item::decode(&outcome.item).unwrap();
        assert_eq!(
            changed.labels()[VOLUME_SNAPSHOT_NAME],
            get_valid_name(&snapshot)
        );
        assert_eq!(
            changed.labels()[LABEL_BACKUP_NAME],
            get_valid_name(&backup.name)
        );
        assert_eq!(changed.annotations()[VOLUME_SNAPSHOT_NAME], snapshot);
    }

    #[test]
    fn pvc_request_size_of_7_1_then_never_below_the_restore_size() {
        let two = Some(2 << 30);
        for (spec, expected) in [
            (request("1Gi"), "2Gi"),
            (request("3Gi"), "3Gi"),
            (r#"{"resources":{"requests":{}}}"#.to_owned(), "2Gi"),
            (r#"{"resources":{}}"#.to_owned(), "2Gi"),
            ("{}".to_owned(), "2Gi"),
            (r#"{"resources":null}"#.to_owned(), "2Gi"),
        ] {
            assert_eq!(result(&spec, two).0.as_deref(), Some(expected), "{spec}");
        }
    }

    #[test]
    fn restore_sizes_of_drivers_then_compared_as_quantities_f113() {
        let gi = 1 << 30;
        let table = [
            ("50Mi", Some(gi), "1Gi"),
            ("50Mi", None, "50Mi"),
            ("50Mi", Some(0), "50Mi"),
            ("50Mi", Some(-1), "50Mi"),
            ("2Gi", Some(gi), "2Gi"),
            ("1.5Gi", Some(gi), "1.5Gi"),
            ("1.5Gi", Some(1_610_612_736), "1.5Gi"),
            ("1.5Gi", Some(1_610_612_737), "1610612737"),
            ("1e9", Some(gi), "1Gi"),
            ("1e9", Some(1_000_000_000), "1e9"),
            ("1073741824", Some(gi), "1073741824"),
            ("-1", Some(0), "0"),
            ("1k", Some(1_024), "1Ki"),
            ("1", Some(1_500_000_000), "1500000000"),
        ];
        for (text, size, expected) in table {
            let (changed, outcome) = result(&request(text), size);
            assert_eq!(changed.as_deref(), Some(expected), "{text} {size:?}");
            assert_eq!(
                outcome.resized.is_some(),
                text != expected,
                "R-38 {text} {size:?}"
            );
        }
    }

    #[test]
    fn restore_size_zero_then_set_only_without_a_request_r36() {
        assert_eq!(result("{}", Some(0)).0.as_deref(), Some("0"));
        assert_eq!(result("{}", Some(-5)).0, None);
    }

    #[test]
    fn raised_request_then_velero_s_words_r38() {
        let (_, outcome) = result(&request("1Gi"), Some(2 << 30));
        assert_eq!(
            outcome.resized.as_deref(),
            Some("Resetting storage requests for PVC db/data to 2Gi")
        );
    }

    #[test]
    fn request_that_is_no_quantity_then_untouched_with_a_warning() {
        let (changed, outcome) = result(&request("lots"), Some(1 << 30));
        assert_eq!(changed.as_deref(), Some("lots"));
        assert_eq!(outcome.resized, None);
        let warning = outcome.warning.unwrap();
        assert!(warning.contains("db/data") && warning.contains("1Gi") && warning.contains("lots"));
    }
}
