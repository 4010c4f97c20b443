//! A client configuration that cannot be used: Execute says so at once, everything else goes on.

use std::time::Duration;

use tonic::{Code, Status};
use velero_plugin_csi_fastpoll::commands::launch::{Launch, Plugin};
use velero_plugin_csi_fastpoll::model::names::ACTION;
use velero_plugin_csi_fastpoll::proto::generated::Empty;
use velero_plugin_csi_fastpoll::proto::v2::BackupItemActionAppliesToRequest;

use crate::support::{kill, launch, within};
use crate::world::{World, counted};

/// Far less than the 30 s for which an API server in trouble is waited for.
const AT_ONCE: Duration = Duration::from_secs(10);

/// Lists, selects and executes; the status of the Execute.
async fn refused(world: &World, plugin: &Plugin) -> Status {
    let listed = plugin.lister().list_plugins(Empty {}).await.unwrap();
    assert_eq!(listed.into_inner().plugins.len(), 1);
    let request = BackupItemActionAppliesToRequest {
        plugin: ACTION.into(),
    };
    plugin.action().applies_to(request).await.unwrap();
    let status = within(AT_ONCE, world.execute(plugin)).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
    assert!(
        status.message().contains("no Kubernetes client"),
        "{status}"
    );
    status
}

/// One Error for the backup, and nothing of a panic.
async fn assert_orderly_end(plugin: Plugin) {
    let ended = kill(plugin).await;
    assert_eq!(ended.status.code(), Some(0));
    let counted = counted(&ended.stderr);
    assert_eq!(counted.len(), 1, "{counted:#?}");
    assert_eq!(counted[0]["@message"], "the snapshot of the PVC failed");
    assert_eq!(counted[0]["pvc"], "data");
    // P-24: by these the results of the backup tell which item it was.
    assert_eq!(counted[0]["resource"], "persistentvolumeclaims");
    assert_eq!(counted[0]["name"], "data");
}

fn without_kubeconfig(world: &World) -> Launch {
    launch(&world.file("sockets")).variable("HOME", world.file("home"))
}

#[tokio::test]
async fn kubeconfig_cannot_be_used_then_execute_fails_at_once_and_names_what_was_tried() {
    let world = World::new().await;
    let good = world.served.kubeconfig();
    let other_context = good.replace("current-context: fake", "current-context: gone");
    let no_token = good.replace("user: {}", "user: {tokenFile: /no/such/token}");
    let bad_server = good.replace("http://", "http://bad host ");
    let table = [
        ("garbage", "{{{ not yaml", "kubeconfig"),
        ("binary", "\u{1}\u{2}", "kubeconfig"),
        ("empty", "", "context"),
        ("context", &other_context, "gone"),
        ("token", &no_token, "/no/such/token"),
        ("server", &bad_server, "cluster url"),
    ];
    for (what, text, named) in table {
        let path = world.write(what, text);
        let plugin = world
            .launch()
            .variable("KUBECONFIG", path)
            .serve()
            .await
            .unwrap();
        let status = refused(&world, &plugin).await;
        assert!(status.message().contains(named), "{what}: {status}");
        assert_orderly_end(plugin).await;
    }
    assert_eq!(world.api.requests(), []);
}

#[tokio::test]
async fn kubeconfig_is_missing_then_its_path_is_named() {
    let world = World::new().await;
    let path = world.file("no-such-kubeconfig");
    let plugin = world
        .launch()
        .variable("KUBECONFIG", &path)
        .serve()
        .await
        .unwrap();
    let status = refused(&world, &plugin).await;
    assert!(status.message().contains("no-such-kubeconfig"), "{status}");
    assert_orderly_end(plugin).await;
}

#[tokio::test]
async fn there_is_no_cluster_at_all_then_both_places_are_named() {
    let world = World::new().await;
    let plugin = without_kubeconfig(&world).serve().await.unwrap();
    let status = refused(&world, &plugin).await;
    for tried in [
        "service account",
        "KUBERNETES_SERVICE_HOST",
        "home/.kube/config",
    ] {
        assert!(status.message().contains(tried), "{tried}: {status}");
    }
    assert_orderly_end(plugin).await;
}

/// Velero's own flag says which cluster: another one that could be reached must not be used.
#[tokio::test]
async fn flag_names_a_missing_file_then_no_other_configuration_is_used() {
    let world = World::new().await;
    for flags in [
        ["--features=EnableCSI", "--kubeconfig=/no/such/file"],
        ["--features=EnableCSI", "--kubecontext=elsewhere"],
    ] {
        let plugin = world.launch().arguments(flags).serve().await.unwrap();
        let status = refused(&world, &plugin).await;
        let named = flags[1].split('=').next_back().unwrap();
        assert!(status.message().contains(named), "{status}");
        assert_orderly_end(plugin).await;
    }
    assert_eq!(world.api.requests(), []);
}

#[tokio::test]
async fn flag_names_the_file_then_it_wins_over_the_variable() {
    let world = World::new().await;
    let flag = format!("--kubeconfig={}", world.file("kubeconfig").display());
    let plugin = without_kubeconfig(&world)
        .variable("KUBECONFIG", "/no/such/file")
        .arguments(["--features=EnableCSI", &flag, "--kubecontext=fake"])
        .serve()
        .await
        .unwrap();
    world.execute(&plugin).await.unwrap();
    kill(plugin).await;
}

/// A failure is not kept: the next Execute reads the configuration again.
#[tokio::test]
async fn kubeconfig_is_put_right_then_the_next_execute_works() {
    let world = World::new().await;
    let path = world.file("later");
    let plugin = world
        .launch()
        .variable("KUBECONFIG", &path)
        .serve()
        .await
        .unwrap();
    refused(&world, &plugin).await;
    world.write("later", &world.served.kubeconfig());
    world.execute(&plugin).await.unwrap();
    assert_orderly_end(plugin).await;
}
