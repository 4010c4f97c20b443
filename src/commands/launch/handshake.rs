//! The host's reading of the handshake line, as go-plugin's client does it. May use: nothing of ours.

use std::path::PathBuf;

/// go-plugin's own protocol version.
const CORE_PROTOCOL: &str = "1";

/// The version of Velero's plugin framework.
const APP_PROTOCOL: &str = "2";

/// A first line that is no handshake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHandshake {
    /// Stdout ended.
    #[error("the plugin ended without a handshake line")]
    Ended,
    /// Some other text.
    #[error("{0:?} is not CORE|APP|NETWORK|ADDRESS|PROTOCOL|")]
    Form(String),
    /// A field has a value that this host does not speak.
    #[error("the handshake's {field} is {found:?}, not {wanted:?}")]
    Field {
        /// Which field.
        field: &'static str,
        /// What it says.
        found: String,
        /// What it has to say.
        wanted: &'static str,
    },
}

/// The unix socket that a handshake line names.
///
/// # Errors
/// The line is of another form, or another version, network or protocol.
pub fn socket_path(line: &str) -> Result<PathBuf, BadHandshake> {
    if line.is_empty() {
        return Err(BadHandshake::Ended);
    }
    let fields: Vec<&str> = line.trim_end_matches('\n').split('|').collect();
    let (core, app, network, address, protocol) = match fields.as_slice() {
        [core, app, network, address, protocol] | [core, app, network, address, protocol, _] => {
            (*core, *app, *network, *address, *protocol)
        }
        _ => return Err(BadHandshake::Form(line.to_owned())),
    };
    for (field, found, wanted) in [
        ("core protocol", core, CORE_PROTOCOL),
        ("application protocol", app, APP_PROTOCOL),
        ("network", network, "unix"),
        ("protocol", protocol, "grpc"),
    ] {
        if found != wanted {
            let found = found.to_owned();
            return Err(BadHandshake::Field {
                field,
                found,
                wanted,
            });
        }
    }
    Ok(PathBuf::from(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshake_line_then_its_socket() {
        let path = socket_path("1|2|unix|/tmp/plugin1a/sock|grpc|\n");
        assert_eq!(path, Ok(PathBuf::from("/tmp/plugin1a/sock")));
    }

    #[test]
    fn anything_else_then_what_is_wrong_with_it() {
        for (line, text) in [
            ("", "ended without"),
            ("hello\n", "is not CORE|APP"),
            ("1|2|unix|/a|grpc||\n", "is not CORE|APP"),
            ("2|2|unix|/a|grpc|\n", "core protocol is \"2\""),
            ("1|1|unix|/a|grpc|\n", "application protocol is \"1\""),
            ("1|2|tcp|127.0.0.1:1|grpc|\n", "network is \"tcp\""),
            ("1|2|unix|/a|netrpc|\n", "protocol is \"netrpc\""),
        ] {
            let error = socket_path(line).unwrap_err().to_string();
            assert!(error.contains(text), "{line:?}: {error}");
        }
    }
}
