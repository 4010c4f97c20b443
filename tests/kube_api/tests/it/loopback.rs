//! The same cluster over loopback HTTP, and watches.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Config,
    api::{ListParams, WatchEvent, WatchParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use kube_api::{Fault, KubeApi, Matcher, Served, When, seed};
use serde_json::json;

async fn connected(served: &Served) -> Client {
    let config = Kubeconfig::from_yaml(&served.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
        .await
        .unwrap();
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

#[tokio::test]
async fn a_restart_refuses_kills_and_comes_back_on_the_same_port() {
    let api = KubeApi::new();
    seed::configmap(&api, "app", "m", &[]);
    let mut served = api.serve().await.unwrap();
    let address = served.addr();
    let client = connected(&served).await;
    let maps: Api<ConfigMap> = Api::namespaced(client, "app");
    maps.get("m").await.unwrap();

    api.fault(Matcher::verb("list"), Fault::Hang, When::ALWAYS);
    let hanging = {
        let maps = maps.clone();
        tokio::spawn(async move { maps.list(&ListParams::default()).await })
    };
    while api.count("list", "configmaps") == 0 {
        tokio::task::yield_now().await;
    }
    served.stop().await;
    assert!(
        hanging.await.unwrap().is_err(),
        "open connections are killed"
    );
    assert!(maps.get("m").await.is_err(), "refused");
    served.start().await.unwrap();
    assert_eq!(served.addr(), address);
    maps.get("m").await.unwrap();
}

#[tokio::test]
async fn faults_break_real_connections() {
    let api = KubeApi::new();
    seed::configmap(&api, "app", "m", &[("a", &"x".repeat(100_000))]);
    let served = api.serve().await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(connected(&served).await, "app");
    for fault in [
        Fault::Reset,
        Fault::Refuse,
        Fault::Cut,
        Fault::lost_answer(),
    ] {
        api.fault(Matcher::any(), fault.clone(), When::once());
        let error = maps.get("m").await.unwrap_err();
        assert!(
            !matches!(error, kube::Error::Api(_)),
            "{fault:?}: {error:?}"
        );
        maps.get("m").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_tells_changes_from_a_version_on() {
    let api = KubeApi::new();
    seed::configmap(&api, "app", "old", &[]);
    let maps: Api<ConfigMap> = Api::namespaced(Client::new(api.clone(), "default"), "app");
    let version = maps
        .list(&ListParams::default())
        .await
        .unwrap()
        .metadata
        .resource_version
        .unwrap();
    let parameters = WatchParams::default().labels("a=1");
    let mut events = Box::pin(maps.watch(&parameters, &version).await.unwrap());

    seed::configmap(&api, "app", "m", &[]);
    seed::configmap(&api, "other", "m", &[]);
    for (label, n) in [("1", "a"), ("1", "b"), ("2", "c")] {
        api.edit("configmaps", "app", "m", |object| {
            object["metadata"]["labels"] = json!({"a": label});
            object["data"] = json!({"n": n});
        });
    }
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(match next(&mut events).await.unwrap().unwrap() {
            WatchEvent::Added(_) => "added",
            WatchEvent::Modified(_) => "modified",
            WatchEvent::Deleted(_) => "deleted",
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(seen, ["added", "modified", "deleted"]);
    let quiet = tokio::time::timeout(Duration::from_mins(1), next(&mut events)).await;
    assert!(quiet.is_err());
    api.kill_watches();
    assert!(!matches!(next(&mut events).await, Some(Ok(_))), "closed");
    assert_eq!(api.count("watch", "configmaps"), 1);
    assert_eq!(api.unexpected_requests(), Vec::<String>::new());
}

async fn next<S: futures_core::Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    std::future::poll_fn(|context| std::pin::Pin::new(&mut *stream).poll_next(context)).await
}
