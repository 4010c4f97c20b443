//! The Kubernetes client: built at the first request, never before (P-26), and again after a failure.
//!
//! May use: model.

use http::{HeaderValue, Uri, header};
use hyper_util::client::proxy::matcher::Matcher;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use crate::model::settings::Settings;

/// Name and version of this plugin, as the API server's audit log shows it.
const USER_AGENT: &str = concat!("velero-plugin-csi-fastpoll/", env!("CARGO_PKG_VERSION"));

/// Where kube looks in a pod.
const IN_POD: &str = "service account (KUBERNETES_SERVICE_HOST and \
     /var/run/secrets/kubernetes.io/serviceaccount)";

/// Where the client comes from.
#[derive(Clone)]
pub enum ClientSource {
    /// From Velero's own flags `--kubeconfig` and `--kubecontext`, `KUBECONFIG`, or the pod's service account.
    Flags {
        /// Path of a kubeconfig file.
        kubeconfig: Option<String>,
        /// Context in it.
        context: Option<String>,
    },
    /// A client made by the caller.
    Given(Client),
}

impl ClientSource {
    /// The source that Velero's flags name.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        Self::Flags {
            kubeconfig: settings.kubeconfig.clone(),
            context: settings.kubecontext.clone(),
        }
    }

    /// Reads the configuration and makes a client; no network yet.
    ///
    /// # Errors
    /// A text that says what is wrong with the configuration.
    pub async fn build(&self) -> Result<Client, String> {
        let (kubeconfig, context) = match self {
            Self::Given(client) => return Ok(client.clone()),
            Self::Flags {
                kubeconfig,
                context,
            } => (kubeconfig, context),
        };
        let options = KubeConfigOptions {
            context: context.clone(),
            ..KubeConfigOptions::default()
        };
        let mut config = configuration(kubeconfig.as_deref(), &options).await?;
        // T1: kube would repeat a POST on 429, 503 and 504.
        config.default_retry = false;
        // T8: every call is limited one layer up; a connect may take no longer than the longest call.
        config.connect_timeout = Some(std::time::Duration::from_secs(10));
        config
            .headers
            .push((header::USER_AGENT, HeaderValue::from_static(USER_AGENT)));
        Client::try_from(config).map_err(|error| text(&error))
    }
}

/// The file at `path`; without one `KUBECONFIG` or `~/.kube/config`, and where neither can be used the
/// pod's service account.
async fn configuration(path: Option<&str>, options: &KubeConfigOptions) -> Result<Config, String> {
    let file = match path {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let config = match file {
        Ok(file) => from_file(file, options).await,
        Err(error) => Err(error),
    };
    match config {
        Ok(config) => Ok(config),
        // Velero was told which file or context to use: no other cluster will do.
        Err(error) if path.is_some() || options.context.is_some() => Err(text(&error)),
        Err(in_file) => Config::incluster().map_err(|in_pod| {
            format!(
                "{IN_POD}: {}; kubeconfig: {}",
                text(&in_pod),
                text(&in_file)
            )
        }),
    }
}

/// The configuration for the chosen context of `file`.
///
/// The file's own `proxy-url` always holds, a proxy of the environment unless `NO_PROXY` exempts the API server.
/// kube compares `NO_PROXY` with the proxy's address instead, so a proxy that is there for the object storage
/// would get the API's requests as well (F111).
async fn from_file(
    file: Kubeconfig,
    options: &KubeConfigOptions,
) -> Result<Config, KubeconfigError> {
    let named = named_proxy(&file, options);
    let mut config = Config::from_custom_kubeconfig(file, options).await?;
    let environment = Matcher::from_env().intercept(&config.cluster_url);
    if named.is_some() {
        config.proxy_url = named;
    } else if environment.is_none() {
        config.proxy_url = None;
    }
    Ok(config)
}

/// `proxy-url` of the cluster of the chosen context.
fn named_proxy(file: &Kubeconfig, options: &KubeConfigOptions) -> Option<Uri> {
    let chosen = options.context.as_ref().or(file.current_context.as_ref())?;
    let context = file
        .contexts
        .iter()
        .find(|context| context.name == *chosen)?;
    let cluster = &context.context.as_ref()?.cluster;
    let cluster = file.clusters.iter().find(|named| named.name == *cluster)?;
    let proxy = cluster.cluster.as_ref()?.proxy_url.as_ref()?;
    proxy.parse().ok()
}

fn text(error: &dyn std::error::Error) -> String {
    crate::error::chain(error)
}
