//! `install TARGET`: the own executable, copied so that Velero never sees half of it (T12, F84).
//!
//! The copy is written to a file without a name, synchronized, made executable, and only then given a
//! name and renamed over an older file: a copy that is killed half-way leaves nothing, above all no
//! second executable, on which Velero's server would stop. A plugin that runs from the old file goes on
//! with it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, linkat};

/// The running executable, also when its file has been replaced since.
pub const OWN_EXECUTABLE: &str = "/proc/self/exe";

/// The file's name where the target is a directory.
const FILE_NAME: &str = "velero-plugin-csi-fastpoll";

/// Read and run for everybody: the Velero container runs as another user.
const MODE: u32 = 0o755;

/// Why nothing was installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The target names no directory that is there.
    #[error("install to {}: {} is not a directory", target.display(), directory.display())]
    NoDirectory {
        /// As asked.
        target: PathBuf,
        /// What is missing.
        directory: PathBuf,
    },
    /// The target is probably a misspelt directory.
    #[error(
        "install to {}: there is no such directory; to install as a file, name it {FILE_NAME}",
        target.display()
    )]
    NotThere {
        /// As asked.
        target: PathBuf,
    },
    /// Something is there that an executable must not replace.
    #[error("install to {}: it is not a regular file, and is left as it is", target.display())]
    NotAFile {
        /// The file that was to be made.
        target: PathBuf,
    },
    /// One step failed.
    #[error("install to {}: {doing}", target.display())]
    Step {
        /// The file that was to be made.
        target: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

/// Copies `source` to `target`, a directory or a file name, and returns the file that is there
/// now. On failure nothing is left behind and an older file is as it was.
///
/// # Errors
/// The directory is missing or read-only, something else than a file is in the way, the disk is full, …
pub fn install(source: &Path, target: &Path) -> Result<PathBuf, InstallError> {
    let (directory, file) = place(target)?;
    let step = |doing| {
        let target = file.clone();
        move |source| InstallError::Step {
            target,
            doing,
            source,
        }
    };
    let mut from = File::open(source).map_err(step("open the own executable"))?;
    let unfinished = Unfinished(directory.join(format!(".{FILE_NAME}.{:08x}", fastrand::u32(..))));
    let nameless = OpenOptions::new()
        .write(true)
        .custom_flags(OFlags::TMPFILE.bits().cast_signed())
        .mode(0o600)
        .open(&directory);
    let (mut to, is_nameless) = match nameless {
        Ok(file) => (file, true),
        // Not every file system can do that.
        Err(_) => (
            named(&unfinished.0).map_err(step("create a file in the directory"))?,
            false,
        ),
    };
    io::copy(&mut from, &mut to).map_err(step("write the file"))?;
    to.sync_all().map_err(step("write the file to disk"))?;
    to.set_permissions(Permissions::from_mode(MODE))
        .map_err(step("make the file executable"))?;
    if is_nameless {
        let nameless = format!("/proc/self/fd/{}", to.as_raw_fd());
        linkat(CWD, nameless, CWD, &unfinished.0, AtFlags::SYMLINK_FOLLOW)
            .map_err(io::Error::from)
            .map_err(step("name the file"))?;
    }
    drop(to);
    fs::rename(&unfinished.0, &file).map_err(step("put the file in its place"))?;
    File::open(&directory)
        .and_then(|directory| directory.sync_all())
        .map_err(step("write the directory to disk"))?;
    Ok(file)
}

/// The directory to write in, and the file that is to be there afterwards.
fn place(target: &Path) -> Result<(PathBuf, PathBuf), InstallError> {
    let ends_like_directory = target.as_os_str().as_encoded_bytes().ends_with(b"/");
    let (directory, file) = if target.is_dir() || ends_like_directory {
        (target.to_owned(), target.join(FILE_NAME))
    } else {
        let parent = target
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        (
            parent.unwrap_or(Path::new(".")).to_owned(),
            target.to_owned(),
        )
    };
    if !directory.is_dir() {
        return Err(InstallError::NoDirectory {
            target: target.to_owned(),
            directory,
        });
    }
    match file.symlink_metadata() {
        Ok(there) if there.is_file() => Ok((directory, file)),
        Ok(_) => Err(InstallError::NotAFile { target: file }),
        Err(_) if file.file_name().is_some_and(|name| name == FILE_NAME) => Ok((directory, file)),
        Err(_) => Err(InstallError::NotThere {
            target: target.to_owned(),
        }),
    }
}

fn named(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Removes the temporary file unless it has been renamed.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::chain;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = directory
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn fixture() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("source");
        fs::write(&source, b"new").unwrap();
        (directory, source)
    }

    #[test]
    fn directory_gets_an_executable_under_the_plugins_name() {
        let (directory, source) = fixture();
        let plugins = directory.path().join("plugins");
        fs::create_dir(&plugins).unwrap();
        let file = install(&source, &plugins).unwrap();
        assert_eq!(file, plugins.join(FILE_NAME));
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o7777, MODE);
        assert_eq!(names(&plugins), [FILE_NAME]);
    }

    /// T12: the old file's inode keeps its content.
    #[test]
    fn older_longer_file_is_replaced_and_not_overwritten() {
        let (directory, source) = fixture();
        let file = directory.path().join("plugin");
        fs::write(&file, b"an older and longer one").unwrap();
        let mut old = File::open(&file).unwrap();
        install(&source, &file).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        let mut still = String::new();
        io::Read::read_to_string(&mut old, &mut still).unwrap();
        assert_eq!(still, "an older and longer one");
    }

    #[test]
    fn missing_directory_is_named() {
        let (directory, source) = fixture();
        for target in ["no/file", "no/"] {
            let error = install(&source, &directory.path().join(target)).unwrap_err();
            assert!(error.to_string().contains("is not a directory"), "{error}");
        }
    }

    #[test]
    fn failure_leaves_nothing_behind_and_names_the_step() {
        let (directory, _) = fixture();
        let plugins = directory.path().join("plugins");
        fs::create_dir_all(plugins.join("occupied/child")).unwrap();
        // Reading a directory as the source fails after the temporary file was made.
        let error = install(directory.path(), &plugins).unwrap_err();
        assert!(
            chain(&error).contains("write the file: "),
            "{}",
            chain(&error)
        );
        assert_eq!(names(&plugins), ["occupied"]);
    }

    /// Writing to a full disk, as far as it can be had without one.
    #[test]
    fn directory_that_takes_no_file_is_reported() {
        let (_directory, source) = fixture();
        let error =
            install(&source, Path::new("/proc/self/velero-plugin-csi-fastpoll")).unwrap_err();
        assert!(
            chain(&error).contains("create a file in the directory: "),
            "{}",
            chain(&error)
        );
    }

    /// A misspelt `/plugin` for `/plugins` must not be a success.
    #[test]
    fn target_that_is_not_there_and_has_another_name_is_refused() {
        let (directory, source) = fixture();
        let error = install(&source, &directory.path().join("missing")).unwrap_err();
        assert!(
            error.to_string().contains("there is no such directory"),
            "{error}"
        );
        assert_eq!(names(directory.path()), ["source"]);
    }

    #[test]
    fn target_that_is_no_regular_file_is_left_as_it_is() {
        let (directory, source) = fixture();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&source, &link).unwrap();
        let socket = directory.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        fs::create_dir_all(directory.path().join("dir").join(FILE_NAME)).unwrap();
        for target in [link, socket, directory.path().join("dir")] {
            let error = install(&source, &target).unwrap_err();
            assert!(matches!(error, InstallError::NotAFile { .. }), "{error}");
        }
        assert_eq!(names(directory.path()), ["dir", "link", "socket", "source"]);
    }
}
