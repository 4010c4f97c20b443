//! Everything that one Execute reads before it creates, each once per backup where the answer serves all
//! its PVCs.
//!
//! May use: rules, cluster, model.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::api::core::v1::PersistentVolume;

use super::error::ActionError;
use super::execute::{Class, Plan, Run};
use super::reads::Reader;
use crate::error::chain;
use crate::model::names;
use crate::model::pod::Pod;
use crate::model::snapshot::VolumeSnapshotClass;
use crate::rules::eligibility::{self, Decision, Facts, VolumeLookup, Why};
use crate::rules::snapshot_class::{self, Choice, Wishes};
use crate::rules::volume_policy::{PolicySource, VolumePolicies};

impl Run<'_> {
    /// Reads what decides, in the order in which it decides, and no more than that.
    pub(super) async fn decide(
        &self,
        reader: Reader<'_>,
    ) -> Result<Result<Plan, Why>, ActionError> {
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

    /// The backup's own policies, then the global ones (VP-32).
    async fn policies(&self, reader: Reader<'_>) -> Result<Arc<VolumePolicies>, ActionError> {
        let own = self.backup.policy_config_map();
        let global = self
            .backup
            .annotations
            .get(names::ANNOTATION_GLOBAL_POLICY)
            .or(self.settings.global_policy_configmap.as_ref())
            .filter(|name| !name.is_empty());
        reader
            .within(
                "read the volume policies",
                self.action
                    .memory
                    .policies
                    .get(self.backup_key(), || async move {
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
                            tracing::warn!(
                                error = warning,
                                "a volume policy may not mean what it says"
                            );
                        }
                        Ok(Arc::new(policies))
                    }),
            )
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
        let doing = doing.as_str();
        reader
            .read(doing, |limits| async move {
                self.action.cluster.volume(name, &limits).await
            })
            .await
    }

    async fn pods(
        &self,
        reader: Reader<'_>,
        namespace: &str,
    ) -> Result<Arc<Vec<Pod>>, ActionError> {
        let key = (self.backup_key(), namespace.to_owned());
        let doing =
            format!("list the pods of namespace {namespace} for the file-system backup rules");
        let doing = doing.as_str();
        reader
            .within(
                doing,
                self.action.memory.pods.get(key, || async move {
                    reader
                        .read(doing, |limits| async move {
                            self.action.cluster.pods(namespace, &limits).await
                        })
                        .await
                        .map(Arc::new)
                }),
            )
            .await
    }

    /// The classes that this backup remembers, and whether they were read for this very call.
    async fn classes(
        &self,
        reader: Reader<'_>,
    ) -> Result<(Arc<Vec<VolumeSnapshotClass>>, bool), ActionError> {
        let read_now = &AtomicBool::new(false);
        let classes = reader
            .within(
                "list the VolumeSnapshotClasses",
                self.action
                    .memory
                    .classes
                    .get(self.backup_key(), || async move {
                        if let Some(classes) = self.action.memory.take_classes() {
                            return Ok(Arc::new(classes));
                        }
                        read_now.store(true, Ordering::Relaxed);
                        reader
                            .read("list the VolumeSnapshotClasses", |limits| async move {
                                self.action.cluster.snapshot_classes(&limits).await
                            })
                            .await
                            .map(Arc::new)
                    }),
            )
            .await?;
        Ok((classes, read_now.load(Ordering::Relaxed)))
    }

    /// The class for the PVC. A list that is older than this call is read again before a class is said
    /// to be missing: it may have been made in the meantime, and the built-in would find it.
    pub(super) async fn choose_class(
        &self,
        reader: Reader<'_>,
        plan: &Plan,
    ) -> Result<Class, ActionError> {
        let (remembered, read_now) = self.classes(reader).await?;
        let choice = self.choose_among(&remembered, reader, plan).await;
        let misses = match &choice {
            Ok(choice) => choice.names_missing,
            Err(error) => matches!(error, ActionError::Class(_)),
        };
        if read_now || !misses {
            return Ok(self.chosen(&choice?));
        }
        let memory = &self.action.memory;
        let is_old = |classes: &Arc<_>| Arc::ptr_eq(classes, &remembered);
        memory.classes.forget(&self.backup_key(), is_old);
        // A warm-up that was overtaken has left a list that is no younger.
        memory.take_classes();
        match (self.classes(reader).await, choice) {
            (Ok((classes, _)), _) => {
                Ok(self.chosen(&self.choose_among(&classes, reader, plan).await?))
            }
            // There is a class already; a younger list could only have given a better one.
            (Err(error), Ok(choice)) => {
                tracing::debug!(error = chain(&error), "cannot read the classes again");
                Ok(self.chosen(&choice))
            }
            (Err(error), Err(_)) => Err(error),
        }
    }

    /// Chooses for the volume's own driver. The StorageClass is asked for its provisioner, the driver's
    /// second name, only when the first name does not give what was wished (W-9, W-10).
    async fn choose_among<'a>(
        &self,
        classes: &'a [VolumeSnapshotClass],
        reader: Reader<'_>,
        plan: &Plan,
    ) -> Result<Choice<'a>, ActionError> {
        let mut wishes = Wishes {
            backup: &self.backup,
            item: &self.pvc,
            driver: &plan.driver,
            provisioner: None,
            policy_class: plan.because.snapshot_class(),
        };
        let provisioner;
        let mut choice = snapshot_class::choose(classes, &wishes);
        if choice
            .as_ref()
            .map_or(true, |choice| !choice.warnings.is_empty())
        {
            match self.provisioner(reader).await {
                Ok(found) => {
                    provisioner = found;
                    wishes.provisioner = provisioner.as_deref();
                    choice = snapshot_class::choose(classes, &wishes);
                }
                Err(error) if choice.is_err() => return Err(error),
                // There is a class already; the second name could only have given a better one.
                Err(error) => tracing::debug!(error = chain(&error), "cannot read the provisioner"),
            }
        }
        Ok(choice?)
    }

    fn chosen(&self, choice: &Choice<'_>) -> Class {
        for warning in &choice.warnings {
            // A mark on a class is the same for every PVC: said once per backup.
            if self.first_time(warning) {
                tracing::warn!(
                    class = choice.class.metadata.name,
                    error = warning,
                    "a wish for a snapshot class is not met"
                );
            }
        }
        Class {
            name: choice.class.metadata.name.clone(),
            rule: choice.rule.to_string(),
        }
    }

    async fn provisioner(&self, reader: Reader<'_>) -> Result<Option<String>, ActionError> {
        let Some(class) = self
            .pvc
            .storage_class_name()
            .filter(|class| !class.is_empty())
        else {
            return Ok(None);
        };
        let key = (self.backup_key(), class.to_owned());
        let doing = format!("get the provisioner of StorageClass {class}");
        let doing = doing.as_str();
        reader
            .within(
                doing,
                self.action.memory.provisioners.get(key, || async move {
                    let read = reader
                        .read(doing, |limits| async move {
                            self.action.cluster.storage_class(class, &limits).await
                        })
                        .await;
                    match read {
                        Ok(class) => Ok(Some(class.provisioner)),
                        // A deleted class: the volume's own driver is all there is.
                        Err(ActionError::Api { source, .. }) if source.is_not_found() => Ok(None),
                        Err(error) => Err(error),
                    }
                }),
            )
            .await
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
