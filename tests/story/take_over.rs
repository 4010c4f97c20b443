//! Exactly one of the built-in and us snapshots a PVC; what is not ours goes back byte by byte.

use kube_api::{Fault, Matcher, When, seed};
use serde_json::{Value, json};
use velero_plugin_csi_fastpoll::action::Answer;
use velero_plugin_csi_fastpoll::error::ErrorKind;
use velero_plugin_csi_fastpoll::model::settings::Settings;

use crate::bench::{BACKUP_UID, Bench, DRIVER, early, text};

fn policy(action: &str) -> String {
    format!(
        "version: v1\nvolumePolicies:\n- conditions: {{csi: {{driver: {DRIVER}}}}}\n  action: {action}\n"
    )
}

async fn is_ours(bench: &Bench) -> bool {
    let answer = bench.execute().await.unwrap();
    let echoed = answer == Answer::unchanged(bench.pvc.clone().into());
    assert_eq!(
        echoed,
        bench.requests("create", "volumesnapshots").is_empty()
    );
    !echoed
}

/// R-3, C-8, TE-1: finalizing phases touch nothing, not even the item.
#[tokio::test(start_paused = true)]
async fn finalizing_phase_then_the_bytes_come_back_without_any_request() {
    for phase in ["Finalizing", "FinalizingPartiallyFailed"] {
        let mut bench = Bench::new(early());
        bench.backup["status"]["phase"] = json!(phase);
        for item in [bench.pvc.clone(), "not even JSON".to_owned(), String::new()] {
            let answer = bench.execute_item(item.clone().into_bytes()).await.unwrap();
            assert_eq!(answer, Answer::unchanged(item.into()));
        }
        assert!(bench.api.requests().is_empty());
    }
}

/// C-3: the built-in has taken it in this run.
#[tokio::test(start_paused = true)]
async fn item_carries_this_backups_snapshot_then_it_is_echoed_without_any_request() {
    let bench = Bench::new(early());
    let mut item: Value = serde_json::from_str(&bench.pvc).unwrap();
    item["metadata"]["annotations"]["velero.io/volume-snapshot-name"] = json!("velero-data-abcde");
    item["metadata"]["labels"] = json!({"velero.io/backup-name": "nightly"});
    let bytes = item.to_string();
    let answer = bench
        .execute_item(bytes.clone().into_bytes())
        .await
        .unwrap();
    assert_eq!(answer, Answer::unchanged(bytes.into()));
    assert!(bench.api.requests().is_empty());
}

