//! Files that a broker keeps for long, whose descriptors it may close while no call uses them: the `.log` files of
//! segments.
//!
//! [`KeptFileSystem`] wraps another file system. [`FileSystem::open_kept`] opens a [`KeptFile`]: a call on a closed
//! [`KeptFile`] opens the file again. A call holds the descriptor for as long as it takes, so closing never disturbs a
//! call. Every other call that finds no descriptor left closes some kept files and tries again; an interrupted call is
//! repeated.
//!
//! Invariants: a file that is opened again has the device and inode that it was closed with, else the call fails; a
//! file with unsynced bytes is open (see [`super::descriptors`]); a file whose fsync failed refuses every later write
//! and sync, whether the log or the closing thread had called fsync. A caller that renames a file calls
//! [`File::moved_to`] while it holds [`FileSystem::hold_names`].

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use rustix::io::Errno;

use super::descriptors::{Descriptors, NamesGuard, Place, replaced};
use super::file_system::{DirEntry, File, FileSystem, LockGuard, Metadata, OpenMode, Volume};
use super::map::Map;
use super::system;
use base::error::shortage::{is_out_of_descriptors, is_shortage_before_sync, not_opened, removed};

/// How often a call that finds no descriptor is repeated, each time after some kept files were closed.
const ATTEMPTS: usize = 3;

/// See the module.
#[derive(Clone)]
pub struct KeptFileSystem {
    inner: Arc<dyn FileSystem>,
    descriptors: Arc<Descriptors>,
}

struct Opened(Arc<dyn File>);

/// The result of an attempt to close a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Close {
    /// It is closed.
    Closed,
    /// It was used since the last look.
    Used,
    /// It has bytes that are not synced.
    Unsynced,
    /// It was closed already, or dropped.
    Gone,
}

/// A file that may be closed meanwhile; see the module.
pub(super) struct KeptFile {
    system: KeptFileSystem,
    this: Weak<Self>,
    path: Mutex<Box<Path>>,
    opened: ArcSwapOption<Opened>,
    /// Device and inode; known once it was closed.
    identity: (AtomicU64, AtomicU64),
    is_used: AtomicBool,
    is_retired: AtomicBool,
    has_failed: AtomicBool,
    /// One sync at a time: of concurrent syncs the system reports a failed write to one only.
    syncing: Mutex<()>,
    /// Counts the begins and ends of writes; `synced` is the count that an fsync has covered.
    written: AtomicU64,
    synced: AtomicU64,
}

fn identity(file: &dyn File) -> io::Result<(u64, u64)> {
    let mut found = Ok((0, 0));
    file.with_fd(&mut |fd| found = system::device_and_inode(fd))?;
    Ok(found?)
}

/// Repeats what a signal interrupted.
fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

impl KeptFile {
    /// Makes a kept file of an open file, in the place that was taken for it.
    fn of(system: &KeptFileSystem, path: &Path, opened: Arc<dyn File>, place: Place<'_>) -> Arc<Self> {
        let file = Arc::new_cyclic(|this| Self {
            system: system.clone(),
            this: Weak::clone(this),
            path: Mutex::new(path.into()),
            opened: ArcSwapOption::empty(),
            identity: (AtomicU64::new(0), AtomicU64::new(0)),
            is_used: AtomicBool::new(true),
            is_retired: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            syncing: Mutex::new(()),
            written: AtomicU64::new(0),
            synced: AtomicU64::new(0),
        });
        file.install(opened, place);
        file
    }

    /// Calls `run` with the open file; opens it before if need be.
    fn with<T>(&self, mut run: impl FnMut(&dyn File) -> io::Result<T>) -> io::Result<T> {
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
        let opened = self.opened.load();
        if let Some(Opened(file)) = opened.as_deref() {
            return uninterrupted(|| run(&**file));
        }
        drop(opened);
        let file = self.open_again()?;
        uninterrupted(|| run(&*file.0))
    }

    /// As [`Self::with`], for a call that changes the file. `written` goes up before the call begins and after it has
    /// ended, so that an fsync that runs beside the call does not cover it; see also [`Self::close`].
    fn change<T>(&self, run: impl FnMut(&dyn File) -> io::Result<T>) -> io::Result<T> {
        self.check_failed()?;
        self.written.fetch_add(1, Ordering::AcqRel);
        let changed = self.with(run);
        self.written.fetch_add(1, Ordering::AcqRel);
        changed
    }

