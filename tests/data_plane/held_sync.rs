//! A file system whose `.log` files do not finish a sync before the test lets them, are not in memory, or panic when
//! they are written.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};

use ::io::{DirEntry, File, FileSystem, LockGuard, Map, Metadata, OpenMode, OsFileSystem, Volume};

#[derive(Default)]
struct State {
    is_held: bool,
    /// Syncs that have begun.
    begun: usize,
    /// Nothing is in memory, and a read waits.
    is_cold: bool,
    /// Reads that have waited.
    reads: usize,
    /// Whether writes and syncs panic.
    has_bug: bool,
}

#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

/// Holds syncs; dropped, it lets them go.
pub struct Hold(Arc<Gate>);

impl Hold {
    /// Syncs that have begun so far.
    pub fn begun(&self) -> usize {
        self.0.state.lock().unwrap().begun
    }

    /// Reads that wait or have waited.
    pub fn reads(&self) -> usize {
        self.0.state.lock().unwrap().reads
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap();
        (state.is_held, state.is_cold) = (false, false);
        drop(state);
        self.0.changed.notify_all();
    }
}

#[derive(Clone, Default)]
pub struct HeldSync(Arc<Gate>);

impl HeldSync {
    pub fn hold(&self) -> Hold {
        let mut state = self.0.state.lock().unwrap();
        state.is_held = true;
        state.begun = 0;
        Hold(Arc::clone(&self.0))
    }

    /// Nothing is in memory, and reads wait until the hold is dropped.
    pub fn cool_down(&self) -> Hold {
        let mut state = self.0.state.lock().unwrap();
        (state.is_cold, state.reads) = (true, 0);
        Hold(Arc::clone(&self.0))
    }

    /// From now on a write or a sync panics, as a bug of ours would.
    pub fn break_down(&self) {
        self.0.state.lock().unwrap().has_bug = true;
    }

    /// Syncs that have begun since the last [`HeldSync::hold`].
    pub fn begun(&self) -> usize {
        self.0.state.lock().unwrap().begun
    }
}

struct HeldFile {
    inner: Arc<dyn File>,
    gate: Option<Arc<Gate>>,
}

impl HeldFile {
    fn meet_bug(&self) {
        let has_bug = |gate: &Arc<Gate>| gate.state.lock().unwrap().has_bug;
        assert!(!self.gate.as_ref().is_some_and(has_bug), "a bug of ours");
    }

    fn wait_for_disk(&self) {
        if let Some(gate) = &self.gate {
            let mut state = gate.state.lock().unwrap();
            if state.is_cold {
                state.reads += 1;
                drop(gate.changed.wait_while(state, |s| s.is_cold).unwrap());
            }
        }
    }
}

impl File for HeldFile {
    fn write_all_at(&self, buf: &[u8], position: u64) -> io::Result<()> {
        self.meet_bug();
        self.inner.write_all_at(buf, position)
    }
    fn read_exact_at(&self, buf: &mut [u8], position: u64) -> io::Result<()> {
        self.wait_for_disk();
        self.inner.read_exact_at(buf, position)
    }
    fn read_exact_if_cached(&self, buf: &mut [u8], position: u64) -> io::Result<bool> {
        if self
            .gate
            .as_ref()
            .is_some_and(|gate| gate.state.lock().unwrap().is_cold)
        {
            return Ok(false);
        }
        self.inner.read_exact_if_cached(buf, position)
    }
    fn read_at(&self, buf: &mut [u8], position: u64) -> io::Result<usize> {
        self.wait_for_disk();
        self.inner.read_at(buf, position)
    }
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.meet_bug();
        if let Some(gate) = &self.gate {
            let mut state = gate.state.lock().unwrap();
            state.begun += 1;
            drop(gate.changed.wait_while(state, |s| s.is_held).unwrap());
        }
        self.inner.sync_data()
    }
    fn with_fd(&self, run: &mut dyn FnMut(BorrowedFd<'_>)) -> io::Result<()> {
        self.inner.with_fd(run)
    }
}

impl FileSystem for HeldSync {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let is_log = path.extension().is_some_and(|e| e == "log");
        Ok(Arc::new(HeldFile {
            inner: OsFileSystem.open(path, mode)?,
            gate: is_log.then(|| Arc::clone(&self.0)),
        }))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        OsFileSystem.rename(from, to)
    }
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        OsFileSystem.hard_link(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        OsFileSystem.remove_file(path)
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        OsFileSystem.create_dir(path)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        OsFileSystem.create_dir_all(path)
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        OsFileSystem.remove_dir_all(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        OsFileSystem.sync_dir(path)
    }
    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        OsFileSystem.read_dir(path)
    }
    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        OsFileSystem.metadata(path)
    }
    fn set_modified(&self, path: &Path, modified_ms: i64) -> io::Result<()> {
        OsFileSystem.set_modified(path, modified_ms)
    }
    fn read_to_vec(&self, path: &Path) -> io::Result<Vec<u8>> {
        OsFileSystem.read_to_vec(path)
    }
    fn lock_exclusive(&self, path: &Path) -> io::Result<Box<dyn LockGuard>> {
        OsFileSystem.lock_exclusive(path)
    }
    fn open_volume(&self, dir: &Path) -> io::Result<Option<Arc<dyn Volume>>> {
        OsFileSystem.open_volume(dir)
    }
    fn map_read(&self, file: &dyn File, len: u64) -> io::Result<Map> {
        OsFileSystem.map_read(file, len)
    }
}
