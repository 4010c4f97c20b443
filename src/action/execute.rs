//! Execute, told from top to bottom: read, decide, choose a class, create, wait, answer; or take back.
//!
//! May use: rules, cluster, model, wait.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::PersistentVolume;
use tonic::codegen::Bytes;
use tracing::Instrument;

use super::error::ActionError;
use super::handle::{self, Cut};
use super::reads::Reader;
use super::snapshot::{self, Made, Wanted};
use super::{Answer, PvcAction, undo};
use crate::error::chain;
use crate::model::backup::Backup;
use crate::model::go_duration;
use crate::model::item::Item;
use crate::model::knobs;
use crate::model::names;
use crate::model::pod::Pod;
use crate::model::settings::Settings;
use crate::model::snapshot::VolumeSnapshotClass;
use crate::rules::cadence::Cadence;
use crate::rules::eligibility::{self, Because, Decision, Early, Facts, Level, VolumeLookup, Why};
use crate::rules::labels::snapshot_labels;
use crate::rules::outcome::outcome;
use crate::rules::snapshot_class::{self, Wishes};
use crate::rules::volume_policy::{PolicySource, VolumePolicies};
use crate::wait::{Deadline, Interrupt, Stopwatch};

/// Everything before the wait, the create included.
const PREPARATION: Duration = Duration::from_secs(30);

/// Answers one Execute; logs the one Error line of a failed one.
pub async fn execute(
    action: &PvcAction,
    item: Bytes,
    backup: &[u8],
    interrupt: &Interrupt,
) -> Result<Answer, ActionError> {
    let started = Stopwatch::start();
    let decoded = Backup::decode(backup)
        .map_err(ActionError::from)
        .and_then(|backup| {
            // R-3, C-8: in the finalizing phases there is nothing to do, whatever the item is.
            if backup.is_finalizing() {
                Ok((backup, None))
            } else {
                Ok((backup, Some(Item::decode(&item)?)))
            }
        });
    let (backup, pvc) = match decoded {
        Ok((_, None)) => return Ok(Answer::unchanged(item)),
        Ok((backup, Some(pvc))) => (backup, pvc),
        Err(error) => {
            tracing::error!(error = chain(&error), "cannot use the request");
            return Err(error);
        }
    };
    let span = tracing::info_span!(
        "execute",
        backup = format!("{}/{}", backup.namespace, backup.name),
        namespace = pvc.namespace(),
        pvc = pvc.name()
    );
    let run = Run {
        action,
        settings: action.settings.clone(),
        backup,
        pvc,
        request: item,
        interrupt,
    };
    async {
        let result = run.answer().await;
        if let Err(error) = &result {
            let elapsed = go_duration::short(started.elapsed());
            tracing::error!(
                error = chain(error),
                elapsed,
                "the snapshot of the PVC failed"
            );
        }
        result
    }
    .instrument(span)
    .await
}

/// One Execute with what it was given.
struct Run<'a> {
    action: &'a PvcAction,
    settings: Settings,
    backup: Backup,
    pvc: Item,
    request: Bytes,
    interrupt: &'a Interrupt,
}

/// A PVC that is ours to snapshot.
struct Plan {
    because: Because,
    driver: String,
}

/// The class that takes the snapshot, and why.
struct Class {
    name: String,
    rule: String,
}

