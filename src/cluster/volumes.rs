//! Reads of everything that decides whether and how a volume is snapshotted.
//!
//! May use: model.

use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolume};
use k8s_openapi::api::storage::v1::StorageClass;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::call::{Cluster, Limits};
use super::error::{ApiError, Fault};
use super::request::{Call, Kind, Verb, escape};
use crate::model::pod::Pod;
use crate::model::snapshot::VolumeSnapshotClass;

/// Pages of one list at most: a server that never ends its list must not hold a backup for ever.
const MAX_PAGES: usize = 1_000;

/// Each fails with [`ApiError`] when the answer is not the object.
impl Cluster {
    /// The PersistentVolume `name`.
    ///
    /// # Errors
    /// See [`ApiError`].
    pub async fn volume(&self, name: &str, limits: &Limits) -> Result<PersistentVolume, ApiError> {
        self.ask(
            Call::new(Verb::Get, Kind::VOLUME, "", name),
            "",
            Vec::new(),
            limits,
        )
        .await
    }

    /// The StorageClass `name`.
    ///
    /// # Errors
    /// See [`ApiError`].
    pub async fn storage_class(
        &self,
        name: &str,
        limits: &Limits,
    ) -> Result<StorageClass, ApiError> {
        self.ask(
            Call::new(Verb::Get, Kind::STORAGE_CLASS, "", name),
            "",
            Vec::new(),
            limits,
        )
        .await
    }

    /// The ConfigMap `namespace/name`.
    ///
    /// # Errors
    /// See [`ApiError`].
    pub async fn config_map(
        &self,
        namespace: &str,
        name: &str,
        limits: &Limits,
    ) -> Result<ConfigMap, ApiError> {
        self.ask(
            Call::new(Verb::Get, Kind::CONFIG_MAP, namespace, name),
            "",
            Vec::new(),
            limits,
        )
        .await
    }

    /// All pods of `namespace`, page by page, in the few fields that decide (T16).
    ///
    /// # Errors
    /// See [`ApiError`].
    pub async fn pods(&self, namespace: &str, limits: &Limits) -> Result<Vec<Pod>, ApiError> {
        self.list(Call::new(Verb::List, Kind::POD, namespace, ""), "", limits)
            .await
    }

    /// All VolumeSnapshotClasses, by name.
    ///
    /// # Errors
    /// See [`ApiError`].
    pub async fn snapshot_classes(
        &self,
        limits: &Limits,
    ) -> Result<Vec<VolumeSnapshotClass>, ApiError> {
        self.list(
            Call::new(Verb::List, Kind::SNAPSHOT_CLASS, "", ""),
            "",
            limits,
        )
        .await
    }

    /// All objects that `call` and `selector` (a query piece, or empty) match.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        call: Call,
        selector: &str,
        limits: &Limits,
    ) -> Result<Vec<T>, ApiError> {
        let mut objects = Vec::new();
        let mut token = String::new();
        for _ in 0..MAX_PAGES {
            let mut query = format!("limit={}", self.page_size());
            for piece in [selector.to_owned(), token] {
                if !piece.is_empty() {
                    query.push('&');
                    query.push_str(&piece);
                }
            }
            let page: Page<T> = self.ask(call.clone(), &query, Vec::new(), limits).await?;
            objects.extend(page.items.unwrap_or_default());
            match page
                .metadata
                .and_then(|metadata| metadata.more)
                .filter(|more| !more.is_empty())
            {
                Some(more) => token = format!("continue={}", escape(&more)),
                None => return Ok(objects),
            }
        }
        Err(ApiError {
            call: Box::new(call),
            fault: Fault::Unreadable(format!("the list has over {MAX_PAGES} pages")),
        })
    }
}

#[derive(Deserialize)]
struct Page<T> {
    metadata: Option<PageMeta>,
    items: Option<Vec<T>>,
}

#[derive(Deserialize)]
struct PageMeta {
    #[serde(rename = "continue")]
    more: Option<String>,
}