/// 8.8: a label that an earlier restore left is no proof.
#[tokio::test(start_paused = true)]
async fn item_carries_another_backups_marks_then_it_is_ours() {
    let bench = Bench::new(early());
    let mut item: Value = serde_json::from_str(&bench.pvc).unwrap();
    item["metadata"]["annotations"]["velero.io/volume-snapshot-name"] = json!("velero-data-abcde");
    item["metadata"]["labels"] = json!({"velero.io/backup-name": "last-week"});
    let answer = bench
        .execute_item(item.to_string().into_bytes())
        .await
        .unwrap();
    assert_eq!(answer.additional_items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn policy_names_us_then_the_pvc_is_ours() {
    for action in ["custom", "skip"] {
        for volumes in [json!(true), json!(false), Value::Null] {
            let mut bench = Bench::new(early());
            bench.policy(&policy(&format!(
                "{{type: {action}, parameters: {{handler: velero-plugin-csi-fastpoll}}}}"
            )));
            bench.backup["spec"]["snapshotVolumes"] = volumes;
            assert!(is_ours(&bench).await, "{action}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn policy_names_somebody_else_or_another_way_then_it_is_echoed() {
    for action in [
        "{type: skip}",
        "{type: fs-backup}",
        "{type: custom, parameters: {handler: another}}",
        "{type: skip, parameters: {handler: another}}",
    ] {
        let mut bench = Bench::new(early());
        bench.policy(&policy(action));
        assert!(!is_ours(&bench).await, "{action}");
        assert!(
            bench.log.warnings().is_empty(),
            "{action}: {:?}",
            bench.log.warnings()
        );
    }
}

/// An unbacked volume must not be silent: one Warn per backup with the line to add, in the one field that Velero's
/// results and `describe` show beside the message.
#[tokio::test(start_paused = true)]
async fn policy_custom_without_parameters_then_one_warning_per_backup() {
    let mut bench = Bench::new(early());
    bench.policy(&policy("{type: custom}"));
    let other = seed::csi_volume(&bench.api, "shop", "logs", DRIVER, "1Gi").json;
    assert!(!is_ours(&bench).await);
    bench.execute_item(other.into_bytes()).await.unwrap();
    let warnings = bench.log.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].fields["error"].contains("handler: velero-plugin-csi-fastpoll"));
}

/// A misspelt handler, or our name under another key, is a volume that nobody backs up.
#[tokio::test(start_paused = true)]
async fn policy_almost_names_us_then_one_warning_with_the_exact_line() {
    for parameters in [
        "{handler: velero-plugin-csi-fastpol}",
        "{provider: velero-plugin-csi-fastpoll}",
        "{handler: CSI-FastPoll}",
    ] {
        for action in ["custom", "skip"] {
            let mut bench = Bench::new(early());
            bench.policy(&policy(&format!(
                "{{type: {action}, parameters: {parameters}}}"
            )));
            assert!(!is_ours(&bench).await);
            let warnings = bench.log.warnings();
            assert_eq!(warnings.len(), 1, "{parameters}: {warnings:?}");
            assert!(warnings[0].fields["error"].contains("handler: velero-plugin-csi-fastpoll"));
        }
    }
}

/// TS-2: a policy `snapshot` wins over snapshotVolumes.
#[tokio::test(start_paused = true)]
async fn policy_snapshot_and_nobody_took_it_then_it_is_ours() {
    let mut bench = Bench::new(early());
    bench.policy(&policy("{type: snapshot}"));
    bench.backup["spec"]["snapshotVolumes"] = json!(false);
    assert!(is_ours(&bench).await);
}

/// VP-32, F52: the global policy comes from argv or from the backup's annotation, after the backup's own rules.
#[tokio::test(start_paused = true)]
async fn global_policy_then_it_decides_where_the_backups_own_rules_do_not() {
    let global = policy("{type: skip}");
    let ours = policy("{type: custom, parameters: {handler: velero-plugin-csi-fastpoll}}");
    for from_argv in [true, false] {
        let settings = Settings {
            global_policy_configmap: from_argv.then(|| "global".to_owned()),
            ..early()
        };
        let mut bench = Bench::new(settings);
        seed::configmap(&bench.api, "velero", "global", &[("p", &global)]);
        if !from_argv {
            bench.backup["metadata"]["annotations"]["velero.io/global-backup-volume-policy-configmap"] =
                json!("global");
        }
        assert!(!is_ours(&bench).await);

        let settings = Settings {
            global_policy_configmap: Some("global".to_owned()),
            ..early()
        };
        let mut bench = Bench::new(settings);
        seed::configmap(&bench.api, "velero", "global", &[("p", &global)]);
        bench.policy(&ours);
        assert!(is_ours(&bench).await);
    }
}

#[tokio::test(start_paused = true)]
async fn snapshot_volumes_false_then_only_the_take_over_annotation_makes_it_ours() {
    let mut bench = Bench::new(early());
    bench.backup["spec"]["snapshotVolumes"] = json!(false);
    assert!(!is_ours(&bench).await);
    bench.backup["metadata"]["annotations"]["velero-plugin-csi-fastpoll/take-over"] = json!("true");
    assert!(is_ours(&bench).await);
}

/// Without the CSI feature nothing finalizes, deletes or restores a VolumeSnapshot.
#[tokio::test(start_paused = true)]
async fn csi_feature_is_off_then_echo_and_one_warning() {
    for (argv_present, features, ours) in [
        (true, None, false),
        (true, Some(vec!["EnableAPIGroupVersions".to_owned()]), false),
        (true, Some(vec!["EnableCSI".to_owned()]), true),
        (false, None, true),
    ] {
        let bench = Bench::new(Settings {
            argv_present,
            features,
            ..early()
        });
        assert_eq!(is_ours(&bench).await, ours);
        assert_eq!(
            bench.log.warnings().len(),
            usize::from(!ours),
            "{:?}",
            bench.log.warnings()
        );
    }
}

/// R-9, C-4, F49: a volume that is not CSI is echoed and never marked.
#[tokio::test(start_paused = true)]
async fn volume_is_not_csi_then_it_is_echoed_unmarked() {
    for source in [
        json!({"nfs": {"server": "s", "path": "/"}}),
        json!({"awsElasticBlockStore": {"volumeID": "v"}}),
    ] {
        let bench = Bench::new(early());
        let pv = crate::bench::names(&bench.api, "persistentvolumes")[0].clone();
        bench.api.edit("persistentvolumes", "", &pv, |object| {
            object["spec"].as_object_mut().unwrap().remove("csi");
            for (key, value) in source.as_object().unwrap() {
                object["spec"][key] = value.clone();
            }
        });
        assert!(!is_ours(&bench).await);
    }
}

/// S-4, S-6, TS-7: a file-system backup by annotation leaves nothing to snapshot.
#[tokio::test(start_paused = true)]
async fn pod_backs_the_volume_up_by_file_system_then_it_is_echoed() {
    let bench = Bench::new(early());
    seed::pod(
        &bench.api,
        "shop",
        "web",
        &[("disk", "data")],
        &[("backup.velero.io/backup-volumes", "disk")],
        "Running",
    );
    assert!(!is_ours(&bench).await);

    let bench = Bench::new(early());
    seed::pod(
        &bench.api,
        "shop",
        "web",
        &[("disk", "data")],
        &[("backup.velero.io/backup-volumes", "other")],
        "Running",
    );
    assert!(is_ours(&bench).await);
}

/// F46, F47: a PVC that is not bound is an error without any read of a PV, unless a policy leaves it out.
#[tokio::test(start_paused = true)]
async fn pvc_is_not_bound_then_the_error_of_the_built_in_unless_a_policy_skips_it() {
    let bench = Bench::new(early());
    let mut item: Value = serde_json::from_str(&bench.pvc).unwrap();
    item["status"]["phase"] = json!("Lost");
    let error = bench
        .execute_item(item.to_string().into_bytes())
        .await
        .unwrap_err();
    assert_eq!(
        text(&error),
        "PVC shop/data is in phase Lost and is not bound to a volume"
    );
    assert_eq!(error.kind(), ErrorKind::FailedPrecondition);

    item["status"]["phase"] = json!("Pending");
    item["spec"].as_object_mut().unwrap().remove("volumeName");
    let error = bench
        .execute_item(item.to_string().into_bytes())
        .await
        .unwrap_err();
    assert_eq!(
        text(&error),
        "PVC shop/data has no volume backing this claim"
    );
    assert!(bench.requests("get", "persistentvolumes").is_empty());

    let mut bench = Bench::new(early());
    bench.policy("version: v1\nvolumePolicies:\n- conditions: {pvcPhase: [Pending]}\n  action: {type: skip}\n");
    let bytes = item.to_string();
    let answer = bench
        .execute_item(bytes.clone().into_bytes())
        .await
        .unwrap();
    assert_eq!(answer, Answer::unchanged(bytes.into()));
    assert!(bench.requests("get", "persistentvolumes").is_empty());
}

/// Not yet: data movement and groups are refused in words, never made a plain snapshot in silence.
#[tokio::test(start_paused = true)]
async fn what_comes_later_is_asked_for_then_a_clear_refusal_and_no_write() {
    let mut bench = Bench::new(early());
    bench.backup["spec"]["snapshotMoveData"] = json!(true);
    let error = bench.execute().await.unwrap_err();
    assert!(text(&error).contains("snapshotMoveData"), "{error}");
    assert_eq!(error.kind(), ErrorKind::FailedPrecondition);
    assert_eq!(bench.writes(), 0);

    let bench = Bench::new(early());
    let mut item: Value = serde_json::from_str(&bench.pvc).unwrap();
    item["metadata"]["labels"] = json!({"velero.io/volume-group": "vm-1"});
    let error = bench
        .execute_item(item.to_string().into_bytes())
        .await
        .unwrap_err();
    assert!(text(&error).contains("velero.io/volume-group"), "{error}");
    assert_eq!(bench.writes(), 0);
}

/// F54, F79: the same PVC twice in one backup, one after the other and at once: one VolumeSnapshot.
#[tokio::test(start_paused = true)]
async fn same_pvc_twice_in_one_backup_then_one_snapshot() {
    let bench = Bench::new(early());
    let (first, second) = tokio::join!(bench.execute(), bench.execute());
    let third = bench.execute().await.unwrap();
    assert_eq!(first.unwrap().additional_items, third.additional_items);
    assert_eq!(second.unwrap().additional_items, third.additional_items);
    bench.snapshot();
}

/// F94: a new backup of the same name is another backup.
#[tokio::test(start_paused = true)]
async fn another_backup_of_the_same_name_then_a_new_snapshot() {
    let mut bench = Bench::new(early());
    let first = bench.execute().await.unwrap();
    assert_eq!(bench.backup["metadata"]["uid"], json!(BACKUP_UID));
    bench.backup["metadata"]["uid"] = json!("77777777-6f0b-4d55-9a3e-0a1b2c3d4e5f");
    let second = bench.execute().await.unwrap();
    assert_ne!(first.additional_items, second.additional_items);
    assert_eq!(bench.api.objects("volumesnapshots").len(), 2);
}

/// W-9, F48: no class, an empty class, a class that is gone: the volume's own driver decides.
#[tokio::test(start_paused = true)]
async fn pvc_without_a_usable_storage_class_then_the_driver_of_the_volume_decides() {
    for class in [Value::Null, json!(""), json!("nosuch")] {
        let bench = Bench::new(early());
        let mut item: Value = serde_json::from_str(&bench.pvc).unwrap();
        item["spec"]["storageClassName"] = class;
        let answer = bench
            .execute_item(item.to_string().into_bytes())
            .await
            .unwrap();
        assert_eq!(answer.additional_items.len(), 1);
        assert!(bench.requests("get", "storageclasses").is_empty());
    }
}

/// W-10: no class fits the volume's driver, but one fits the provisioner.
#[tokio::test(start_paused = true)]
async fn only_the_provisioner_has_a_class_then_it_is_used() {
    let bench = Bench::new(early());
    bench.api.remove("volumesnapshotclasses", "", "gold");
    seed::snapshot_class(&bench.api, "old", "old.example.com", "Delete", &[], &[]);
    bench
        .api
        .edit("storageclasses", "", &format!("sc-{DRIVER}"), |sc| {
            sc["provisioner"] = json!("old.example.com");
        });
    bench.execute().await.unwrap();
    assert_eq!(
        bench.snapshot()["spec"]["volumeSnapshotClassName"],
        json!("old")
    );
}

/// F34: no class at all; the text names the driver and what exists, and nothing is written.
#[tokio::test(start_paused = true)]
async fn no_class_fits_then_an_error_that_says_what_to_do() {
    let bench = Bench::new(early());
    bench.api.remove("volumesnapshotclasses", "", "gold");
    let error = bench.execute().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FailedPrecondition);
    assert!(text(&error).contains(DRIVER), "{error}");
    assert!(
        text(&error).contains("velero.io/csi-volumesnapshot-class"),
        "{error}"
    );
    assert_eq!(bench.writes(), 0);
}

/// The PVC with the annotation that asks for a class by name.
fn wishing_for(class: &str, pvc: &str) -> Vec<u8> {
    let mut item: Value = serde_json::from_str(pvc).unwrap();
    item["metadata"]["annotations"]["velero.io/csi-volumesnapshot-class"] = json!(class);
    item.to_string().into_bytes()
}

/// W-11: an annotation that names a class that is not there is a Warn with both names, not a silent other choice.
#[tokio::test(start_paused = true)]
async fn annotation_names_a_missing_class_then_a_warning_and_the_next_rule() {
    let bench = Bench::new(early());
    bench
        .execute_item(wishing_for("platinum", &bench.pvc))
        .await
        .unwrap();
    let warnings = bench.log.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let text = warnings[0].to_string();
    assert!(
        text.contains("platinum") && text.contains("velero.io/csi-volumesnapshot-class"),
        "{text}"
    );
}

/// The classes are read once per backup, but a class that is made while it runs is found before a PVC fails for want
/// of one, as the built-in finds it.
#[tokio::test(start_paused = true)]
async fn class_is_made_during_the_backup_then_it_is_found() {
    let bench = Bench::new(early());
    bench.execute().await.unwrap();
    let volume = seed::csi_volume(&bench.api, "shop", "late", "late.example.com", "1Gi");
    seed::snapshot_class(&bench.api, "late", "late.example.com", "Delete", &[], &[]);
    bench.execute_item(volume.json.into_bytes()).await.unwrap();
    assert_eq!(bench.counts()["list volumesnapshotclasses"], 2);
}

/// The same for a class that somebody names: the PVC gets it, without a warning.
#[tokio::test(start_paused = true)]
async fn named_class_is_made_during_the_backup_then_it_is_chosen() {
    let bench = Bench::new(early());
    bench.execute().await.unwrap();
    seed::snapshot_class(&bench.api, "platinum", DRIVER, "Delete", &[], &[]);
    let volume = seed::csi_volume(&bench.api, "shop", "late", DRIVER, "1Gi");
    bench
        .execute_item(wishing_for("platinum", &volume.json))
        .await
        .unwrap();
    let snapshots = bench.api.objects("volumesnapshots");
    let late = snapshots
        .iter()
        .find(|one| one["spec"]["source"]["persistentVolumeClaimName"] == "late");
    assert_eq!(late.unwrap()["spec"]["volumeSnapshotClassName"], "platinum");
    assert_eq!(bench.log.warnings().len(), 0);
}

/// A named class that is missing is worth another look, but no PVC fails because that look fails: there is a class.
#[tokio::test(start_paused = true)]
async fn named_class_is_missing_and_the_second_list_fails_then_the_next_rule_holds() {
    let bench = Bench::new(early());
    bench.execute().await.unwrap();
    bench.api.fault(
        Matcher::on("list", "volumesnapshotclasses"),
        Fault::unavailable(),
        When::ALWAYS,
    );
    let volume = seed::csi_volume(&bench.api, "shop", "late", DRIVER, "1Gi");
    bench
        .execute_item(wishing_for("platinum", &volume.json))
        .await
        .unwrap();
    let warnings = bench.log.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].to_string().contains("platinum"));
}