impl Run<'_> {
    async fn answer(mut self) -> Result<Answer, ActionError> {
        self.complain_about_settings();
        self.take_overrides();
        self.introduce_backup();
        if let Early::Leave(why) =
            eligibility::before_reading(&self.backup, &self.pvc, &self.settings)
        {
            return Ok(self.leave(&why));
        }
        let preparation = Deadline::after(PREPARATION);
        let reader = Reader {
            cluster: &self.action.cluster,
            limit: self.settings.look_limit,
            deadline: preparation,
            interrupt: self.interrupt,
        };
        let plan = match self.decide(reader).await? {
            Ok(plan) => plan,
            Err(why) => return Ok(self.leave(&why)),
        };
        let key = (self.backup.uid.clone(), self.pvc.uid().to_owned());
        let _turn = self.action.memory.turns.turn(key).await;
        self.snapshot(reader, &plan).await
    }

    /// From the class to the answer; whatever fails in between is taken back.
    async fn snapshot(&self, reader: Reader<'_>, plan: &Plan) -> Result<Answer, ActionError> {
        let mut made = None;
        let result = self.make(reader, plan, &mut made).await;
        let result = match (result, self.interrupt.reason()) {
            // Nobody would read the answer.
            (Ok(_), Some(reason)) => Err(ActionError::Interrupted(reason)),
            (result, _) => result,
        };
        if result.is_err()
            && let Some(made) = &made
        {
            undo::take_back(&self.action.cluster, made, self.interrupt).await;
        }
        result
    }

    async fn make(
        &self,
        reader: Reader<'_>,
        plan: &Plan,
        made: &mut Option<Made>,
    ) -> Result<Answer, ActionError> {
        let (class, existing) =
            tokio::try_join!(self.choose_class(reader, plan), self.find_existing(reader))?;
        let started = Stopwatch::start();
        match existing {
            Some(existing) => {
                tracing::info!(
                    volume_snapshot = existing.name,
                    "this backup has a VolumeSnapshot of the PVC already"
                );
                *made = Some(existing);
            }
            None => {
                let wanted = Wanted {
                    namespace: self.pvc.namespace().to_owned(),
                    pvc: self.pvc.name().to_owned(),
                    class: class.name.clone(),
                    labels: snapshot_labels(&self.backup, &self.pvc, &self.settings.label_deny),
                };
                let snapshot = snapshot::create(reader, &wanted, made).await?;
                tracing::info!(
                    volume_snapshot = snapshot.metadata.name,
                    class = class.name,
                    elapsed = go_duration::short(started.elapsed()),
                    "created the VolumeSnapshot"
                );
            }
        }
        let Some(made) = made.as_ref() else {
            return Err(ActionError::Undecided(
                "the VolumeSnapshot was not registered",
            ));
        };
        let created = Stopwatch::start();
        let cut = handle::wait(
            &self.action.cluster,
            handle::Plan {
                made,
                class: &class.name,
                driver: &plan.driver,
                cadence: Cadence::from_settings(&self.settings),
                timeout: self.backup.csi_snapshot_timeout,
            },
            created,
            self.interrupt,
        )
        .await?;
        self.tell(made, &class, plan, &cut, created);
        self.outcome(made, &cut)
    }

    /// Reads what decides, in the order in which it decides, and no more than that.
    async fn decide(&self, reader: Reader<'_>) -> Result<Result<Plan, Why>, ActionError> {
        let policies = self.policies(reader).await?;
        let volume;
        let lookup = match eligibility::not_bound(&self.pvc) {
            // A PVC that is not bound has no volume, and none is asked for (F46).
            Some(not_bound) => VolumeLookup::NotBound(not_bound),
            None => match self.volume(reader).await {
                Ok(found) => {
                    volume = found;
                    VolumeLookup::Found(&volume)
                }
                // S-1: a policy may still match what the PVC says by itself.
                Err(ActionError::Api { source, .. }) if source.is_not_found() => {
                    VolumeLookup::Missing(source.fault.to_string())
                }
                Err(error) => return Err(error),
            },
        };
        let driver = match &lookup {
            VolumeLookup::Found(volume) => csi_driver(volume),
            _ => None,
        };
        let mut facts = Facts {
            backup: &self.backup,
            item: &self.pvc,
            volume: lookup,
            policies: &policies,
            pods: None,
        };
        let mut decision = eligibility::decide(&facts);
        let pods;
        if let Decision::NeedPods { namespace } = &decision {
            pods = self.pods(reader, namespace).await?;
            facts.pods = Some(&pods);
            decision = eligibility::decide(&facts);
        }
        match (decision, driver) {
            (Decision::Leave(why), _) => Ok(Err(why)),
            (Decision::Refuse(refusal), _) => Err(ActionError::Refused(refusal)),
            (Decision::Snapshot(because), Some(driver)) => Ok(Ok(Plan { because, driver })),
            (Decision::Snapshot(_), None) => {
                Err(ActionError::Undecided("the volume has no CSI driver"))
            }
            (Decision::NeedPods { .. }, _) => {
                Err(ActionError::Undecided("the pods were asked for twice"))
            }
        }
    }
}

fn csi_driver(volume: &PersistentVolume) -> Option<String> {
    volume
        .spec
        .as_ref()?
        .csi
        .as_ref()
        .map(|csi| csi.driver.clone())
}

