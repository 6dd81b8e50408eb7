//! How many file descriptors the process may use, and for what.
//!
//! Connections and the *kept* files of [`super::kept`] share the limit (`RLIMIT_NOFILE`) less a reserve: an unused kept
//! file is closed when its descriptor is needed. Connections get at most [`CONNECTIONS_SHARE`] of this budget, so that
//! files always have the rest; connections to a listener for brokers only get a little more. The reserve is for files
//! that are open for a moment (state files, index files, directories), for the store, the loops, and the connections
//! that this broker opens to other brokers.
//!
//! The open kept files form a ring, and a search for files to close goes round it: a file that was used since the last
//! search stays, an unused file is closed (second chance). A search checks at most [`LOOK_SLOTS`] files, since network
//! loops search too.
//!
//! A file with bytes that no fsync has covered is never closed. Linux reports a failed write to the descriptors that
//! are open, and to a descriptor opened later only while the inode is in memory: an error that came while no descriptor
//! was open may be lost, and the next fsync would succeed. When most files in the ring have unsynced bytes, the thread
//! that runs [`Descriptors::run`] syncs them, all of a volume with one call, so that they can be closed. Until then
//! opening another file is refused, which costs the client a retry. The caller does not wait, since it may hold a log's
//! lock.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Condvar, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use rustix::process::{Resource, getrlimit};

use super::file_system::Volume;
use super::kept::{Close, KeptFile};
use base::error::shortage::out_of_descriptors;

/// Connections may take (numerator, denominator) of the budget.
const CONNECTIONS_SHARE: (usize, usize) = (3, 4);
/// The share of the budget up to which connections to a listener for brokers are admitted.
const BROKERS_SHARE: (usize, usize) = (7, 8);
/// The reserve is an eighth of the limit, within these bounds, plus the descriptors that are open at the start.
const RESERVE: (usize, usize) = (48, 192);
/// The most files that one search for files to close checks.
const LOOK_SLOTS: usize = 1024;
/// Files closed at once when the system refuses a descriptor although the budget allows it.
const SOME: usize = 32;
/// From this many unsynced files on their whole volume is synced.
const TOGETHER: usize = 16;

#[derive(Default)]
struct Ring {
    /// The open files; some of them may have been dropped.
    slots: Vec<Weak<KeptFile>>,
    hand: usize,
}

/// The counts of one search over the ring.
#[derive(Default)]
struct Looked {
    slots: usize,
    closed: usize,
    used: usize,
    unsynced: usize,
}

impl Ring {
    /// Goes round the ring, over at most [`LOOK_SLOTS`] files, until `count` files are closed.
    fn look(&mut self, count: usize) -> Looked {
        let mut looked = Looked::default();
        while looked.closed < count && looked.slots < LOOK_SLOTS.min(self.slots.len()) {
            let at = self.hand % self.slots.len();
            looked.slots += 1;
            let file = self.slots.get(at).and_then(Weak::upgrade);
            match file.map_or(Close::Gone, |file| file.close_unless_used()) {
                Close::Used => looked.used += 1,
                Close::Unsynced => looked.unsynced += 1,
                outcome => {
                    looked.closed += usize::from(outcome == Close::Closed);
                    self.slots.swap_remove(at);
                    self.hand = at;
                    continue;
                }
            }
            self.hand = at + 1;
        }
        looked
    }
}

#[derive(Default)]
struct Work {
    is_wanted: bool,
    is_stopping: bool,
}

/// The budget; see the module.
pub struct Descriptors {
    limit: usize,
    total: usize,
    connections: AtomicUsize,
    files: AtomicUsize,
    ring: Mutex<Ring>,
    names: RwLock<()>,
    volumes: Mutex<Vec<Arc<dyn Volume>>>,
    work: Mutex<Work>,
    changed: Condvar,
}

/// While the guard lives, no kept file is opened again, since a rename may be changing its path.
#[must_use = "names are held as long as the guard lives"]
pub struct NamesGuard<'a>(
    #[expect(dead_code, reason = "held for its lock")] pub(super) Option<RwLockWriteGuard<'a, ()>>,
);

/// The place in the budget of one file that is about to be opened; released when dropped.
pub(super) struct Place<'a>(&'a Descriptors);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.release_file();
    }
}

