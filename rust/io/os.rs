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

use rustix::fs::{FlockOperation, fcntl_lock, flock, fstat, syncfs};
use rustix::io::{Errno, ReadWriteFlags};
use rustix::process::geteuid;

use super::file_system::{DirEntry, File, FileSystem, LockGuard, Metadata, OpenMode, Volume};
use super::map::Map;
use super::plain::{open_plain, read_plain};
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
        let wanted = buf.len();
        let read = {
            let mut slices = [io::IoSliceMut::new(buf)];
            rustix::io::preadv2(&self.0, &mut slices, position, ReadWriteFlags::NOWAIT)
        };
        match read {
            Ok(read) => Ok(read == wanted),
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.0.read_exact_at(buf, position).map(|()| true),
            Err(errno) => Err(errno.into()),
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

    fn with_fd(&self, run: &mut dyn FnMut(BorrowedFd<'_>)) -> io::Result<()> {
        run(self.0.as_fd());
        Ok(())
    }
}

/// The first Linux version whose `syncfs` reports failed writes.
const TELLING_LINUX: (u32, u32) = (5, 8);

#[derive(Debug)]
struct OsVolume {
    dir: fs::File,
    device: u64,
}

impl Volume for OsVolume {
    fn sync(&self) -> io::Result<()> {
        Ok(syncfs(&self.dir)?)
    }

    fn holds(&self, file: &dyn File) -> bool {
        file.device().is_ok_and(|device| device == self.device)
    }
}

/// Major and minor version in a kernel's release text.
pub(super) fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
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
        fs::File::open(path).map_err(not_opened)?.sync_all()
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

    /// Two locks on one file: `fcntl`, which is what Java's `FileChannel.tryLock` takes, against other processes
    /// (Apache Kafka among them), and `flock`, which also stands between two openers in this process.
    fn lock_exclusive(&self, path: &Path) -> io::Result<Box<dyn LockGuard>> {
        let mut options = fs::OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE);
        let file = open_plain(&mut options, path)?;
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

    fn open_volume(&self, dir: &Path) -> io::Result<Option<Arc<dyn Volume>>> {
        let uname = rustix::system::uname();
        let version = uname.release().to_str().ok().and_then(kernel_version);
        let is_telling = cfg!(target_os = "linux") && version.is_some_and(|version| version >= TELLING_LINUX);
        if !is_telling {
            return Ok(None);
        }
        let dir = fs::File::open(dir)?;
        let device = fstat(&dir)?.st_dev;
        Ok(Some(Arc::new(OsVolume { dir, device })))
    }
}
