//! A file of fixed-size entries that ascend.
//!
//! While its segment is *active*, all entries are in memory and [`EntryFile::write_pending`] appends the new entries to
//! the file. Once *sealed*, the entries are read from the file at the first use (mapped when large). The file itself is
//! made only when an entry is written or [`EntryFile::write_whole`] is called, so that a new log costs no call here.
//! The file is open only while it is written or read, so that thousands of partitions cost no descriptors.
//!
//! Durability: none until the owner syncs the file. One writer; lookups may run beside each other.
//! Never writes through a map: a full disk would be SIGBUS instead of an error.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ::io::{FileSystem, Map, OpenMode};
use base::error::shortage::is_shortage;
use base::error::{Error, Result};

/// Sealed files up to this many bytes are read into memory; larger ones are mapped (a map costs two pages at least,
/// and a process may have only 65,530 of them).
const READ_LIMIT_BYTES: u64 = 16 * 1024;

/// Bytes of a page, where pages are small.
const SMALLEST_PAGE: usize = 4096;

enum Body {
    Active(Vec<u8>),
    Sealed(OnceLock<Loaded>),
}

enum Loaded {
    Read(Vec<u8>),
    Mapped(Map, usize),
    Missing,
}

impl Loaded {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Mapped(map, len) => map.get(..*len).unwrap_or_default(),
            Self::Missing => &[],
        }
    }
}

/// The result of [`EntryFile::peek`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peek<const N: usize> {
    /// No file.
    Missing,
    /// A file without bytes.
    Empty,
    /// The file's length is no multiple of an entry's length.
    Partial,
    /// Both ends of the file.
    Ends {
        /// The first entry.
        first: [u8; N],
        /// The last entry.
        last: [u8; N],
        /// Entries in the file.
        count: u64,
    },
}

/// Entries of `N` bytes; see the module.
pub struct EntryFile<const N: usize> {
    path: PathBuf,
    body: Body,
    /// Bytes of `body` that are in the file, while active.
    written: usize,
    /// The file's length as far as known; more than `written` when it must be cut.
    file_len: u64,
    /// The file exists and is the one that `body` came from or goes to.
    is_made: bool,
    /// A file may exist whose entries [`Self::restart`] has forgotten.
    is_stale: bool,
}

