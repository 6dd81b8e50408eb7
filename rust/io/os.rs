//! The operating system's files: the real implementation of the contract.
//!
//! Partition data is private: files are made with mode 0600 and directories with 0700, whatever the umask allows.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use rustix::fs::{FlockOperation, fcntl_lock, flock};

use super::file_system::{DirEntry, File, FileSystem, LockGuard, Metadata, OpenMode};
use super::map::Map;

const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;

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

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
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
        Ok(Arc::new(OsFile(options.open(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
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
        fs::File::open(path)?.sync_all()
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                entries.push(DirEntry {
                    path: path.join(&name),
                    name,
                    is_dir: entry.file_type()?.is_dir(),
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

    fn read_to_vec(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    /// Two locks on one file: `fcntl`, which is what Java's `FileChannel.tryLock` takes, against other processes
    /// (Apache Kafka among them), and `flock`, which also stands between two openers in this process.
    fn lock_exclusive(&self, path: &Path) -> io::Result<Box<dyn LockGuard>> {
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .open(path)?;
        let busy = |errno: rustix::io::Errno| match errno {
            rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS => io::Error::from(io::ErrorKind::WouldBlock),
            other => io::Error::from(other),
        };
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(busy)?;
        fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).map_err(busy)?;
        Ok(Box::new(OsLock(file)))
    }

    fn map_read(&self, file: &dyn File, len: u64) -> io::Result<Map> {
        Map::read_only(file, len)
    }
}
