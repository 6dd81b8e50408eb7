//! Hard links that keep the segments of a scan on disk while its readers need them.
//!
//! ```text
//! <link dir>/kafkastore-scan-<id>/<topic>-<partition>/<base offset, 20 digits>.log
//! ```
//! One folder for each plan, within a folder that the maker of the plan removes when its readers have ended. It is
//! never within a log directory: a broker refuses to start on unknown folders. A link costs no bytes until the broker
//! deletes the segment.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Result, ScanError};
use ::io::FileSystem;
use base::place::Offset;
use storage::format::{LOG_SUFFIX, META_PROPERTIES, file_name};
use storage::{TopicPartition, Uuid};

/// Prefix of the name of every folder of links.
const FOLDER_PREFIX: &str = "kafkastore-scan-";

/// The folder of one plan; removed when it is dropped before [`Links::keep`].
pub(super) struct Links {
    file_system: Arc<dyn FileSystem>,
    link_dir: PathBuf,
    folder: PathBuf,
    is_kept: bool,
}

impl Links {
    /// Makes a folder below `link_dir`, which must lie outside of every log directory and is made when missing.
    pub fn create(file_system: &Arc<dyn FileSystem>, link_dir: &Path, log_dirs: &[PathBuf]) -> Result<Self> {
        let failed = |error: io::Error| {
            ScanError::Invalid(format!(
                "link_dir: {} cannot be used: {error}; name a directory that can be written",
                link_dir.display()
            ))
        };
        fs::create_dir_all(link_dir).map_err(failed)?;
        refuse_log_dir(&fs::canonicalize(link_dir).map_err(failed)?, link_dir, log_dirs)?;
        let id = u128::from_be_bytes(Uuid::random().0);
        let folder = link_dir.join(format!("{FOLDER_PREFIX}{id:032x}"));
        fs::create_dir(&folder).map_err(failed)?;
        Ok(Self {
            file_system: Arc::clone(file_system),
            link_dir: link_dir.to_path_buf(),
            folder,
            is_kept: false,
        })
    }

    /// Links a segment; `NotFound` when it is gone. A link of the same name, from an earlier attempt, is replaced.
    pub fn link(&self, partition: &TopicPartition, base_offset: Offset, path: &Path) -> Result<PathBuf> {
        let dir = self.folder.join(partition.to_string());
        let link = dir.join(file_name(base_offset, LOG_SUFFIX));
        let made = match self.file_system.hard_link(path, &link) {
            Err(error) if error.kind() == ErrorKind::NotFound && !dir.exists() => {
                fs::create_dir(&dir).and_then(|()| self.file_system.hard_link(path, &link))
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                fs::remove_file(&link).and_then(|()| self.file_system.hard_link(path, &link))
            }
            made => made,
        };
        match made {
            Ok(()) => Ok(link),
            Err(source) if source.kind() == ErrorKind::NotFound => Err(ScanError::Io {
                op: "link",
                path: path.to_path_buf(),
                source,
            }),
            Err(error) => Err(self.refused(path, &error)),
        }
    }

    fn refused(&self, path: &Path, error: &io::Error) -> ScanError {
        let other = "name a directory on the same file system, or none";
        let (reason, advice) = match error.kind() {
            ErrorKind::CrossesDevices => ("it is on another file system".to_owned(), other),
            ErrorKind::PermissionDenied => (
                "its file system has no hard links, or the system refuses them to files of another owner \
                 (fs.protected_hardlinks)"
                    .to_owned(),
                "run as their owner, or name no directory",
            ),
            _ => (error.to_string(), other),
        };
        ScanError::Invalid(format!(
            "link_dir: {} cannot hold a link to {}: {reason}; {advice}",
            self.link_dir.display(),
            path.display()
        ))
    }

    /// Leaves the folder of a finished plan to the caller, who removes it with `link_dir`.
    pub fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// `real` is `link_dir` without symbolic links.
fn refuse_log_dir(real: &Path, link_dir: &Path, log_dirs: &[PathBuf]) -> Result<()> {
    let named = log_dirs.iter().filter_map(|dir| fs::canonicalize(dir).ok());
    let within = named.into_iter().find(|dir| real.starts_with(dir)).or_else(|| {
        let found = real.ancestors().find(|dir| dir.join(META_PROPERTIES).exists());
        found.map(Path::to_path_buf)
    });
    match within {
        Some(log_dir) => Err(ScanError::Invalid(format!(
            "link_dir: {} lies in the log directory {}, where a broker refuses to start on it; name a directory beside \
             it",
            link_dir.display(),
            log_dir.display()
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
