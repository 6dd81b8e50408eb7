//! Log directories, plans and naive walks for the tests of this folder.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{PartitionPlan, Result, ScanRequest, plan_scan};
use ::io::{DirEntry, File, FileSystem, LockGuard, Map, Metadata, OpenMode, OsFileSystem, Volume};
use base::place::{LeaderEpoch, Offset};
use record::{BatchHeader, Batches};
use storage::TopicPartition;
use storage::checkpoint::write_offset_checkpoint;
use storage::format::{LOG_SUFFIX, REPLICATION_OFFSET_CHECKPOINT, parse_file_name};
pub use storage::testing::{Bench, START_MS, batch, marker, producer_batch};

/// A record as a walk over whole files finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub offset: i64,
    pub timestamp: i64,
    pub header: BatchHeader,
}

pub fn os() -> Arc<dyn FileSystem> {
    Arc::new(OsFileSystem)
}

/// A request for all records of topic `topic`; loss is an error, and files are kept open.
pub fn request(bench: &Bench) -> ScanRequest {
    ScanRequest {
        log_dirs: vec![bench.dir.path().to_path_buf()],
        topic: "topic".to_owned(),
        fail_on_data_loss: true,
        keep_open: true,
        ..Default::default()
    }
}

/// The plan of the only partition.
pub fn plan(request: &ScanRequest) -> Result<PartitionPlan> {
    plan_on(&os(), request)
}

pub fn plan_on(fs: &Arc<dyn FileSystem>, request: &ScanRequest) -> Result<PartitionPlan> {
    plan_scan(fs, request).map(|mut plans| plans.remove(0))
}

pub fn write_checkpoint(bench: &Bench, name: &str, offset: i64) {
    write_offsets(&bench.dir.path().join(name), offset);
}

pub fn write_offsets(checkpoint: &Path, offset: i64) {
    let offsets = [(TopicPartition::new("topic", 0), Offset(offset))];
    write_offset_checkpoint(&OsFileSystem, checkpoint, &offsets).unwrap();
}

pub fn write_high_watermark(bench: &Bench, offset: i64) {
    write_checkpoint(bench, REPLICATION_OFFSET_CHECKPOINT, offset);
}

pub fn segment_files(dir: &Path) -> Vec<PathBuf> {
    let is_log = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        parse_file_name(name).is_some_and(|it| it.1 == LOG_SUFFIX)
    };
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|it| it.unwrap().path())
        .filter(is_log)
        .collect();
    files.sort();
    files
}

/// Every record of the bytes, control records too.
pub fn walk_bytes(bytes: &[u8]) -> Vec<Seen> {
    let mut seen = Vec::new();
    for batch in Batches::new(bytes) {
        let batch = batch.unwrap();
        let mut scratch = Vec::new();
        for record in batch.records(&mut scratch, usize::MAX).unwrap() {
            let record = record.unwrap();
            seen.push(Seen {
                offset: record.offset.get(),
                timestamp: record.timestamp,
                header: *batch.header(),
            });
        }
    }
    seen
}

/// Every record of the directory.
pub fn walk(bench: &Bench) -> Vec<Seen> {
    let files = segment_files(&bench.path());
    files
        .iter()
        .flat_map(|file| walk_bytes(&std::fs::read(file).unwrap()))
        .collect()
}

/// Appends a record for each timestamp, `per_batch` records to a batch, and rolls before every `per_segment`th batch.
pub fn fill(bench: &Bench, timestamps: &[i64], per_batch: usize, per_segment: usize) {
    let mut log = bench.create();
    for (at, times) in timestamps.chunks(per_batch).enumerate() {
        if at > 0 && at % per_segment == 0 {
            log.roll(bench.now_ms()).unwrap();
        }
        let mut builder = record::BatchBuilder::new(record::Codec::None);
        for time in times {
            builder.append(*time, Some(b"key"), Some(b"value"), &[]);
        }
        let mut bytes = builder.build(Offset(0), LeaderEpoch::NONE);
        log.append_as_leader(&mut bytes, LeaderEpoch(0), record::Origin::Client, START_MS)
            .unwrap();
    }
    log.close().unwrap();
}

/// Offsets of the records in the slices of a split and within its range, read through the open files, links or paths.
pub fn offsets_of(split: &super::Split) -> Vec<i64> {
    let mut offsets = Vec::new();
    for slice in &split.slices {
        let mut bytes = vec![0; (slice.end - slice.start) as usize];
        let file = slice.file.clone().unwrap_or_else(|| {
            let path = slice.link.as_ref().unwrap_or(&slice.path);
            OsFileSystem.open(path, OpenMode::Read).unwrap()
        });
        file.read_exact_at(&mut bytes, slice.start.get()).unwrap();
        let is_whole = Batches::new(&bytes).map(|it| it.unwrap().bytes().len()).sum::<usize>() == bytes.len();
        assert!(is_whole, "a slice holds whole batches");
        let wanted = split.start_offset.max(slice.base_offset)..split.end_offset.min(slice.next_base_offset);
        offsets.extend(
            walk_bytes(&bytes)
                .iter()
                .map(|it| it.offset)
                .filter(|it| wanted.contains(&Offset(*it))),
        );
    }
    offsets
}

/// Offsets of a whole plan, read in one split.
pub fn planned_offsets(plan: &PartitionPlan) -> Vec<i64> {
    plan.splits(u64::MAX).unwrap().iter().flat_map(offsets_of).collect()
}

/// A file system in which something happens whenever a certain file is opened.
pub struct Meddling<A>(PathBuf, A);

impl<A: Fn() + Send + Sync + 'static> Meddling<A> {
    pub fn when_opened(path: &Path, act: A) -> Arc<dyn FileSystem> {
        Arc::new(Self(path.to_path_buf(), act))
    }
}

/// A file system from which a file vanishes the first time that it is opened.
pub fn vanishing(path: &Path) -> Arc<dyn FileSystem> {
    let vanished = path.to_path_buf();
    Meddling::when_opened(path, move || drop(std::fs::remove_file(&vanished)))
}

impl<A: Fn() + Send + Sync> FileSystem for Meddling<A> {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        if path == self.0 {
            (self.1)();
        }
        OsFileSystem.open(path, mode)
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