impl<const N: usize> EntryFile<N> {
    /// No entries, no file yet; the first write replaces a file that exists at `path`.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            body: Body::Active(Vec::new()),
            written: 0,
            file_len: 0,
            is_made: false,
            is_stale: false,
        }
    }

    /// Forgets every entry, as [`EntryFile::new`] on the same file does. The file keeps them until the first write, or
    /// until [`Self::remove_stale`].
    pub fn restart(&mut self) {
        let is_missing = match &self.body {
            Body::Active(_) => !self.is_made && !self.is_stale,
            Body::Sealed(cell) => matches!(cell.get(), Some(Loaded::Missing)),
        };
        *self = Self {
            is_stale: !is_missing,
            ..Self::new(std::mem::take(&mut self.path))
        };
    }

    /// The entries of a sealed segment, read when first needed.
    pub fn sealed(path: PathBuf) -> Self {
        Self {
            body: Body::Sealed(OnceLock::new()),
            ..Self::new(path)
        }
    }

    /// No entries, for a segment whose file is known to be missing; the file is never opened.
    pub fn missing(path: PathBuf) -> Self {
        Self {
            body: Body::Sealed(OnceLock::from(Loaded::Missing)),
            ..Self::new(path)
        }
    }

    /// Reads all entries into memory, to append more. A missing file has none; a partial entry and the zeros that
    /// Kafka preallocates are left out.
    pub fn open_active(fs: &dyn FileSystem, path: PathBuf) -> Result<Self> {
        let mut bytes = match fs.read_to_vec(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::new(path)),
            Err(error) => return Err(Error::io("read", &path, error)),
        };
        let file_len = bytes.len() as u64;
        bytes.truncate(used_len::<N>(&bytes));
        let written = bytes.len();
        Ok(Self {
            path,
            body: Body::Active(bytes),
            written,
            file_len,
            is_made: true,
            is_stale: false,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes over the new name of the file's directory.
    pub fn move_to(&mut self, dir: &Path) {
        if let Some(name) = self.path.file_name() {
            self.path = dir.join(name);
        }
    }

    /// Takes over the file's new name; the caller has renamed the file.
    pub fn rename(&mut self, rename: &dyn Fn(PathBuf) -> PathBuf) {
        self.path = rename(std::mem::take(&mut self.path));
    }

    /// The entries, one after the other. A sealed file that cannot be read is an error; one that is missing is empty.
    pub fn bytes(&self, fs: &dyn FileSystem) -> Result<&[u8]> {
        match &self.body {
            Body::Active(bytes) => Ok(bytes),
            Body::Sealed(cell) => {
                if let Some(loaded) = cell.get() {
                    return Ok(loaded.bytes());
                }
                let loaded = self.load(fs)?;
                Ok(cell.get_or_init(|| loaded).bytes())
            }
        }
    }

    /// Checks that a search for the first entry for which `is_past` holds reads memory only; else
    /// [`Error::NotAtHand`] names the file.
    pub fn check_at_hand(&self, is_past: impl Fn(&[u8], usize) -> bool) -> Result<()> {
        let Body::Sealed(cell) = &self.body else { return Ok(()) };
        let is_at_hand = match cell.get() {
            None => false,
            Some(Loaded::Read(_) | Loaded::Missing) => true,
            Some(loaded @ Loaded::Mapped(map, _)) => {
                let (bytes, is_cold) = (loaded.bytes(), Cell::new(false));
                super::search::first_index_where(bytes.len() / N, |index| {
                    // An entry may reach into the next page.
                    if is_cold.get() || !map.is_resident(index * N) || !map.is_resident(index * N + N - 1) {
                        is_cold.set(true);
                        return true;
                    }
                    is_past(bytes, index)
                });
                !is_cold.get()
            }
        };
        if is_at_hand {
            return Ok(());
        }
        Err(Error::NotAtHand {
            path: self.path.clone(),
        })
    }

    /// Checks that all entries can be read from memory; else [`Error::NotAtHand`] names the file.
    pub fn check_all_at_hand(&self) -> Result<()> {
        self.check_at_hand(|_, _| false)?;
        if let Body::Sealed(cell) = &self.body
            && let Some(Loaded::Mapped(map, used)) = cell.get()
            && !(0..*used).step_by(SMALLEST_PAGE).all(|at| map.is_resident(at))
        {
            return Err(Error::NotAtHand {
                path: self.path.clone(),
            });
        }
        Ok(())
    }

    /// The entries in memory; `None` once sealed.
    pub fn active_bytes(&self) -> Option<&[u8]> {
        match &self.body {
            Body::Active(bytes) => Some(bytes),
            Body::Sealed(_) => None,
        }
    }

    fn load(&self, fs: &dyn FileSystem) -> Result<Loaded> {
        let fail = |op| move |error| Error::io(op, &self.path, error);
        let file = match fs.open(&self.path, OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Loaded::Read(Vec::new())),
            Err(error) => return Err(fail("open")(error)),
        };
        let len = file.len().map_err(fail("stat"))?;
        let mapped = (len > READ_LIMIT_BYTES).then(|| fs.map_read(&*file, len));
        match mapped {
            Some(Ok(map)) => {
                let used = used_len::<N>(&map);
                return Ok(Loaded::Mapped(map, used));
            }
            Some(Err(error)) if !is_shortage(&error) => return Err(fail("map")(error)),
            _ => {} // small, or as many are mapped as may be
        }
        let mut bytes = vec![0; len as usize];
        file.read_exact_at(&mut bytes, 0).map_err(fail("read"))?;
        bytes.truncate(used_len::<N>(&bytes));
        Ok(Loaded::Read(bytes))
    }

    /// Adds an entry in memory. Does nothing to a sealed file (its owner unseals it first).
    pub fn push(&mut self, entry: [u8; N]) {
        debug_assert!(matches!(self.body, Body::Active(_)), "push to a sealed index");
        if let Body::Active(bytes) = &mut self.body {
            bytes.extend_from_slice(&entry);
        }
    }

    /// Entries in memory that the file lacks.
    pub fn pending(&self) -> usize {
        self.active_bytes().map_or(0, |bytes| (bytes.len() - self.written) / N)
    }

    /// Keeps only the first `count` entries; does nothing to a sealed file.
    pub fn truncate(&mut self, count: usize) {
        if let Body::Active(bytes) = &mut self.body {
            bytes.truncate(count * N);
            self.written = self.written.min(bytes.len());
        }
    }

    /// Appends the entries that the file lacks and cuts off bytes beyond them. After an error the call may be repeated.
    pub fn write_pending(&mut self, fs: &dyn FileSystem) -> Result<()> {
        let Body::Active(bytes) = &self.body else { return Ok(()) };
        if bytes.len() == self.written && self.file_len == self.written as u64 {
            return Ok(());
        }
        let mode = if self.is_made {
            OpenMode::ReadWrite
        } else {
            OpenMode::Create
        };
        let open = fs.open(&self.path, mode);
        let file = open.map_err(|error| Error::io("open", &self.path, error))?;
        (self.is_made, self.is_stale) = (true, false);
        if self.file_len > self.written as u64 {
            file.set_len(self.written as u64)
                .map_err(|error| Error::io("truncate", &self.path, error))?;
            self.file_len = self.written as u64;
        }
        let pending = bytes.get(self.written..).unwrap_or_default();
        if !pending.is_empty() {
            // Should the write fail, the next call cuts its bytes off.
            self.file_len = bytes.len() as u64;
            file.write_all_at(pending, self.written as u64)
                .map_err(|error| Error::io("write", &self.path, error))?;
            self.written = bytes.len();
        }
        Ok(())
    }

    /// [`write_pending`](Self::write_pending), and makes the file even when it has no entry, as Kafka's tools expect
    /// of offset and time indexes.
    pub fn write_whole(&mut self, fs: &dyn FileSystem) -> Result<()> {
        self.write_pending(fs)?;
        if !self.is_made && self.active_bytes().is_some() {
            let made = fs.open(&self.path, OpenMode::Create);
            made.map_err(|error| Error::io("open", &self.path, error))?;
            (self.is_made, self.is_stale) = (true, false);
        }
        Ok(())
    }

    /// Unlinks the file when all its entries were forgotten and no entry was written since; else does nothing.
    pub fn remove_stale(&mut self, fs: &dyn FileSystem) -> Result<()> {
        if !self.is_stale {
            return Ok(());
        }
        match fs.remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &self.path, error));
            }
            _ => self.is_stale = false,
        }
        Ok(())
    }

    /// Seals the file, and frees the entries' memory when large. All entries have been written before.
    pub fn seal(&mut self) {
        debug_assert_eq!(self.pending(), 0, "sealed an index before it was written");
        let Body::Active(bytes) = &mut self.body else { return };
        let mut bytes = std::mem::take(bytes);
        let cell = OnceLock::new();
        if bytes.len() as u64 <= READ_LIMIT_BYTES {
            bytes.shrink_to_fit();
            // The cell is new: it cannot be set already.
            let _ = cell.set(Loaded::Read(bytes));
        }
        self.body = Body::Sealed(cell);
        self.is_made = false;
    }

    /// First and last entry, for a check at the start: of the file without loading it, or, while active, of the entries
    /// in memory.
    pub fn peek(&self, fs: &dyn FileSystem) -> Result<Peek<N>> {
        if let Body::Active(bytes) = &self.body {
            return Ok(self.peek_loaded(bytes));
        }
        let fail = |op| move |error| Error::io(op, &self.path, error);
        let file = match fs.open(&self.path, OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Peek::Missing),
            Err(error) => return Err(fail("open")(error)),
        };
        let len = file.len().map_err(fail("stat"))?;
        if len == 0 {
            return Ok(Peek::Empty);
        }
        if len % N as u64 != 0 {
            return Ok(Peek::Partial);
        }
        let (mut first, mut last) = ([0; N], [0; N]);
        file.read_exact_at(&mut first, 0).map_err(fail("read"))?;
        file.read_exact_at(&mut last, len - N as u64).map_err(fail("read"))?;
        Ok(Peek::Ends {
            first,
            last,
            count: len / N as u64,
        })
    }

    fn peek_loaded(&self, bytes: &[u8]) -> Peek<N> {
        if !self.is_made {
            return Peek::Missing;
        }
        if self.file_len != bytes.len() as u64 {
            return Peek::Partial;
        }
        let count = bytes.len() / N;
        let Some(last) = count.checked_sub(1) else {
            return Peek::Empty;
        };
        Peek::Ends {
            first: array_at(bytes, 0),
            last: array_at(bytes, last * N),
            count: count as u64,
        }
    }

    /// Makes a sealed file active again: its segment is the last one after a truncation.
    pub fn unseal(&mut self, fs: &dyn FileSystem) -> Result<()> {
        let Body::Sealed(cell) = &self.body else { return Ok(()) };
        *self = match cell.get() {
            Some(Loaded::Missing) => Self::new(self.path.clone()),
            _ => Self::open_active(fs, self.path.clone())?,
        };
        Ok(())
    }
}

/// Bytes of whole entries before the zeros at the end.
fn used_len<const N: usize>(bytes: &[u8]) -> usize {
    let count = bytes.len() / N;
    let is_zero = |index: usize| {
        bytes
            .get(index * N..(index + 1) * N)
            .is_some_and(|entry| entry.iter().all(|b| *b == 0))
    };
    if count == 0 || !is_zero(count - 1) {
        return count * N;
    }
    // Kafka preallocates: entries ascend, then only zeros follow. The first entry is never zero when others follow.
    super::search::first_index_where(count, is_zero) * N
}

/// `N` bytes of `bytes` from `at`, zeros when they are not there.
pub fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .unwrap_or([0; N])
}
