//! The server and Velero's services around actions that panic, wait and hang.

#![cfg(feature = "demo")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]
#![allow(clippy::disallowed_methods, reason = "measures the end of a stop")]

mod support;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prost::bytes::Bytes;
use support::{PATIENCE, within};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tonic::Code;
use tonic::transport::Channel;
use velero_plugin_csi_fastpoll::action::{ActionError, Answer};
use velero_plugin_csi_fastpoll::commands::launch::dial;
use velero_plugin_csi_fastpoll::goplugin::calls::Calls;
use velero_plugin_csi_fastpoll::goplugin::listener::{Candidate, Socket};
use velero_plugin_csi_fastpoll::goplugin::server::{ServeError, serve};
use velero_plugin_csi_fastpoll::model::names::ACTION;
use velero_plugin_csi_fastpoll::model::object_ref::ObjectRef;
use velero_plugin_csi_fastpoll::model::operation_progress::Progress;
use velero_plugin_csi_fastpoll::proto::plugin::Empty;
use velero_plugin_csi_fastpoll::proto::plugin::grpc_controller_client::GrpcControllerClient;
use velero_plugin_csi_fastpoll::proto::v2::backup_item_action_client::BackupItemActionClient;
use velero_plugin_csi_fastpoll::proto::v2::{
    BackupItemActionAppliesToRequest, BackupItemActionProgressRequest, ExecuteRequest,
};
use velero_plugin_csi_fastpoll::velero::item_action::ItemAction;
use velero_plugin_csi_fastpoll::velero::services;
use velero_plugin_csi_fastpoll::wait::{Interrupt, Reason};

/// Does what the item says, and reports what happens to it.
struct Puppet {
    events: mpsc::UnboundedSender<Event>,
}

#[derive(Debug, PartialEq)]
enum Event {
    Warmed,
    Began,
    Interrupted(Reason),
    Undone,
    TakenBack,
}

impl ItemAction for Puppet {
    fn warm_up(self: &Arc<Self>) {
        self.events.send(Event::Warmed).unwrap();
        panic!("a warm-up that fails must not be noticed");
    }

    async fn execute(
        &self,
        item: Bytes,
        backup: Bytes,
        interrupt: &Interrupt,
    ) -> Result<Answer, ActionError> {
        let _ = self.events.send(Event::Began);
        match item.as_ref() {
            b"panic" => panic!("odd item {}", backup.len()),
            b"hang" => std::future::pending().await,
            b"wait" => {
                let reason = interrupt.raised().await;
                let _ = self.events.send(Event::Interrupted(reason));
                tokio::time::sleep(Duration::from_millis(50)).await;
                let _ = self.events.send(Event::Undone);
            }
            _ => {}
        }
        let object = |name: &str| ObjectRef {
            group: "g".into(),
            resource: "r".into(),
            namespace: "ns".into(),
            name: name.into(),
        };
        Ok(Answer {
            additional_items: vec![object("a"), object("b")],
            operation_id: "op".into(),
            post_operation_items: vec![object("c")],
            ..Answer::unchanged(item)
        })
    }

    async fn take_back(&self, answer: Answer, _: &Interrupt) {
        assert_eq!(answer.item, "wait");
        let _ = self.events.send(Event::TakenBack);
    }

    async fn progress(&self, id: &str, _backup: &[u8]) -> Result<Progress, ActionError> {
        assert_ne!(id, "panic", "odd id");
        Ok(Progress::default())
    }

    async fn cancel(&self, _id: &str, _backup: &[u8]) -> Result<(), ActionError> {
        Ok(())
    }
}

struct Bench {
    _directory: tempfile::TempDir,
    path: PathBuf,
    channel: Channel,
    serving: JoinHandle<Result<(), ServeError>>,
    events: mpsc::UnboundedReceiver<Event>,
}

impl Bench {
    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let candidate = Candidate {
            origin: "test",
            directory: directory.path().to_owned(),
        };
        let socket = Socket::bind([candidate]).unwrap();
        let path = socket.path().to_owned();
        let (sender, events) = mpsc::unbounded_channel();
        let (ready, announced) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let calls = Calls::default();
            let services = services("/p", Arc::new(Puppet { events: sender }), &calls);
            let announce = |_: &std::path::Path| {
                ready.send(()).unwrap();
                Ok(())
            };
            serve(socket, announce, &calls, services).await
        });
        announced.await.unwrap();
        let channel = dial(&path).await.unwrap();
        Self {
            _directory: directory,
            path,
            channel,
            serving,
            events,
        }
    }

    fn action(&self) -> BackupItemActionClient<Channel> {
        BackupItemActionClient::new(self.channel.clone())
    }

    async fn event(&mut self) -> Event {
        within(PATIENCE, self.events.recv()).await.unwrap()
    }

    async fn shutdown(&self) {
        let mut controller = GrpcControllerClient::new(self.channel.clone());
        controller
            .shutdown(Empty {})
            .await
            .expect("Shutdown is answered");
    }

    async fn served(self) -> Duration {
        let begin = Instant::now();
        within(PATIENCE, self.serving)
            .await
            .unwrap()
            .expect("an orderly end");
        assert!(!self.path.exists());
        assert!(!self.path.parent().unwrap().exists());
        begin.elapsed()
    }
}

fn request(item: &'static str) -> ExecuteRequest {
    ExecuteRequest {
        plugin: ACTION.into(),
        item: item.into(),
        backup: "{}".into(),
    }
}