/// Reads, each once per backup where the answer serves all its PVCs.
impl Run<'_> {
    /// The backup's own policies, then the global ones (VP-32).
    async fn policies(&self, reader: Reader<'_>) -> Result<Arc<VolumePolicies>, ActionError> {
        let own = self.backup.policy_config_map();
        let global = self
            .backup
            .annotations
            .get(names::ANNOTATION_GLOBAL_POLICY)
            .or(self.settings.global_policy_configmap.as_ref())
            .filter(|name| !name.is_empty());
        self.action
            .memory
            .policies
            .get(self.backup.uid.clone(), || async move {
                let mut policies = VolumePolicies::default();
                if let Some(name) = own {
                    policies = self
                        .policy(reader, name, "the backup's volume policies")
                        .await?;
                }
                if let Some(name) = global {
                    policies = policies.followed_by(
                        self.policy(reader, name, "the global volume policies")
                            .await?,
                    );
                }
                for warning in policies.warnings() {
                    tracing::warn!(error = warning, "a volume policy may not mean what it says");
                }
                Ok(Arc::new(policies))
            })
            .await
    }

    async fn policy(
        &self,
        reader: Reader<'_>,
        name: &str,
        what: &str,
    ) -> Result<VolumePolicies, ActionError> {
        let namespace = &self.backup.namespace;
        let doing = format!("read {what} in ConfigMap {namespace}/{name}");
        let map = reader
            .read(&doing, |limits| async move {
                self.action
                    .cluster
                    .config_map(namespace, name, &limits)
                    .await
            })
            .await?;
        let source = PolicySource {
            namespace: namespace.clone(),
            name: name.to_owned(),
        };
        Ok(VolumePolicies::from_config_map(
            &map.data.unwrap_or_default(),
            source,
        )?)
    }

    async fn volume(&self, reader: Reader<'_>) -> Result<PersistentVolume, ActionError> {
        let name = self.pvc.volume_name();
        let doing = format!(
            "failed to get PV {name} for PVC {}/{}",
            self.pvc.namespace(),
            self.pvc.name()
        );
        reader
            .read(&doing, |limits| async move {
                self.action.cluster.volume(name, &limits).await
            })
            .await
    }

    async fn pods(
        &self,
        reader: Reader<'_>,
        namespace: &str,
    ) -> Result<Arc<Vec<Pod>>, ActionError> {
        let key = (self.backup.uid.clone(), namespace.to_owned());
        let doing =
            format!("list the pods of namespace {namespace} for the file-system backup rules");
        self.action
            .memory
            .pods
            .get(key, || async move {
                reader
                    .read(&doing, |limits| async move {
                        self.action.cluster.pods(namespace, &limits).await
                    })
                    .await
                    .map(Arc::new)
            })
            .await
    }

    async fn classes(
        &self,
        reader: Reader<'_>,
    ) -> Result<Arc<Vec<VolumeSnapshotClass>>, ActionError> {
        self.action
            .memory
            .classes
            .get(self.backup.uid.clone(), || async move {
                if let Some(classes) = self.action.memory.take_classes() {
                    return Ok(Arc::new(classes));
                }
                reader
                    .read("list the VolumeSnapshotClasses", |limits| async move {
                        self.action.cluster.snapshot_classes(&limits).await
                    })
                    .await
                    .map(Arc::new)
            })
            .await
    }

    /// The class for the volume's own driver. The StorageClass is asked for its provisioner, the driver's
    /// second name, only when the first name does not give what was wished (W-9, W-10).
    async fn choose_class(&self, reader: Reader<'_>, plan: &Plan) -> Result<Class, ActionError> {
        let classes = self.classes(reader).await?;
        let mut wishes = Wishes {
            backup: &self.backup,
            item: &self.pvc,
            driver: &plan.driver,
            provisioner: None,
            policy_class: plan.because.snapshot_class(),
        };
        let provisioner;
        let mut choice = snapshot_class::choose(&classes, &wishes);
        if choice
            .as_ref()
            .map_or(true, |choice| !choice.warnings.is_empty())
        {
            provisioner = self.provisioner(reader).await?;
            wishes.provisioner = provisioner.as_deref();
            choice = snapshot_class::choose(&classes, &wishes);
        }
        let choice = choice?;
        for warning in &choice.warnings {
            tracing::warn!(
                class = choice.class.metadata.name,
                error = warning,
                "a wish for a snapshot class is not met"
            );
        }
        Ok(Class {
            name: choice.class.metadata.name.clone(),
            rule: choice.rule.to_string(),
        })
    }

    async fn provisioner(&self, reader: Reader<'_>) -> Result<Option<String>, ActionError> {
        let Some(class) = self
            .pvc
            .storage_class_name()
            .filter(|class| !class.is_empty())
        else {
            return Ok(None);
        };
        let key = (self.backup.uid.clone(), class.to_owned());
        let doing = format!("get the provisioner of StorageClass {class}");
        self.action
            .memory
            .provisioners
            .get(key, || async move {
                let read = reader
                    .read(&doing, |limits| async move {
                        self.action.cluster.storage_class(class, &limits).await
                    })
                    .await;
                match read {
                    Ok(class) => Ok(Some(class.provisioner)),
                    // A deleted class: the volume's own driver is all there is.
                    Err(ActionError::Api { source, .. }) if source.is_not_found() => Ok(None),
                    Err(error) => Err(error),
                }
            })
            .await
    }

    /// A VolumeSnapshot that an earlier process, or an earlier call, has made for this backup (F54, F79).
    async fn find_existing(&self, reader: Reader<'_>) -> Result<Option<Made>, ActionError> {
        let (backup, pvc) = (&self.backup.uid, self.pvc.uid());
        if backup.is_empty() || pvc.is_empty() {
            return Ok(None);
        }
        let namespace = self.pvc.namespace();
        let doing = format!("look for VolumeSnapshots of this backup in namespace {namespace}");
        let found = reader
            .read(&doing, |limits| async move {
                self.action
                    .cluster
                    .snapshots_of(namespace, backup, pvc, &limits)
                    .await
            })
            .await?;
        Ok(found
            .iter()
            .filter(|snapshot| {
                snapshot
                    .metadata
                    .labels
                    .contains_key(names::LABEL_CREATED_BY)
            })
            .find(|snapshot| !snapshot.metadata.is_being_deleted())
            .map(Made::existing))
    }
}