impl Descriptors {
    /// A budget of `total` descriptors under a limit.
    pub fn new(limit: usize, total: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            total,
            connections: AtomicUsize::new(0),
            files: AtomicUsize::new(0),
            ring: Mutex::default(),
            names: RwLock::new(()),
            volumes: Mutex::default(),
            work: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// The budget of this process: its limit less the open descriptors and the reserve.
    pub fn of_process() -> Arc<Self> {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX >> 1);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX >> 1);
        let open = std::fs::read_dir("/dev/fd").map_or(0, Iterator::count);
        let reserve = open + (limit / 8).clamp(RESERVE.0, RESERVE.1);
        Self::new(limit, limit.saturating_sub(reserve).max(limit / 4))
    }

    /// `RLIMIT_NOFILE` as it was at the start.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The budget for connections and kept files together.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The most connections that are accepted.
    pub fn max_connections(&self) -> usize {
        self.total / CONNECTIONS_SHARE.1 * CONNECTIONS_SHARE.0
    }

    /// Connections that are counted now.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Acquire)
    }

    /// Kept files that are open now.
    pub fn files(&self) -> usize {
        self.files.load(Ordering::Acquire)
    }

    fn is_over(&self) -> bool {
        self.connections() + self.files() > self.total
    }

    // ---- connections

    /// Counts a connection before it is accepted; false when there is no descriptor for it. A listener for brokers
    /// only, which clients cannot use, admits some more connections.
    pub fn admit_connection(&self, is_from_broker: bool) -> bool {
        let most = if is_from_broker {
            self.total / BROKERS_SHARE.1 * BROKERS_SHARE.0
        } else {
            self.max_connections()
        };
        let is_within = self.connections.fetch_add(1, Ordering::AcqRel) < most;
        let is_admitted = is_within && self.make_room();
        if !is_admitted {
            self.release_connection();
        }
        is_admitted
    }

    /// Uncounts a connection that was closed or not accepted.
    pub fn release_connection(&self) {
        self.connections.fetch_sub(1, Ordering::AcqRel);
    }

    // ---- kept files

    /// Takes a place for one more open file, and closes another file if need be.
    pub(super) fn take_place(&self) -> io::Result<Place<'_>> {
        self.files.fetch_add(1, Ordering::AcqRel);
        let place = Place(self);
        if self.make_room() {
            Ok(place)
        } else {
            Err(out_of_descriptors())
        }
    }

    pub(super) fn release_file(&self) {
        self.files.fetch_sub(1, Ordering::AcqRel);
    }

    /// Puts a file into the ring if `open` returns true: it has opened the file, which then owns the place.
    pub(super) fn enter(&self, file: &Weak<KeptFile>, place: Place<'_>, open: impl FnOnce() -> bool) {
        let mut ring = self.ring.lock();
        if open() {
            std::mem::forget(place);
            if ring.slots.len() > 2 * self.files() + TOGETHER {
                ring.slots.retain(|slot| slot.strong_count() > 0);
                ring.hand = 0;
            }
            ring.slots.push(Weak::clone(file));
        }
    }

    fn make_room(&self) -> bool {
        while self.is_over() {
            if self.close_idle(1) == 0 {
                return false;
            }
        }
        true
    }

    /// Closes up to `count` files, first the files that were not used lately; returns how many it closed.
    pub fn close_idle(&self, count: usize) -> usize {
        let mut ring = self.ring.lock();
        let begin = ring.hand;
        let mut looked = ring.look(count);
        if looked.closed == 0 && looked.used > 0 {
            ring.hand = begin; // all were used since the last look, which they are not any more
            looked = ring.look(1);
        }
        self.files.fetch_sub(looked.closed, Ordering::AcqRel);
        drop(ring);
        if looked.closed < count || 2 * looked.unsynced > looked.slots {
            self.want_sync();
        }
        looked.closed
    }

    /// Closes some files because the system has no descriptor left; returns how many.
    pub(super) fn close_some(&self) -> usize {
        self.close_idle(SOME)
    }

    // ---- names

    pub(super) fn hold_names(&self) -> NamesGuard<'_> {
        NamesGuard(Some(self.names.write()))
    }

    pub(super) fn names(&self) -> RwLockReadGuard<'_, ()> {
        self.names.read()
    }

    // ---- unsynced files

    /// Adds a volume whose files are synced together. It must have been opened before the files were written.
    pub(super) fn add_volume(&self, volume: Arc<dyn Volume>) {
        self.volumes.lock().push(volume);
    }

    fn want_sync(&self) {
        let mut work = self.work.lock();
        work.is_wanted = true;
        self.changed.notify_one();
    }

    /// Syncs files whenever too many of them are unsynced to be closed; until [`Self::stop`].
    pub fn run(&self) {
        loop {
            {
                let mut work = self.work.lock();
                while !work.is_wanted && !work.is_stopping {
                    self.changed.wait(&mut work);
                }
                if work.is_stopping {
                    return;
                }
                work.is_wanted = false;
            }
            if 2 * (self.connections() + self.files()) > self.total {
                self.sync_open_files();
            }
        }
    }

    /// Ends [`Self::run`].
    pub fn stop(&self) {
        self.work.lock().is_stopping = true;
        self.changed.notify_one();
    }

    /// Syncs every open file that has unsynced bytes. A failure stays with the file: the next write or flush of its log
    /// fails.
    pub fn sync_open_files(&self) {
        let mut unsynced: Vec<(Arc<KeptFile>, u64)> = Vec::new();
        for slot in &self.ring.lock().slots {
            if let Some((file, mark)) = slot
                .upgrade()
                .and_then(|file| Some((Arc::clone(&file), file.unsynced_mark()?)))
            {
                unsynced.push((file, mark));
            }
        }
        if unsynced.len() >= TOGETHER {
            let volumes = self.volumes.lock().clone();
            let mut done = HashSet::new();
            for volume in volumes {
                let is_on = |at: &usize| unsynced.get(*at).is_some_and(|(file, _)| volume.holds(&**file));
                let on_it: Vec<usize> = (0..unsynced.len())
                    .filter(|at| !done.contains(at))
                    .filter(is_on)
                    .collect();
                if on_it.len() >= TOGETHER && volume.sync().is_ok() {
                    done.extend(on_it);
                }
            }
            for (at, (file, mark)) in unsynced.iter().enumerate() {
                if done.contains(&at) {
                    file.note_synced(*mark);
                } else {
                    file.sync_for_closing();
                }
            }
        } else {
            for (file, _) in &unsynced {
                file.sync_for_closing();
            }
        }
    }

    /// Frees descriptors, for a caller that may wait for the disk.
    pub(super) fn relieve(&self) {
        self.sync_open_files();
        self.close_some();
    }
}

/// The error for a path that names another file than the one that was closed.
pub(super) fn replaced(path: &Path) -> io::Error {
    io::Error::other(format!(
        "{} is not the file that was there before: it was replaced while the broker ran",
        path.display()
    ))
}

#[cfg(test)]
#[path = "descriptors_tests.rs"]
mod tests;
