//! Proxies of the environment are for the object storage as a rule (F111).
//!
//! In a pod kube takes no proxy at all; that cannot be shown here, since it reads the service account from a
//! fixed path below `/var/run`.

use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use velero_plugin_csi_fastpoll::commands::launch::Launch;

use crate::support::{PATIENCE, kill, within};
use crate::world::World;

/// A proxy that hears one request and hangs up; the request's first line. Its URL has a name, so that no address in
/// `NO_PROXY` is the proxy's own.
async fn proxy() -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://localhost:{}", listener.local_addr().unwrap().port());
    let heard = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = [0; 256];
        let read = stream.read(&mut bytes).await.unwrap();
        let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
        text.lines().next().unwrap_or_default().to_owned()
    });
    (url, heard)
}

fn with_proxy(launch: Launch, url: &str) -> Launch {
    launch
        .variable("HTTPS_PROXY", url)
        .variable("HTTP_PROXY", url)
}

#[tokio::test]
async fn no_proxy_exempts_the_api_server_then_requests_go_to_it_directly() {
    let (url, heard) = proxy().await;
    for exempt in [".svc,10.96.0.0/12,127.0.0.0/8", "127.0.0.1", "*"] {
        let world = World::new().await;
        let launch = with_proxy(world.launch(), &url).variable("NO_PROXY", exempt);
        let plugin = launch.serve().await.unwrap();
        world.execute(&plugin).await.unwrap();
        kill(plugin).await;
    }
    assert!(!heard.is_finished(), "{:?}", heard.await);
}

#[tokio::test]
async fn nothing_exempts_the_api_server_then_requests_go_through_the_proxy() {
    for exempt in ["", ".svc,10.96.0.0/12"] {
        let (url, heard) = proxy().await;
        let world = World::new().await;
        let launch = with_proxy(world.launch(), &url).variable("NO_PROXY", exempt);
        let plugin = launch.serve().await.unwrap();
        let call = world.begin(&plugin);
        let line = within(PATIENCE, heard).await.unwrap();
        assert_eq!(line, format!("CONNECT {} HTTP/1.1", world.served.addr()));
        kill(plugin).await;
        assert!(call.await.unwrap().is_err());
        assert_eq!(world.api.requests(), []);
    }
}

/// As kubectl does: the file's own proxy is for this cluster, whatever `NO_PROXY` says.
#[tokio::test]
async fn kubeconfig_names_a_proxy_then_it_is_used_in_any_case() {
    for exempt in ["", "127.0.0.0/8"] {
        let (url, heard) = proxy().await;
        let world = World::new().await;
        let server = format!("server: http://{}", world.served.addr());
        let both = format!("{server}\n    proxy-url: {url}");
        world.write(
            "kubeconfig",
            &world.served.kubeconfig().replace(&server, &both),
        );
        let plugin = world
            .launch()
            .variable("NO_PROXY", exempt)
            .serve()
            .await
            .unwrap();
        let call = world.begin(&plugin);
        let line = within(PATIENCE, heard).await.unwrap();
        assert!(line.starts_with("CONNECT "), "{line}");
        kill(plugin).await;
        assert!(call.await.unwrap().is_err());
    }
}
