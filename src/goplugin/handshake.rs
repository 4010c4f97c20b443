//! The one line on stdout that tells the host where to dial, and the silence after it.
//!
//! The host reads the first line only (P-4), and a later long line can fill the pipe for ever
//! (P-6), so stdout is replaced by `/dev/null` as soon as the line is out.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// go-plugin's own protocol version.
const CORE_PROTOCOL: u32 = 1;

/// The line for a socket at `path`, with its line feed (P-3). Field 6, the server certificate,
/// is empty and must stay so.
#[must_use]
pub fn line(app_protocol: u32, path: &str) -> String {
    format!("{CORE_PROTOCOL}|{app_protocol}|unix|{path}|grpc|\n")
}

/// Writes the line to stdout and then points stdout at `/dev/null`, or at stderr where there is
/// no such file. The socket must be listening already (P-5).
///
/// # Errors
/// Stdout cannot be written or replaced; the host will not see a plugin.
pub fn announce(app_protocol: u32, path: &Path) -> io::Result<()> {
    let path = path.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
    let mut stdout = io::stdout().lock();
    stdout.write_all(line(app_protocol, path).as_bytes())?;
    stdout.flush()?;
    match OpenOptions::new().write(true).open("/dev/null") {
        Ok(null) => rustix::stdio::dup2_stdout(null)?,
        Err(_) => rustix::stdio::dup2_stdout(rustix::stdio::stderr())?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_byte_exact() {
        assert_eq!(
            line(2, "/tmp/plugin1a/sock"),
            "1|2|unix|/tmp/plugin1a/sock|grpc|\n"
        );
    }
}
