//! Files, clocks and maps: the traits that storage uses, and their implementations.
//!
//! - `file_system`: the contract ([`File`], [`FileSystem`]); `clock`: [`Clock`].
//! - `os`: the operating system's files; `map`: read-only memory maps (`unsafe`). `linux/`, `macos/`: under the same
//!   names what these systems call differently for files, and the next two modules.
//! - `descriptors`: the budget of file descriptors; `kept`: files that may be closed while no call uses them.
//! - `scheduling`: shorter turns for latency (`unsafe`). `heap`: freed memory, large pages (`unsafe`).
//! - `no_file`: the place-holder for a file that was not made. `fault`: a file system that fails where a test says.

pub mod clock;
pub mod descriptors;
pub mod fault;
pub mod file_system;
pub mod kept;
pub mod map;
pub mod no_file;
pub mod os;
mod plain;

#[cfg_attr(target_os = "linux", path = "linux/files.rs")]
#[cfg_attr(not(target_os = "linux"), path = "macos/files.rs")]
mod system;

#[cfg_attr(target_os = "linux", path = "linux/heap.rs")]
#[cfg_attr(not(target_os = "linux"), path = "macos/heap.rs")]
pub mod heap;

#[cfg_attr(target_os = "linux", path = "linux/scheduling.rs")]
#[cfg_attr(not(target_os = "linux"), path = "macos/scheduling.rs")]
pub mod scheduling;

pub use clock::{Clock, ManualClock, SystemClock};
pub use descriptors::Descriptors;
pub use fault::{Fault, FaultFileSystem};
pub use file_system::{DirEntry, File, FileSystem, LockGuard, Metadata, OpenMode, Ownership, Volume};
pub use kept::KeptFileSystem;
pub use map::Map;
pub use no_file::NoFile;
pub use os::{OsFileSystem, user_id};
pub use system::is_cached;

#[cfg(test)]
mod tests;
