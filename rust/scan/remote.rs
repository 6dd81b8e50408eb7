//! The way around files: a split whose files cannot be read comes from the brokers that have its partition.
//!
//! The reader asks a [`RemoteLog`], which its caller brings along, for whole batches in memory and reads them like
//! those of a file. So this folder still talks to no broker.

use std::io::{self, Error, ErrorKind};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Result, Split};
use ::io::{File, NoFile};
use base::place::{LeaderEpoch, Offset, Position};

/// Where else than in the planned files the records of a split are: with brokers, or in files that only the machine of
/// a task sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remote {
    /// Brokers to begin with, as `bootstrap.servers`.
    pub bootstrap_servers: String,
    /// As `client.rack`: a replica in this rack is read where the brokers allow it.
    pub client_rack: String,
    /// The leader's epoch when the split was planned, -1 when unknown: what a leader of a later epoch has cut off is
    /// lost.
    pub leader_epoch: LeaderEpoch,
    /// Bytes that the split has on the leader's disk, about.
    pub size_bytes: u64,
    /// The cluster of the brokers.
    pub cluster_id: String,
    /// Names the log directory whose files were planned, wherever it is mounted; nothing where none were, or where they
    /// are a copy that has no name.
    pub planned_dir: Option<String>,
    /// Log directories of brokers, as the task's machine may see them.
    pub log_dirs: Vec<PathBuf>,
    /// Node ids of the replicas that had every committed record when the split was planned.
    pub in_sync: Vec<i32>,
}

/// The logs of partitions at their brokers.
pub trait RemoteLog: Send + Sync {
    /// The batches of a split from offset `from` on. Nothing is asked yet.
    fn open(&self, split: &Split, remote: &Remote, from: Offset) -> Result<Box<dyn RemoteBatches>>;
}

/// The batches of one split in the order of their offsets.
pub trait RemoteBatches: Send {
    /// The next batches, in `memory`, whose contents are replaced.
    fn next(&mut self, memory: &mut Vec<u8>) -> Result<RemotePiece>;
}

/// What comes next of a split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemotePiece {
    /// Whole batches, at these bytes of the memory. The first may begin below the wanted offsets.
    Batches {
        /// The first byte.
        start: Position,
        /// One past the last byte.
        end: Position,
        /// Batches from this offset on are not those of the plan.
        before: Offset,
        /// The broker, for messages.
        from: String,
    },
    /// These offsets are gone; what follows begins behind them.
    Lost {
        /// The first offset.
        from: Offset,
        /// One past the last.
        to: Offset,
        /// How it was noticed.
        reason: String,
    },
    /// Nothing is left.
    End,
}

/// Bytes in memory as a file that is only read.
#[derive(Debug, Default, Clone)]
pub(super) struct MemoryFile(pub(super) Vec<u8>);

impl MemoryFile {
    fn rest(&self, position: u64) -> &[u8] {
        let from = usize::try_from(position).unwrap_or(usize::MAX);
        self.0.get(from..).unwrap_or_default()
    }
}

impl File for MemoryFile {
    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(Error::new(ErrorKind::Unsupported, "it is only read"))
    }

    fn read_exact_at(&self, buf: &mut [u8], position: u64) -> io::Result<()> {
        let read = self.read_at(buf, position)?;
        if read < buf.len() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    fn read_at(&self, buf: &mut [u8], position: u64) -> io::Result<usize> {
        let rest = self.rest(position);
        let len = rest.len().min(buf.len());
        buf[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(Error::new(ErrorKind::Unsupported, "it is only read"))
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn with_fd(&self, run: &mut dyn FnMut(BorrowedFd<'_>)) -> io::Result<()> {
        NoFile.with_fd(run)
    }
}