/// Looking again is for the missing class only: the list of this very call is not repeated.
#[tokio::test(start_paused = true)]
async fn list_of_this_call_has_no_class_then_it_is_not_repeated() {
    let bench = Bench::new(early());
    let volume = seed::csi_volume(&bench.api, "shop", "blah", "blah.example.com", "1Gi");
    bench
        .execute_item(volume.json.into_bytes())
        .await
        .unwrap_err();
    assert_eq!(bench.counts()["list volumesnapshotclasses"], 1);
}

/// The policy ConfigMap is read once per backup, and its trouble is waited out.
#[tokio::test(start_paused = true)]
async fn policy_read_meets_trouble_then_it_is_repeated_and_kept() {
    let mut bench = Bench::new(early());
    bench.policy(&policy(
        "{type: custom, parameters: {handler: velero-plugin-csi-fastpoll}}",
    ));
    bench.api.fault(
        Matcher::on("get", "configmaps"),
        Fault::unavailable(),
        When::times(2),
    );
    assert!(is_ours(&bench).await);
    bench.execute().await.unwrap();
    assert_eq!(bench.requests("get", "configmaps").len(), 3);
}

/// Labels alone do not make a VolumeSnapshot the PVC's: a stranger of that name stays, and another name is taken.
#[tokio::test(start_paused = true)]
async fn stranger_has_the_name_then_another_one_is_taken_and_the_stranger_is_left() {
    let first = Bench::new(early());
    let name = first.execute().await.unwrap().additional_items[0]
        .name
        .clone();

    let bench = Bench::new(early());
    let item: Value = serde_json::from_str(&bench.pvc).unwrap();
    let planted = json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
        "metadata": {"name": name, "namespace": "shop", "labels": {
            "velero.io/backup-uid": BACKUP_UID,
            "velero.io/pvc-uid": item["metadata"]["uid"],
            "velero-plugin-csi-fastpoll/created-by": env!("CARGO_PKG_VERSION"),
        }},
        "spec": {"source": {"persistentVolumeClaimName": "another"}, "volumeSnapshotClassName": "gold"},
    });
    bench.api.put(planted).unwrap();
    let answer = bench.execute().await.unwrap();
    let taken = &answer.additional_items[0].name;
    assert!(
        taken.starts_with("velero-data-") && *taken != name,
        "{taken}"
    );
    assert!(bench.api.elapsed() < std::time::Duration::from_secs(1));
    assert_eq!(bench.api.objects("volumesnapshots").len(), 2);
}

