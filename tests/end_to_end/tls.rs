//! TLS between the plugin and the API server, and what an operator reads when it does not come about.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tonic::Code;

use crate::support::{PATIENCE, kill, within};
use crate::world::{World, counted, eventually, said};

/// A certificate for 127.0.0.1 by its address alone (F108), its own root; as PEM and for a server.
fn certificate() -> (String, Arc<ServerConfig>) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let ring = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    (made.cert.pem(), Arc::new(config))
}

/// TLS in front of another port.
struct Front {
    address: SocketAddr,
    certificate: watch::Sender<Arc<ServerConfig>>,
    connections: Arc<AtomicUsize>,
}

impl Front {
    async fn of(behind: SocketAddr, config: Arc<ServerConfig>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (certificate, current) = watch::channel(config);
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                let acceptor = TlsAcceptor::from(current.borrow().clone());
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let mut server = TcpStream::connect(behind).await.unwrap();
                    // An error is the end of either side.
                    let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
                });
            }
        });
        Self {
            address,
            certificate,
            connections,
        }
    }
}

fn write_kubeconfig(world: &World, server: SocketAddr, root: &str) {
    let root = world.write("ca.crt", root);
    let plain = format!("server: http://{}", world.served.addr());
    let tls = format!(
        "server: https://{server}\n    certificate-authority: {}",
        root.display()
    );
    world.write(
        "kubeconfig",
        &world.served.kubeconfig().replace(&plain, &tls),
    );
}

/// A certificate of another root is trouble that may pass, such as a rotation half-way: tried on, and told as what it is.
#[tokio::test]
async fn certificate_is_of_an_unknown_root_and_is_then_put_right_then_the_snapshot_succeeds() {
    let (root, right) = certificate();
    let (_, stranger) = certificate();
    let world = World::new().await;
    let front = Front::of(world.served.addr(), stranger).await;
    write_kubeconfig(&world, front.address, &root);
    let plugin = world.quick().serve().await.unwrap();
    let call = world.begin(&plugin);
    let line = said(&plugin, &["trying again", "TLS", "certificate"]).await;
    assert!(line.contains(r#""@level":"info""#), "{line}");
    eventually("it is tried again", || {
        front.connections.load(Ordering::Relaxed) >= 3
    })
    .await;
    assert_eq!(world.api.requests(), []);

    front.certificate.send_replace(right);

    within(PATIENCE, call).await.unwrap().unwrap();
    assert_eq!(world.names("volumesnapshots").len(), 1);
    assert_eq!(counted(&kill(plugin).await.stderr), []);
}

/// Until the deadline for reads it is trouble; the end of the process ends the trying.
#[tokio::test]
async fn port_speaks_no_tls_then_it_is_tried_again_and_the_log_says_tls() {
    let (root, _) = certificate();
    let world = World::new().await;
    write_kubeconfig(&world, world.served.addr(), &root);
    let plugin = world.quick().serve().await.unwrap();
    let call = world.begin(&plugin);
    said(&plugin, &["trying again", "TLS"]).await;
    assert!(!call.is_finished());
    let ended = kill(plugin).await;
    assert_eq!(ended.status.code(), Some(0));
    let status = call.await.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::Aborted, "{status}");
    assert_eq!(world.api.requests(), []);
}
