//! The support services, and connections of odd kinds.

use super::*;

#[tokio::test]
async fn health_is_serving_for_plugin_and_for_all_and_unknown_for_others() {
    use tonic_health::pb::HealthCheckRequest;
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    let mut health = tonic_health::pb::health_client::HealthClient::new(plugin.channel.clone());
    for service in ["plugin", ""] {
        let request = HealthCheckRequest {
            service: service.into(),
        };
        assert_eq!(
            health.check(request).await.unwrap().into_inner().status,
            1,
            "{service}"
        );
    }
    let request = HealthCheckRequest {
        service: "other".into(),
    };
    assert_eq!(
        health.check(request).await.unwrap_err().code(),
        Code::NotFound
    );
    kill(plugin).await;
}

/// P-7, F73: open and silent, whatever the host says, and an orderly end.
#[tokio::test]
async fn broker_and_stdio_stay_open_and_end_without_error_at_sigterm() {
    let directory = scratch();
    let mut plugin = launch(directory.path()).serve().await.unwrap();
    for id in 0..10 {
        plugin
            .knocks
            .send(ConnInfo {
                service_id: id,
                ..ConnInfo::default()
            })
            .await
            .unwrap();
    }
    assert_eq!(commands(&plugin).await.len(), 1);
    let silence = Duration::from_millis(100);
    assert!(is_pending_for(silence, plugin.broker.message()).await);
    assert!(is_pending_for(silence, plugin.stdio.message()).await);
    kill_process(id(&plugin.started), Signal::TERM).unwrap();
    assert_eq!(
        within(PATIENCE, plugin.broker.message()).await.unwrap(),
        None
    );
    assert_eq!(
        within(PATIENCE, plugin.stdio.message()).await.unwrap(),
        None
    );
    assert_eq!(ended(plugin.started).await.status.code(), Some(0));
}

/// P-9: the end of a connection is not the end of the process.
#[tokio::test]
async fn host_can_dial_the_same_socket_again() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    let Plugin {
        started,
        path,
        channel,
        knocks,
        broker,
        stdio,
    } = plugin;
    drop((channel, knocks, broker, stdio));
    let channel = dial(&path).await.unwrap();
    let mut lister = PluginListerClient::new(channel);
    assert_eq!(
        lister
            .list_plugins(Empty {})
            .await
            .unwrap()
            .into_inner()
            .plugins
            .len(),
        1
    );
    kill_process(id(&started), Signal::TERM).unwrap();
    assert_eq!(ended(started).await.status.code(), Some(0));
}

/// F71: hosts of other languages send the socket's path as authority.
#[tokio::test]
async fn odd_authorities_do_no_harm() {
    let directory = scratch();
    let plugin = launch(directory.path()).serve().await.unwrap();
    for authority in [
        "localhost",
        "unused",
        "",
        "%2Ftmp%2Fplugin1",
        "/tmp/plugin1",
    ] {
        let path = plugin.path.clone();
        let frames = tokio::task::spawn_blocking(move || raw_list_plugins(&path, authority))
            .await
            .unwrap();
        let answered = frames.contains(&DATA);
        assert!(
            answered || frames.contains(&RST_STREAM),
            "{authority:?}: {frames:?}"
        );
        if ["localhost", "unused"].contains(&authority) {
            assert!(answered, "{authority:?}: {frames:?}");
        }
        assert_eq!(commands(&plugin).await.len(), 1, "after {authority:?}");
    }
    kill(plugin).await;
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// ListPlugins by hand-made HTTP/2 frames; the types of the frames that come back for it.
fn raw_list_plugins(path: &Path, authority: &str) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/generated.PluginLister/ListPlugins"),
        (":authority", authority),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ] {
        // HPACK literal without indexing, both strings plain.
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap());
            block.extend_from_slice(text.as_bytes());
        }
    }
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend_from_slice(&[kind, flags, 0, 0, 0, stream]);
        frame.extend_from_slice(payload);
        frame
    };
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    bytes.extend(frame(HEADERS, END_HEADERS, 1, &block));
    bytes.extend(frame(DATA, END_STREAM, 1, &[0; 5]));

    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&bytes).unwrap();
    let mut kinds = Vec::new();
    let mut head = [0; 9];
    while stream.read_exact(&mut head).is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).unwrap();
        if head[8] == 1 {
            kinds.push(head[3]);
            if head[3] == RST_STREAM || head[4] & END_STREAM != 0 {
                break;
            }
        }
    }
    kinds
}
