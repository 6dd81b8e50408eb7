//! A file system that fails where a test says: the fail points of docs/internals/fail-points.md.
//!
//! Every call is counted under a label `<operation>:<file kind>`: `write:.log`, `sync:.log`, `rename:.log.deleted`,
//! `open:leader-epoch-checkpoint`, `sync_dir:dir`. A first run of a workload yields the labels and their counts; then
//! each (label, n) is armed in turn. After a [`Fault::Crash`] every call fails, as if the process had died;
//! [`FaultFileSystem::lose_unsynced`] then cuts each file back to what was synced, as if the power had gone too.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::file_system::{DirEntry, File, FileSystem, LockGuard, Metadata, OpenMode, Volume};
use super::map::Map;

/// What happens at the armed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call does nothing and fails with EIO.
    InputOutput,
    /// The call does nothing and fails with ENOSPC.
    NoSpace,
    /// The call does nothing and fails with EPERM.
    NotPermitted,
    /// The call does nothing and fails with EMFILE.
    NoDescriptor,
    /// The call does nothing and fails with ENOMEM.
    NoMemory,
    /// The call does nothing and fails with EINTR.
    Interrupted,
    /// A write writes half of its bytes, then fails with ENOSPC; any other call is as `NoSpace`.
    ShortWrite,
    /// A write writes half of its bytes; then this and every later call fails.
    Crash,
}

#[derive(Debug, Default)]
struct State {
    counts: BTreeMap<String, u64>,
    armed: Option<(String, u64, Fault)>,
    fired: bool,
    crashed: bool,
    /// Path of each file opened for writing → length that was durable at the last sync.
    durable: BTreeMap<PathBuf, u64>,
    /// Renames, which open files follow.
    moved: Vec<(PathBuf, PathBuf)>,
}

/// Wraps another file system; see the module.
#[derive(Clone)]
pub struct FaultFileSystem {
    inner: Arc<dyn FileSystem>,
    state: Arc<Mutex<State>>,
    meanwhile: Arc<Mutex<Option<(String, Meanwhile)>>>,
}

/// An action that runs in the place of another thread.
type Meanwhile = Box<dyn FnOnce() + Send>;

/// Whether a call passes.
enum Verdict {
    Pass,
    /// A write writes half of its bytes, then fails; any other call just fails.
    Half(io::Error),
    Fail(io::Error),
}

const EPERM: i32 = 1;
const EINTR: i32 = 4;
const EIO: i32 = 5;
const ENOMEM: i32 = 12;
const EMFILE: i32 = 24;
const ENOSPC: i32 = 28;

fn crash_error() -> io::Error {
    io::Error::other("the process has crashed (fault injection)")
}

impl State {
    /// The present path of a file that was opened as `path` after `seen` renames.
    fn where_now(&self, path: &Path, seen: usize) -> PathBuf {
        let mut now = path.to_path_buf();
        for (from, to) in self.moved.iter().skip(seen) {
            if let Ok(rest) = now.strip_prefix(from) {
                now = to.join(rest);
            }
        }
        now
    }

    fn note_rename(&mut self, from: &Path, to: &Path) {
        let within = self.durable.keys().filter(|path| path.starts_with(from));
        for path in within.cloned().collect::<Vec<_>>() {
            if let (Ok(rest), Some(durable)) = (path.strip_prefix(from), self.durable.remove(&path)) {
                let renamed = if rest.as_os_str().is_empty() {
                    to.to_path_buf()
                } else {
                    to.join(rest)
                };
                self.durable.insert(renamed, durable);
            }
        }
    }

    fn gate(&mut self, label: &str) -> Verdict {
        if self.crashed {
            return Verdict::Fail(crash_error());
        }
        let count = self.counts.entry(label.to_owned()).or_insert(0);
        *count += 1;
        match &self.armed {
            Some((armed, nth, fault)) if armed == label && *nth == *count => {
                self.fired = true;
                match fault {
                    Fault::InputOutput => Verdict::Fail(io::Error::from_raw_os_error(EIO)),
                    Fault::NotPermitted => Verdict::Fail(io::Error::from_raw_os_error(EPERM)),
                    Fault::NoDescriptor => Verdict::Fail(io::Error::from_raw_os_error(EMFILE)),
                    Fault::NoMemory => Verdict::Fail(io::Error::from_raw_os_error(ENOMEM)),
                    Fault::Interrupted => Verdict::Fail(io::Error::from_raw_os_error(EINTR)),
                    Fault::NoSpace => Verdict::Fail(io::Error::from_raw_os_error(ENOSPC)),
                    Fault::ShortWrite => Verdict::Half(io::Error::from_raw_os_error(ENOSPC)),
                    Fault::Crash => {
                        self.crashed = true;
                        Verdict::Half(crash_error())
                    }
                }
            }
            _ => Verdict::Pass,
        }
    }
}