/// F79: the process is killed in the wait; the next one finds the VolumeSnapshot by its name and makes no second one.
#[tokio::test(start_paused = true)]
async fn process_was_killed_after_the_create_then_the_next_one_adopts_the_snapshot() {
    let bench = Bench::new(early());
    bench.storage().latency(std::time::Duration::from_secs(5));
    tokio::select! {
        _ = bench.execute() => panic!("the snapshot takes five seconds"),
        () = tokio::time::sleep(std::time::Duration::from_secs(2)) => {}
    }
    let made = bench.snapshot()["metadata"]["name"].clone();
    let client = kube::Client::new(bench.api.clone(), "default");
    let source = velero_plugin_csi_fastpoll::cluster::ClientSource::Given(client);
    let next =
        velero_plugin_csi_fastpoll::action::PvcAction::with_client(source, early(), Vec::new());
    let interrupt = velero_plugin_csi_fastpoll::wait::Interrupt::default();
    let answer = next
        .execute(
            bench.pvc.clone().into(),
            bench.backup.to_string().into(),
            &interrupt,
        )
        .await
        .unwrap();
    assert_eq!(json!(answer.additional_items[0].name), made);
    bench.snapshot();
    assert_eq!(
        bench
            .log
            .saying("has a VolumeSnapshot of the PVC already")
            .len(),
        1
    );
}