    fn check_failed(&self) -> io::Result<()> {
        if self.has_failed.load(Ordering::Acquire) {
            return Err(Errno::IO.into());
        }
        Ok(())
    }

    #[cold]
    fn open_again(&self) -> io::Result<Arc<Opened>> {
        let descriptors = &self.system.descriptors;
        let place = descriptors.take_place().map_err(not_opened)?;
        let _names = descriptors.names();
        let path = self.path.lock().clone();
        if self.is_retired.load(Ordering::Acquire) {
            return Err(removed(&path));
        }
        let file = self.system.open(&path, OpenMode::ReadWrite).map_err(not_opened)?;
        let known = (&self.identity.0, &self.identity.1);
        if identity(&*file)? != (known.0.load(Ordering::Acquire), known.1.load(Ordering::Acquire)) {
            return Err(replaced(&path));
        }
        Ok(self.install(file, place))
    }

    /// Makes `file` the open file, unless another call was faster.
    fn install(&self, file: Arc<dyn File>, place: Place<'_>) -> Arc<Opened> {
        let mut opened = Arc::new(Opened(file));
        self.system.descriptors.enter(&self.this, place, || {
            if let Some(other) = self.opened.load_full() {
                opened = other;
                return false;
            }
            self.opened.store(Some(Arc::clone(&opened)));
            true
        });
        opened
    }

    /// Called under the lock of the ring, as [`Self::install`] is.
    pub(super) fn close_unless_used(&self) -> Close {
        if self.opened.load().is_none() {
            return Close::Gone;
        }
        if self.unsynced_mark().is_some() {
            return Close::Unsynced;
        }
        // A retired file cannot be opened again; it is closed when its last reader drops it.
        if self.is_used.swap(false, Ordering::Relaxed) || self.is_retired.load(Ordering::Acquire) {
            return Close::Used;
        }
        self.close()
    }

    /// Closes the file, unless a write races with it. A write that began before `opened` was cleared shows in
    /// `written`, and the file is put back; a write that begins later finds the file closed. Both change `written`, so
    /// one of them comes second and sees what the first has done.
    fn close(&self) -> Close {
        let Some(opened) = self.opened.load_full() else {
            return Close::Gone;
        };
        let Ok((device, inode)) = identity(&*opened.0) else {
            return Close::Used;
        };
        self.identity.0.store(device, Ordering::Release);
        self.identity.1.store(inode, Ordering::Release);
        self.opened.store(None);
        self.written.fetch_add(0, Ordering::AcqRel);
        if self.unsynced_mark().is_some() {
            self.opened.store(Some(opened));
            return Close::Unsynced;
        }
        Close::Closed
    }

    /// The mark to pass to [`Self::note_synced`] after a sync that begins now; `None` when all bytes are synced.
    pub(super) fn unsynced_mark(&self) -> Option<u64> {
        let written = self.written.load(Ordering::Acquire);
        (written != self.synced.load(Ordering::Acquire)).then_some(written)
    }

    pub(super) fn note_synced(&self, mark: u64) {
        self.synced.fetch_max(mark, Ordering::AcqRel);
    }

    /// Syncs a file so that it can be closed. After a failure the next write or sync of the file's log fails.
    pub(super) fn sync_for_closing(&self) {
        let _ = self.sync_data();
    }
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        if self.opened.load().is_some() {
            self.system.descriptors.release_file();
        }
    }
}

impl File for KeptFile {
    fn write_all_at(&self, buf: &[u8], position: u64) -> io::Result<()> {
        self.change(|file| file.write_all_at(buf, position))
    }

    fn read_exact_at(&self, buf: &mut [u8], position: u64) -> io::Result<()> {
        self.with(|file| file.read_exact_at(buf, position))
    }

    fn read_at(&self, buf: &mut [u8], position: u64) -> io::Result<usize> {
        self.with(|file| file.read_at(buf, position))
    }

    fn read_exact_if_cached(&self, buf: &mut [u8], position: u64) -> io::Result<bool> {
        self.with(|file| file.read_exact_if_cached(buf, position))
    }