/// `00000000000000000042.log.deleted` → `.log.deleted`; other names stand for themselves.
fn kind_of(path: &Path) -> String {
    let name = path
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    match name.find('.') {
        Some(dot) if dot > 0 && name.starts_with(|first: char| first.is_ascii_digit()) => name[dot..].to_owned(),
        _ => name,
    }
}

impl FaultFileSystem {
    /// Wraps `inner`; nothing is armed.
    pub fn new(inner: Arc<dyn FileSystem>) -> Self {
        Self {
            inner,
            state: Arc::default(),
            meanwhile: Arc::default(),
        }
    }

    /// The `nth` (from 1) call from now on with this label gets the fault; counts start again.
    pub fn arm(&self, label: &str, nth: u64, fault: Fault) {
        let mut state = self.state.lock();
        state.counts.clear();
        state.fired = false;
        state.armed = Some((label.to_owned(), nth, fault));
    }

    /// Calls `run` before the next call with this label.
    pub fn before_next(&self, label: &str, run: impl FnOnce() + Send + 'static) {
        *self.meanwhile.lock() = Some((label.to_owned(), Box::new(run)));
    }

    /// Takes the fault away; a crash stays.
    pub fn disarm(&self) {
        self.state.lock().armed = None;
    }

    /// Whether the armed fault has happened.
    pub fn has_fired(&self) -> bool {
        self.state.lock().fired
    }

    /// Whether a crash has happened.
    pub fn has_crashed(&self) -> bool {
        self.state.lock().crashed
    }

    /// Calls seen, by label.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.state.lock().counts.clone()
    }

    /// Cuts every written file back to its last synced length, as a power loss does. Use after the files are dropped;
    /// the test then opens the wrapped file system.
    pub fn lose_unsynced(&self) -> io::Result<()> {
        for (path, durable) in &self.state.lock().durable {
            if self.inner.metadata(path).is_ok_and(|metadata| metadata.len > *durable) {
                self.inner.open(path, OpenMode::ReadWrite)?.set_len(*durable)?;
            }
        }
        Ok(())
    }

    fn pass(&self, op: &str, path: &Path) -> io::Result<()> {
        self.pass_label(&format!("{op}:{}", kind_of(path)))
    }

    fn pass_dir(&self, op: &str) -> io::Result<()> {
        self.pass_label(&format!("{op}:dir"))
    }

    fn pass_label(&self, label: &str) -> io::Result<()> {
        let meanwhile = self.meanwhile.lock().take_if(|(before, _)| before == label);
        if let Some((_, run)) = meanwhile {
            run();
        }
        match self.state.lock().gate(label) {
            Verdict::Pass => Ok(()),
            Verdict::Half(error) | Verdict::Fail(error) => Err(error),
        }
    }
}

struct FaultVolume {
    inner: Arc<dyn Volume>,
    system: FaultFileSystem,
}

impl Volume for FaultVolume {
    fn sync(&self) -> io::Result<()> {
        self.system.pass_label("sync:volume")?;
        self.inner.sync()?;
        for (path, durable) in &mut self.system.state.lock().durable {
            *durable = self.system.inner.metadata_len(path).unwrap_or(*durable);
        }
        Ok(())
    }

    fn holds(&self, file: &dyn File) -> bool {
        self.inner.holds(file)
    }
}

struct FaultFile {
    inner: Arc<dyn File>,
    system: FaultFileSystem,
    path: PathBuf,
    /// The number of renames before the file was opened.
    seen: usize,
}

