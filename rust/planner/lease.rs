//! The folder of hard links that keeps what a query reads on disk until its last task is done, whatever retention does.
//!
//! ```text
//! <linkDir>/kafkastore-lease-<id>/    a lease: one query
//!     done-<share>                    left by each task at its end; the task that ends last removes the lease
//!     ...                             the links, made when the read is planned
//! ```
//!
//! A lease whose tasks did not all end (a `limit`, a killed job) is removed by age at the next planning with the same
//! folder. Links live on the file system of the log directories but outside of them: inside, the broker would take them
//! for strays. This module touches only files that it made.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::{PlanError, Result};
use storage::Uuid;

const PREFIX: &str = "kafkastore-lease-";
/// A lease is removed this long after a task of its query last ended; no single task should take a day.
pub(super) const MAX_AGE: Duration = Duration::from_hours(24);

/// One share's part in a lease: number `share` of `shares`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareLease {
    /// The folder of links.
    pub folder: PathBuf,
    /// The number of the share, from 0.
    pub share: usize,
    /// How many shares there are.
    pub shares: usize,
}

impl ShareLease {
    /// Marks the share as read; when all shares are, removes the folder. Harmless when it is called twice, or when the
    /// folder is gone.
    pub fn finish(&self) {
        let done = |share: usize| self.folder.join(format!("done-{share}"));
        let is_ours = self.folder.file_name().is_some_and(is_name_of_lease);
        if !is_ours || fs::File::create(done(self.share)).is_err() {
            return;
        }
        if (0..self.shares).all(|share| done(share).exists()) {
            release(&self.folder);
        }
    }
}

fn is_name_of_lease(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().starts_with(PREFIX)
}

/// Makes a lease's folder below `link_dir`, and that folder too, and removes old leases.
pub fn take(link_dir: &str, log_dirs: &[PathBuf]) -> Result<PathBuf> {
    let base = resolved(Path::new(link_dir));
    if let Some(log_dir) = log_dirs.iter().find(|dir| base.starts_with(resolved(dir))) {
        return Err(PlanError::Invalid(format!(
            "linkDir: {link_dir} is inside the log directory {}; name a folder beside it",
            log_dir.display()
        )));
    }
    let id = u128::from_be_bytes(Uuid::random().0);
    let folder = base.join(format!("{PREFIX}{id:032x}"));
    let made = sweep(&base, MAX_AGE).and_then(|()| fs::create_dir_all(&folder));
    made.map_err(|error| {
        let text = error.to_string();
        let reason = text.split(" (os error").next().unwrap_or_default();
        PlanError::Invalid(format!(
            "linkDir: {link_dir} cannot be written ({reason}); name another folder"
        ))
    })?;
    Ok(folder)
}

/// Removes a lease; a task that reads through it can go on with the files that it has open.
pub fn release(folder: &Path) {
    // A folder that cannot be removed now is removed by age.
    let _ = fs::remove_dir_all(folder);
}

/// Removes leases in which no task has ended for `max_age`.
fn sweep(base: &Path, max_age: Duration) -> io::Result<()> {
    let entries = match fs::read_dir(base) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if !is_name_of_lease(&entry.file_name()) {
            continue;
        }
        // A lease that another planning removes meanwhile is gone as it should be.
        let modified = entry.metadata().and_then(|it| it.modified());
        let age = modified.map(|it| SystemTime::now().duration_since(it).unwrap_or_default());
        if age.is_ok_and(|age| age > max_age) {
            release(&entry.path());
        }
    }
    Ok(())
}

/// The path from the root without symbolic links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut found = PathBuf::new();
    for component in whole.components() {
        match component {
            Component::ParentDir => {
                found.pop();
            }
            Component::CurDir => {}
            other => {
                found.push(other);
                if let Ok(real) = fs::canonicalize(&found) {
                    found = real;
                }
            }
        }
    }
    found
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
