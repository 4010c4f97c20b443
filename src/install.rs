//! `install TARGET`: the own executable, copied so that Velero never sees half of it (T12, F84).
//!
//! A new file beside the target is written, synchronized, made executable and renamed over it.
//! A plugin that runs from the old file goes on with it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

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
    #[error("install to {}: the directory {} is not there", target.display(), directory.display())]
    NoDirectory {
        /// As asked.
        target: PathBuf,
        /// What is missing.
        directory: PathBuf,
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
/// The directory is missing or read-only, the disk is full, …
pub fn install(source: &Path, target: &Path) -> Result<PathBuf, InstallError> {
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
    let mut to = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished.0)
        .map_err(step("create a file in the directory"))?;
    io::copy(&mut from, &mut to).map_err(step("write the file"))?;
    to.set_permissions(Permissions::from_mode(MODE))
        .map_err(step("make the file executable"))?;
    to.sync_all().map_err(step("write the file to disk"))?;
    drop(to);
    fs::rename(&unfinished.0, &file).map_err(step("put the file in its place"))?;
    File::open(&directory)
        .and_then(|directory| directory.sync_all())
        .map_err(step("write the directory to disk"))?;
    Ok(file)
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
            assert!(error.to_string().contains("is not there"), "{error}");
        }
    }

    #[test]
    fn failure_leaves_nothing_behind_and_names_the_step() {
        let (directory, _) = fixture();
        let plugins = directory.path().join("plugins");
        fs::create_dir_all(plugins.join("occupied/child")).unwrap();
        // Reading a directory as the source fails after the temporary file was made.
        let error = install(directory.path(), &plugins.join("file")).unwrap_err();
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
        let error = install(&source, Path::new("/proc/self/x")).unwrap_err();
        assert!(
            chain(&error).contains("create a file in the directory: "),
            "{}",
            chain(&error)
        );
    }
}
