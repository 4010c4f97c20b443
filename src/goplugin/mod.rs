//! A go-plugin server over gRPC: how a Go host starts a child process, finds its socket, talks
//! to it and ends it. Knows nothing of Velero or Kubernetes.
//!
//! Left out on purpose (P-1): `PLUGIN_CLIENT_CERT` (a certificate in the handshake makes a host
//! without TLS configuration panic), `PLUGIN_MULTIPLEX_GRPC` (the broker carries nothing here),
//! TCP (a unix socket in a private directory needs no port and no authentication), and
//! `PLUGIN_UNIX_SOCKET_GROUP` (the socket stays its owner's; no known host sets it).
//! May use: proto, wait, error.

pub mod calls;
pub mod cookie;
pub mod handshake;
pub mod listener;
mod process;
pub mod server;
mod support;
