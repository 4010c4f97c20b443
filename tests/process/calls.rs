//! Velero's calls on one connection.

use super::*;

#[tokio::test]
async fn applies_to_selects_claims_and_nothing_else() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    let request = BackupItemActionAppliesToRequest {
        plugin: ACTION.into(),
    };
    let answer = plugin
        .action()
        .applies_to(request)
        .await
        .unwrap()
        .into_inner();
    let selector = answer.resource_selector.unwrap();
    assert_eq!(selector.included_resources, ["persistentvolumeclaims"]);
    assert_eq!(selector.selector, "");
    assert!(selector.included_namespaces.is_empty() && selector.excluded_namespaces.is_empty());
    assert!(selector.excluded_resources.is_empty());
    kill(plugin).await;
}

/// P-14.
#[tokio::test]
async fn other_and_empty_plugin_names_are_not_found() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    let mut action = plugin.action();
    for name in [
        "",
        "velero.io/csi-pvc-backupper",
        "velero-plugin-csi-fastpoll/other",
    ] {
        let plugin = name.to_owned();
        let all = [
            action
                .applies_to(BackupItemActionAppliesToRequest {
                    plugin: plugin.clone(),
                })
                .await
                .unwrap_err(),
            action
                .execute(ExecuteRequest {
                    plugin: plugin.clone(),
                    ..execute(item_of(200))
                })
                .await
                .unwrap_err(),
            action
                .progress(BackupItemActionProgressRequest {
                    plugin: plugin.clone(),
                    ..Default::default()
                })
                .await
                .unwrap_err(),
            action
                .cancel(BackupItemActionCancelRequest {
                    plugin,
                    ..Default::default()
                })
                .await
                .unwrap_err(),
        ];
        for status in all {
            assert_eq!(status.code(), Code::Unknown, "{name}");
            assert!(
                status.message().contains(&format!("{name} was not found")),
                "{status}"
            );
        }
    }
    kill(plugin).await;
}

#[tokio::test]
async fn progress_and_cancel_of_a_foreign_operation_name_its_id() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    for id in ["", "du-1234.5678", "odd \u{2028} id"] {
        let mut action = plugin.action();
        let progress = BackupItemActionProgressRequest {
            plugin: ACTION.into(),
            operation_id: id.into(),
            backup: FINALIZING.to_vec(),
        };
        let cancel = BackupItemActionCancelRequest {
            plugin: ACTION.into(),
            operation_id: id.into(),
            backup: FINALIZING.to_vec(),
        };
        for status in [
            action.progress(progress).await.unwrap_err(),
            action.cancel(cancel).await.unwrap_err(),
        ] {
            let shown = format!("{id:?}");
            let named = status.message().contains(id) || status.message().contains(&shown);
            assert!(named, "{status}");
            assert_ne!(status.code(), Code::Aborted);
        }
    }
    kill(plugin).await;
}

/// A 10.5, A 10.7, P-10.
#[tokio::test]
async fn large_items_are_taken_and_echoed_byte_by_byte() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    for size in [256, 8 * MIB, 63 * MIB] {
        let item = item_of(size);
        let answer = plugin
            .action()
            .execute(execute(item.clone()))
            .await
            .unwrap()
            .into_inner();
        assert!(
            answer.item == item,
            "{size} bytes do not come back as they were"
        );
        assert_eq!(answer.operation_id, "");
        assert!(answer.additional_items.is_empty() && answer.post_operation_items.is_empty());
    }
    let ended = kill(plugin).await;
    ended.stderr.iter().for_each(|line| drop(log_record(line)));
}

#[tokio::test]
async fn request_over_the_limit_is_refused_with_both_sizes_and_the_next_one_works() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    let status = plugin
        .action()
        .execute(execute(item_of(66 * MIB)))
        .await
        .unwrap_err();
    assert!(status.message().contains("the limit is"), "{status}");
    assert_eq!(commands(&plugin).await.len(), 1);
    kill(plugin).await;
}

/// A 10.10, P-27.
#[tokio::test]
async fn hundred_parallel_calls_on_one_connection_are_all_answered() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for index in 0..100 {
        let (mut lister, mut action) = (plugin.lister(), plugin.action());
        calls.spawn(async move {
            let answer = lister.list_plugins(Empty {}).await.unwrap().into_inner();
            assert_eq!(answer.plugins.len(), 1);
            let request = BackupItemActionAppliesToRequest {
                plugin: ACTION.into(),
            };
            action.applies_to(request).await.unwrap();
            let item = item_of(1000 + index);
            let answer = action
                .execute(execute(item.clone()))
                .await
                .unwrap()
                .into_inner();
            assert!(answer.item == item);
        });
    }
    let answered = within(PATIENCE, calls.join_all()).await;
    assert_eq!(answered.len(), 100);
    assert_eq!(kill(plugin).await.status.code(), Some(0));
}

/// P-8: a burst of calls that are given up at once must not cost the connection.
#[tokio::test]
async fn connection_survives_hundreds_of_calls_that_are_given_up() {
    let directory = scratch();
    let mut plugin = launch(directory.path()).serve().await.unwrap();
    for _ in 0..500 {
        let mut lister = plugin.lister();
        let call = lister.list_plugins(Empty {});
        tokio::select! {
            biased;
            _ = call => {}
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(commands(&plugin).await.len(), 1);
    // The first connection's streams are still open.
    let silence = Duration::from_millis(50);
    assert!(
        is_pending_for(silence, plugin.broker.message()).await,
        "the broker stream ended"
    );
    assert_eq!(kill(plugin).await.status.code(), Some(0));
}
