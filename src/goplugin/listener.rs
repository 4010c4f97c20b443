//! The unix socket: the first directory that takes it, a private directory of its own there,
//! and its removal.

use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Longest socket path that every kernel takes (`sun_path` less its end).
const PATH_LIMIT: usize = 107;

/// How often a new random name is tried when one is taken.
const NAME_TRIES: usize = 8;

/// The socket's name in its private directory.
const SOCKET_NAME: &str = "sock";

/// A directory to try, and who named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What it is called in messages: a variable's name, or the path itself.
    pub origin: &'static str,
    /// The directory.
    pub directory: PathBuf,
}

/// A bound, listening socket. Dropping it removes the socket and its directory.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    place: Place,
}

/// Removes socket and directory when dropped.
#[derive(Debug)]
pub struct Place {
    directory: PathBuf,
    path: PathBuf,
}

/// No candidate took a socket.
#[derive(Debug, thiserror::Error)]
pub struct NoPlace {
    tried: Vec<(Candidate, Refusal)>,
}

/// Why a candidate did not take the socket.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("not an absolute path")]
    Relative,
    #[error("not UTF-8, or with a character that the handshake line cannot carry")]
    Unprintable,
    #[error("socket path would have {0} bytes, {PATH_LIMIT} is the limit")]
    TooLong(usize),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl fmt::Display for NoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot create a unix socket in any directory")?;
        for (index, (candidate, refusal)) in self.tried.iter().enumerate() {
            let Candidate { origin, directory } = candidate;
            let before = if index == 0 { ": " } else { "; " };
            write!(f, "{before}{origin} ({}): {refusal}", directory.display())?;
        }
        Ok(())
    }
}

impl Socket {
    /// Binds in the first candidate that allows it: a fresh directory with mode 0700, so that
    /// nobody else can reach the socket whatever the umask is.
    ///
    /// # Errors
    /// None of them does; the error says why for each.
    pub fn bind(candidates: impl IntoIterator<Item = Candidate>) -> Result<Self, NoPlace> {
        let mut tried = Vec::new();
        for candidate in candidates {
            match bind_in(&candidate.directory) {
                Ok(socket) => return Ok(socket),
                Err(refusal) => tried.push((candidate, refusal)),
            }
        }
        Err(NoPlace { tried })
    }

    /// Where it listens.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// The listener, and the guard that removes its files.
    #[must_use]
    pub fn into_parts(self) -> (UnixListener, Place) {
        (self.listener, self.place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and nobody would read it.
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_dir(&self.directory);
    }
}

fn bind_in(parent: &Path) -> Result<Socket, Refusal> {
    if !parent.is_absolute() {
        return Err(Refusal::Relative);
    }
    let carried = parent
        .to_str()
        .is_some_and(|text| !text.contains(|c: char| c == '|' || c.is_control()));
    if !carried {
        return Err(Refusal::Unprintable);
    }
    let place = private_place(parent)?;
    let listener = UnixListener::bind(&place.path)?;
    listener.set_nonblocking(true)?;
    Ok(Socket { listener, place })
}

/// A new directory `pluginXXXXXXXX`, as go-plugin names its sockets.
fn private_place(parent: &Path) -> Result<Place, Refusal> {
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..NAME_TRIES {
        let directory = parent.join(format!("plugin{:08x}", fastrand::u32(..)));
        let path = directory.join(SOCKET_NAME);
        let length = path.as_os_str().len();
        if length > PATH_LIMIT {
            return Err(Refusal::TooLong(length));
        }
        match DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => return Ok(Place { directory, path }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error.into()),
        }
    }
    Err(last.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn candidate(directory: impl Into<PathBuf>) -> Candidate {
        Candidate {
            origin: "TEST",
            directory: directory.into(),
        }
    }

    #[test]
    fn first_usable_candidate_gets_a_private_directory() {
        let good = tempfile::tempdir().unwrap();
        let socket = Socket::bind([
            candidate("relative"),
            candidate("/no/such/directory"),
            candidate(good.path()),
        ])
        .unwrap();
        assert!(socket.path().starts_with(good.path()));
        let directory = socket.path().parent().unwrap();
        let mode = directory.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn dropping_the_guard_leaves_nothing_behind() {
        let parent = tempfile::tempdir().unwrap();
        let socket = Socket::bind([candidate(parent.path())]).unwrap();
        let (_listener, place) = socket.into_parts();
        assert_eq!(parent.path().read_dir().unwrap().count(), 1);
        drop(place);
        assert_eq!(parent.path().read_dir().unwrap().count(), 0);
    }

    /// F77: a path near the kernel's limit.
    #[test]
    fn too_long_path_is_refused_and_the_longest_possible_one_taken() {
        let parent = tempfile::tempdir().unwrap();
        let tail = "/pluginXXXXXXXX/sock".len();
        let fill = PATH_LIMIT - parent.path().as_os_str().len() - tail - 1;
        let fits = parent.path().join("x".repeat(fill));
        let over = parent.path().join("x".repeat(fill + 1));
        std::fs::create_dir(&fits).unwrap();
        std::fs::create_dir(&over).unwrap();
        let error = Socket::bind([candidate(&over)]).unwrap_err();
        assert!(error.to_string().contains("108 bytes"), "{error}");
        let socket = Socket::bind([candidate(&over), candidate(&fits)]).unwrap();
        assert_eq!(socket.path().as_os_str().len(), PATH_LIMIT);
    }

    #[test]
    fn nothing_usable_names_every_candidate_with_its_reason() {
        let parent = tempfile::tempdir().unwrap();
        let bar = parent.path().join("a|b");
        std::fs::create_dir(&bar).unwrap();
        let error = Socket::bind([candidate(bar), candidate("/no/such/directory")]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("a|b): not UTF-8, or with"), "{text}");
        assert!(
            text.contains("TEST (/no/such/directory): No such file"),
            "{text}"
        );
    }
}
