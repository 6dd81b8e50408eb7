//! The operating system's files: the real implementation of the contract.
//!
//! Partition data is private: files are made with mode 0600 and directories with 0700, whatever the umask allows.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use rustix::io::Errno;
use rustix::process::geteuid;

use super::file_system::{DirEntry, File, FileSystem, LockGuard, Metadata, OpenMode, Volume};
use super::map::Map;
use super::plain::{open_plain, read_plain};
use super::system;
use base::error::shortage::not_opened;

const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;

/// The user id of this process, which owns the files that it makes.
pub fn user_id() -> u32 {
    geteuid().as_raw()
}

/// The machine's file system.
#[derive(Debug, Default, Clone, Copy)]
pub struct OsFileSystem;

#[derive(Debug)]
struct OsFile(fs::File);

impl File for OsFile {
    fn write_all_at(&self, buf: &[u8], position: u64) -> io::Result<()> {
        self.0.write_all_at(buf, position)
    }

    fn read_exact_at(&self, buf: &mut [u8], position: u64) -> io::Result<()> {
        self.0.read_exact_at(buf, position)
    }

    fn read_at(&self, buf: &mut [u8], position: u64) -> io::Result<usize> {
        loop {
            match self.0.read_at(buf, position) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    fn read_exact_if_cached(&self, buf: &mut [u8], position: u64) -> io::Result<bool> {
        system::read_exact_if_cached(&self.0, buf, position)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        system::sync_data(&self.0)
    }

    fn with_fd(&self, run: &mut dyn FnMut(BorrowedFd<'_>)) -> io::Result<()> {
        run(self.0.as_fd());
        Ok(())
    }
}

/// Dropping it closes the file, which frees the lock.
#[derive(Debug)]
struct OsLock(#[expect(dead_code, reason = "held for its lock")] fs::File);

impl LockGuard for OsLock {}

impl FileSystem for OsFileSystem {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).mode(FILE_MODE);
        match mode {
            OpenMode::Read => &mut options,
            OpenMode::ReadWrite => options.write(true),
            OpenMode::Create => options.write(true).create(true).truncate(true),
            OpenMode::CreateNew => options.write(true).create_new(true),
        };
        Ok(Arc::new(OsFile(open_plain(&mut options, path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().mode(DIR_MODE).create(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().mode(DIR_MODE).recursive(true).create(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        system::sync_dir(&fs::File::open(path).map_err(not_opened)?)
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                let kind = entry.file_type()?;
                entries.push(DirEntry {
                    path: path.join(&name),
                    name,
                    is_dir: kind.is_dir(),
                    is_file: kind.is_file(),
                });
            }
        }
        Ok(entries)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let metadata = fs::metadata(path)?;
        let modified_ms = metadata
            .modified()?
            .duration_since(UNIX_EPOCH)
            .map_or(0, |elapsed| elapsed.as_millis() as i64);
        Ok(Metadata {
            len: metadata.len(),
            modified_ms,
            is_dir: metadata.is_dir(),
        })
    }

    fn set_modified(&self, path: &Path, modified_ms: i64) -> io::Result<()> {
        let since_epoch = Duration::from_millis(u64::try_from(modified_ms).unwrap_or(0));
        fs::File::open(path)?.set_modified(UNIX_EPOCH + since_epoch)
    }

    fn read_to_vec(&self, path: &Path) -> io::Result<Vec<u8>> {
        read_plain(path)
    }

    fn lock_exclusive(&self, path: &Path) -> io::Result<Box<dyn LockGuard>> {
        let mut options = fs::OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE);
        let file = open_plain(&mut options, path)?;
        system::lock_exclusive(&file).map_err(|errno| match errno {
            Errno::AGAIN | Errno::ACCESS => io::Error::from(io::ErrorKind::WouldBlock),
            other => io::Error::from(other),
        })?;
        Ok(Box::new(OsLock(file)))
    }

    fn map_read(&self, file: &dyn File, len: u64) -> io::Result<Map> {
        Map::read_only(file, len)
    }

    fn open_volume(&self, dir: &Path) -> io::Result<Option<Arc<dyn Volume>>> {
        system::open_volume(dir)
    }
}
