//! The same cluster on loopback HTTP/1, for the real binary and the real client configuration.

use std::{io, net::SocketAddr};

use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};

use crate::api::KubeApi;

/// A listening API server. It ends when this is dropped.
#[derive(Debug)]
pub struct Served {
    api: KubeApi,
    address: SocketAddr,
    accepting: Option<JoinHandle<()>>,
}

impl KubeApi {
    /// Listens on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When the port cannot be opened.
    pub async fn serve(&self) -> io::Result<Served> {
        let mut served = Served {
            api: self.clone(),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            accepting: None,
        };
        served.start().await?;
        Ok(served)
    }
}

impl Served {
    /// Where it listens; the same after a restart.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// A kubeconfig for this server, see [`kubeconfig_yaml`].
    pub fn kubeconfig(&self) -> String {
        kubeconfig_yaml(self.address)
    }

    /// Stops accepting (connections are refused) and kills every open one.
    pub async fn stop(&mut self) {
        self.api.kill_watches();
        if let Some(task) = self.accepting.take() {
            task.abort();
            let _ = task.await;
        }
    }

    /// Comes back on the same port.
    ///
    /// # Errors
    /// When the port has been taken by somebody else.
    pub async fn start(&mut self) -> io::Result<()> {
        self.stop().await;
        let listener = TcpListener::bind(self.address).await?;
        self.address = listener.local_addr()?;
        self.accepting = Some(tokio::spawn(accept(self.api.clone(), listener)));
        Ok(())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(task) = self.accepting.take() {
            task.abort();
        }
    }
}

/// A kubeconfig that points at `address`, without credentials.
pub fn kubeconfig_yaml(address: SocketAddr) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: fake\n\
         clusters:\n- name: fake\n  cluster:\n    server: http://{address}\n\
         users:\n- name: fake\n  user: {{}}\n\
         contexts:\n- name: fake\n  context:\n    cluster: fake\n    user: fake\n    namespace: velero\n"
    )
}

/// Accepts until it is aborted; its connections end with it.
async fn accept(api: KubeApi, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                // Small answers must not wait for the client's delayed acknowledgement.
                let _ = stream.set_nodelay(true);
                let api = api.clone();
                connections.spawn(async move {
                    let service = hyper::service::service_fn(move |request| {
                        let api = api.clone();
                        async move { api.answer(request).await }
                    });
                    // An error is a fault that was asked for, or a client that has gone.
                    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