    fn len(&self) -> io::Result<u64> {
        self.with(|file| file.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(|file| file.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        let _one_at_a_time = self.syncing.lock();
        self.check_failed()?;
        let mark = self.written.load(Ordering::Acquire);
        if self.opened.load().is_none() && mark > 0 && self.synced.load(Ordering::Acquire) == mark {
            return Ok(()); // it was synced before it was closed
        }
        let synced = self.with(|file| file.sync_data());
        match &synced {
            Ok(()) => self.note_synced(mark),
            Err(error) if is_shortage_before_sync(error) => {}
            Err(_) => self.has_failed.store(true, Ordering::Release),
        }
        synced
    }

    fn with_fd(&self, run: &mut dyn FnMut(BorrowedFd<'_>)) -> io::Result<()> {
        self.with(|file| file.with_fd(run))
    }

    fn device(&self) -> io::Result<u64> {
        match self.opened.load().as_deref() {
            Some(Opened(file)) => file.device(),
            None => Ok(self.identity.0.load(Ordering::Acquire)),
        }
    }

    fn moved_to(&self, path: &Path) {
        *self.path.lock() = path.into();
    }

    fn retire(&self) {
        self.is_retired.store(true, Ordering::Release);
    }

    fn note_unsynced(&self) {
        self.written.fetch_add(1, Ordering::AcqRel);
    }
}

impl KeptFileSystem {
    /// Wraps `inner`, within a budget of descriptors.
    pub fn new(inner: Arc<dyn FileSystem>, descriptors: Arc<Descriptors>) -> Self {
        Self { inner, descriptors }
    }

    fn attempt<T>(&self, call: impl Fn(&dyn FileSystem) -> io::Result<T>) -> io::Result<T> {
        let mut attempts = 0;
        loop {
            match uninterrupted(|| call(&*self.inner)) {
                Err(error)
                    if is_out_of_descriptors(&error) && attempts < ATTEMPTS && self.descriptors.close_some() > 0 =>
                {
                    attempts += 1;
                }
                other => return other,
            }
        }
    }
}

impl FileSystem for KeptFileSystem {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.attempt(|fs| fs.open(path, mode))
    }

    fn open_kept(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let place = self.descriptors.take_place()?;
        let opened = self.open(path, mode)?;
        Ok(KeptFile::of(self, path, opened, place))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.attempt(|fs| fs.rename(from, to))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.attempt(|fs| fs.hard_link(from, to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.attempt(|fs| fs.remove_file(path))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.attempt(|fs| fs.create_dir(path))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.attempt(|fs| fs.create_dir_all(path))
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.attempt(|fs| fs.remove_dir_all(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.attempt(|fs| fs.sync_dir(path))
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.attempt(|fs| fs.read_dir(path))
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.attempt(|fs| fs.metadata(path))
    }

    fn set_modified(&self, path: &Path, modified_ms: i64) -> io::Result<()> {
        self.attempt(|fs| fs.set_modified(path, modified_ms))
    }

    fn read_to_vec(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.attempt(|fs| fs.read_to_vec(path))
    }

    fn lock_exclusive(&self, path: &Path) -> io::Result<Box<dyn LockGuard>> {
        self.attempt(|fs| fs.lock_exclusive(path))
    }

    fn map_read(&self, file: &dyn File, len: u64) -> io::Result<Map> {
        self.attempt(|fs| fs.map_read(file, len))
    }

    /// Opens the volume twice, since each descriptor receives every failure once: one for the caller, one for the
    /// budget, which syncs files that are to be closed.
    fn open_volume(&self, dir: &Path) -> io::Result<Option<Arc<dyn Volume>>> {
        if let Some(own) = self.attempt(|fs| fs.open_volume(dir))? {
            self.descriptors.add_volume(own);
        }
        self.attempt(|fs| fs.open_volume(dir))
    }

    fn hold_names(&self) -> NamesGuard<'_> {
        self.descriptors.hold_names()
    }

    fn relieve(&self) {
        self.descriptors.relieve();
    }

    fn descriptors(&self) -> Option<&Arc<Descriptors>> {
        Some(&self.descriptors)
    }
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