#[tokio::test]
async fn answer_is_carried_over_field_by_field() {
    let bench = Bench::start().await;
    let answer = bench
        .action()
        .execute(request("x"))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answer.item, "x");
    assert_eq!(answer.operation_id, "op");
    let names = |items: &[velero_plugin_csi_fastpoll::proto::generated::ResourceIdentifier]| {
        items
            .iter()
            .map(|i| [&*i.group, &*i.resource, &*i.namespace, &*i.name].join("/"))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&answer.additional_items), ["g/r/ns/a", "g/r/ns/b"]);
    assert_eq!(names(&answer.post_operation_items), ["g/r/ns/c"]);
}

/// A 10.6, P-21, F79.
#[tokio::test]
async fn panic_is_aborted_and_neither_connection_nor_process_suffers() {
    let bench = Bench::start().await;
    let mut action = bench.action();
    let status = action.execute(request("panic")).await.unwrap_err();
    assert_eq!(status.code(), Code::Aborted);
    assert_eq!(status.message(), "plugin panicked: odd item 2");
    let progress = BackupItemActionProgressRequest {
        plugin: ACTION.into(),
        operation_id: "panic".into(),
        backup: Vec::new(),
    };
    assert_eq!(
        action.progress(progress).await.unwrap_err().code(),
        Code::Aborted
    );
    assert_eq!(
        action
            .execute(request("x"))
            .await
            .unwrap()
            .into_inner()
            .item,
        "x"
    );
}

/// P-28, P-29, A 10.8.
#[tokio::test]
async fn progress_is_always_set_with_go_zero_times() {
    let bench = Bench::start().await;
    let request = BackupItemActionProgressRequest {
        plugin: ACTION.into(),
        operation_id: "op".into(),
        backup: Vec::new(),
    };
    let progress = bench
        .action()
        .progress(request)
        .await
        .unwrap()
        .into_inner()
        .progress
        .unwrap();
    assert_eq!(progress.started.unwrap().seconds, -62_135_596_800);
    assert_eq!(progress.updated.unwrap().seconds, -62_135_596_800);
}

#[tokio::test]
async fn warm_up_that_panics_does_not_touch_the_answer() {
    let mut bench = Bench::start().await;
    let request = BackupItemActionAppliesToRequest {
        plugin: ACTION.into(),
    };
    bench.action().applies_to(request).await.unwrap();
    assert_eq!(bench.event().await, Event::Warmed);
    assert_eq!(
        bench
            .action()
            .execute(self::request("x"))
            .await
            .unwrap()
            .into_inner()
            .item,
        "x"
    );
}

/// T2: what was begun is taken back although nobody waits for it.
#[tokio::test]
async fn caller_that_leaves_interrupts_the_work_which_runs_on_to_its_end() {
    let mut bench = Bench::start().await;
    let mut action = bench.action();
    let call = tokio::spawn(async move { action.execute(request("wait")).await });
    assert_eq!(bench.event().await, Event::Began);
    call.abort();
    assert_eq!(bench.event().await, Event::Interrupted(Reason::CallerGone));
    assert_eq!(bench.event().await, Event::Undone);
    assert_eq!(bench.event().await, Event::TakenBack);
}

#[tokio::test]
async fn lost_connection_interrupts_the_work_as_well() {
    let mut bench = Bench::start().await;
    let channel = dial(&bench.path).await.unwrap();
    let call = tokio::spawn(async move {
        let mut action = BackupItemActionClient::new(channel);
        action.execute(request("wait")).await
    });
    assert_eq!(bench.event().await, Event::Began);
    call.abort();
    let _ = call.await;
    assert_eq!(bench.event().await, Event::Interrupted(Reason::CallerGone));
    assert_eq!(bench.event().await, Event::Undone);
    assert_eq!(bench.event().await, Event::TakenBack);
}

/// A 10.4, P-11: the answer of the interrupted call still arrives.
#[tokio::test]
async fn shutdown_interrupts_a_waiting_call_and_waits_for_its_undo() {
    let mut bench = Bench::start().await;
    let mut action = bench.action();
    let call = tokio::spawn(async move { action.execute(request("wait")).await });
    assert_eq!(bench.event().await, Event::Began);
    bench.shutdown().await;
    assert_eq!(bench.event().await, Event::Interrupted(Reason::Stop));
    assert_eq!(bench.event().await, Event::Undone);
    assert!(within(PATIENCE, call).await.unwrap().is_ok());
    let elapsed = bench.served().await;
    assert!(elapsed < Duration::from_millis(500), "{elapsed:?}");
}

#[tokio::test]
async fn shutdown_waits_for_the_undo_of_a_caller_that_has_gone() {
    let mut bench = Bench::start().await;
    let mut action = bench.action();
    let call = tokio::spawn(async move { action.execute(request("wait")).await });
    assert_eq!(bench.event().await, Event::Began);
    call.abort();
    assert_eq!(bench.event().await, Event::Interrupted(Reason::CallerGone));
    bench.shutdown().await;
    let mut events = std::mem::replace(&mut bench.events, mpsc::unbounded_channel().1);
    bench.served().await;
    assert_eq!(events.try_recv(), Ok(Event::Undone));
    assert_eq!(events.try_recv(), Ok(Event::TakenBack));
}

/// T10: the host kills after 2 s.
#[tokio::test]
async fn shutdown_does_not_wait_for_a_call_that_hangs() {
    let mut bench = Bench::start().await;
    let mut action = bench.action();
    let _call = tokio::spawn(async move { action.execute(request("hang")).await });
    assert_eq!(bench.event().await, Event::Began);
    bench.shutdown().await;
    let elapsed = bench.served().await;
    assert!(elapsed > Duration::from_secs(1), "{elapsed:?}");
    assert!(elapsed < Duration::from_millis(1900), "{elapsed:?}");
}
