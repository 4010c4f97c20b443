//! The Kubernetes client: built at the first request, never before (P-26), and again after a failure.
//!
//! May use: model.

use http::{HeaderValue, header};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::model::settings::Settings;

/// Name and version of this plugin, as the API server's audit log shows it.
const USER_AGENT: &str = concat!("velero-plugin-csi-fastpoll/", env!("CARGO_PKG_VERSION"));

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
        let mut config = match (kubeconfig, context) {
            (Some(path), _) => {
                let file = Kubeconfig::read_from(path).map_err(|error| text(&error))?;
                Config::from_custom_kubeconfig(file, &options)
                    .await
                    .map_err(|error| text(&error))?
            }
            (None, Some(_)) => Config::from_kubeconfig(&options)
                .await
                .map_err(|error| text(&error))?,
            (None, None) => Config::infer().await.map_err(|error| text(&error))?,
        };
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

fn text(error: &dyn std::error::Error) -> String {
    crate::error::chain(error)
}