/// Two backups without UIDs in one process do not share what was read for one of them.
#[tokio::test(start_paused = true)]
async fn backups_without_uid_then_each_reads_its_own_policy() {
    let mut bench = Bench::new(early());
    bench.backup["metadata"]["uid"] = json!("");
    bench.policy(&policy("{type: skip}"));
    assert!(!is_ours(&bench).await);
    bench.backup["metadata"]["name"] = json!("other");
    bench.backup["spec"]["resourcePolicy"] = Value::Null;
    let answer = bench.execute().await.unwrap();
    assert_eq!(answer.additional_items.len(), 1);
}

/// The snapshot CRDs are not installed: five seconds and a text that says so, not half a minute.
#[tokio::test(start_paused = true)]
async fn snapshot_api_is_not_served_then_the_error_names_the_crds_after_five_seconds() {
    let bench = Bench::new(early());
    for plural in [
        "volumesnapshots",
        "volumesnapshotcontents",
        "volumesnapshotclasses",
    ] {
        bench.api.withdraw_resource(plural);
    }
    let error = text(&bench.execute().await.unwrap_err());
    assert!(error.contains("CustomResourceDefinitions"), "{error}");
    assert!(
        bench.api.elapsed() < std::time::Duration::from_secs(8),
        "{:?}",
        bench.api.elapsed()
    );
    assert!(!bench.api.unexpected_requests().is_empty());
    bench.expect_unexpected();
}