/// What is said, and what is answered.
impl Run<'_> {
    /// One Warn per process naming every bad variable; their defaults hold.
    fn complain_about_settings(&self) {
        let bad = self.action.memory.take_bad_settings();
        if !bad.is_empty() {
            let list: Vec<String> = bad.iter().map(ToString::to_string).collect();
            tracing::warn!(error = list.join("; "), "settings that cannot be used");
        }
    }

    /// The backup's annotations override the process-wide knobs for it.
    fn take_overrides(&mut self) {
        let bad = knobs::apply_annotations(&mut self.settings, |name| {
            self.backup.annotations.get(name).map(String::as_str)
        });
        if !bad.is_empty()
            && self
                .action
                .memory
                .first_time(&format!("overrides {}", self.backup.uid))
        {
            let list: Vec<String> = bad.iter().map(ToString::to_string).collect();
            tracing::warn!(
                error = list.join("; "),
                "annotations of the backup that cannot be used"
            );
        }
    }

    /// One Info per backup: who we are and how we look.
    fn introduce_backup(&self) {
        if !self
            .action
            .memory
            .first_time(&format!("backup {}", self.backup.uid))
        {
            return;
        }
        let early = self.settings.early;
        let how = if early.on {
            format!(
                "every {} for {}, then every {}",
                go_duration::short(self.settings.early_interval),
                go_duration::short(self.settings.early_window),
                go_duration::short(self.settings.poll_interval)
            )
        } else {
            format!("every {}", go_duration::short(self.settings.poll_interval))
        };
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            early = if early.on { "on" } else { "off" },
            early_from = early.variable.unwrap_or("default"),
            look = how,
            timeout = go_duration::short(self.backup.csi_snapshot_timeout),
            "velero-plugin-csi-fastpoll takes part in this backup"
        );
    }

    fn leave(&self, why: &Why) -> Answer {
        let Why { level, text } = why;
        let first = matches!(level, Level::WarnOncePerBackup)
            && self
                .action
                .memory
                .first_time(&format!("{text} {}", self.backup.uid));
        match level {
            Level::Debug => tracing::debug!(because = text, "leaving the PVC alone"),
            Level::WarnOncePerBackup if !first => {
                tracing::info!(because = text, "leaving the PVC alone")
            }
            Level::Info => tracing::info!(because = text, "leaving the PVC alone"),
            Level::Warn | Level::WarnOncePerBackup => {
                tracing::warn!(because = text, "leaving the PVC alone")
            }
        }
        Answer::unchanged(self.request.clone())
    }

    /// One Info per PVC: everything needed to find the snapshot again (F23, F39, F115).
    fn tell(&self, made: &Made, class: &Class, plan: &Plan, cut: &Cut, created: Stopwatch) {
        if let Some(error) = &cut.handle.error {
            tracing::warn!(
                volume_snapshot = made.name,
                content = cut.handle.content,
                error,
                "the snapshot has a handle, but the driver still reports an error"
            );
        }
        tracing::info!(
            volume_snapshot = made.name,
            content = cut.handle.content,
            handle = cut.handle.handle,
            class = class.name,
            class_by = class.rule,
            because = plan.because.to_string(),
            driver = plan.driver,
            bound_after = go_duration::short(cut.bound),
            handle_after = go_duration::short(cut.handle_seen),
            looks = cut.looks,
            elapsed = go_duration::short(created.elapsed()),
            "the storage has cut the snapshot"
        );
    }

    fn outcome(&self, made: &Made, cut: &Cut) -> Result<Answer, ActionError> {
        let outcome = outcome(&self.backup, &self.pvc, &made.name, cut.handle.restore_size)?;
        if let Some(text) = &outcome.resized {
            tracing::info!("{text}");
        }
        if let Some(text) = &outcome.warning {
            tracing::warn!(
                error = text,
                "the storage request of the PVC stays as it is"
            );
        }
        Ok(Answer {
            item: Bytes::from(outcome.item),
            additional_items: outcome.additional_items,
            operation_id: String::new(),
            post_operation_items: Vec::new(),
            made: Some(made.clone()),
        })
    }
}