impl FaultFile {
    fn note_durable(&self, change: impl FnOnce(u64) -> u64) {
        let mut state = self.system.state.lock();
        let path = state.where_now(&self.path, self.seen);
        if let Some(durable) = state.durable.get_mut(&path) {
            *durable = change(*durable);
        }
    }
}

impl File for FaultFile {
    fn write_all_at(&self, buf: &[u8], position: u64) -> io::Result<()> {
        let verdict = self.system.state.lock().gate(&format!("write:{}", kind_of(&self.path)));
        match verdict {
            Verdict::Pass => self.inner.write_all_at(buf, position),
            Verdict::Half(error) => {
                self.inner.write_all_at(&buf[..buf.len() / 2], position)?;
                Err(error)
            }
            Verdict::Fail(error) => Err(error),
        }
    }

    fn read_exact_at(&self, buf: &mut [u8], position: u64) -> io::Result<()> {
        self.system.pass("read", &self.path)?;
        self.inner.read_exact_at(buf, position)
    }

    fn read_at(&self, buf: &mut [u8], position: u64) -> io::Result<usize> {
        self.system.pass("read", &self.path)?;
        self.inner.read_at(buf, position)
    }

    fn read_exact_if_cached(&self, buf: &mut [u8], position: u64) -> io::Result<bool> {
        self.system.pass("read", &self.path)?;
        self.inner.read_exact_if_cached(buf, position)
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.system.pass("set_len", &self.path)?;
        self.inner.set_len(len)?;
        self.note_durable(|durable| durable.min(len));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.system.pass("sync", &self.path)?;
        let len = self.inner.len()?;
        self.inner.sync_data()?;
        self.note_durable(|_| len);
        Ok(())
    }

    fn with_fd(&self, run: &mut dyn FnMut(BorrowedFd<'_>)) -> io::Result<()> {
        self.inner.with_fd(run)
    }
}

impl FileSystem for FaultFileSystem {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.pass("open", path)?;
        let inner = self.inner.open(path, mode)?;
        if mode != OpenMode::Read {
            let len = inner.len()?;
            let mut state = self.state.lock();
            let durable = state.durable.entry(path.to_path_buf()).or_insert(len);
            *durable = (*durable).min(len);
        }
        Ok(Arc::new(FaultFile {
            inner,
            system: self.clone(),
            path: path.to_path_buf(),
            seen: self.state.lock().moved.len(),
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let is_dir = self.inner.metadata(from).is_ok_and(|metadata| metadata.is_dir);
        if is_dir {
            self.pass_dir("rename")?;
        } else {
            self.pass("rename", to)?;
        }
        self.inner.rename(from, to)?;
        let mut state = self.state.lock();
        state.note_rename(from, to);
        state.moved.push((from.to_path_buf(), to.to_path_buf()));
        Ok(())
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.pass("link", to)?;
        self.inner.hard_link(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.pass("remove", path)?;
        self.state.lock().durable.remove(path);
        self.inner.remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.pass_dir("create")?;
        self.inner.create_dir(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.pass_dir("create")?;
        self.inner.create_dir_all(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.pass_dir("remove")?;
        self.inner.remove_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.pass_dir("sync")?;
        self.inner.sync_dir(path)
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.pass_dir("read")?;
        self.inner.read_dir(path)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.inner.metadata(path)
    }

    fn set_modified(&self, path: &Path, modified_ms: i64) -> io::Result<()> {
        self.pass("utime", path)?;
        self.inner.set_modified(path, modified_ms)
    }

    fn read_to_vec(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.pass("read", path)?;
        self.inner.read_to_vec(path)
    }

    fn lock_exclusive(&self, path: &Path) -> io::Result<Box<dyn LockGuard>> {
        self.pass("lock", path)?;
        self.inner.lock_exclusive(path)
    }

    fn map_read(&self, file: &dyn File, len: u64) -> io::Result<Map> {
        self.pass_label("map")?;
        self.inner.map_read(file, len)
    }

    fn open_volume(&self, dir: &Path) -> io::Result<Option<Arc<dyn Volume>>> {
        self.pass_label("open:volume")?;
        let system = self.clone();
        let volume = self.inner.open_volume(dir)?;
        Ok(volume.map(|inner| Arc::new(FaultVolume { inner, system }) as Arc<dyn Volume>))
    }
}
