//! Appending one batch, beside `pwrite` alone and validation alone.
//!
//! Rows: `append/<size>` (everything), `pwrite/<size>` (the limit), `overhead/<size>` (a disk that takes no time), and
//! `create` (one log made).

#![expect(clippy::unwrap_used, reason = "a bench may panic")]

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use ::io::{DirEntry, File, FileSystem, LockGuard, Map, Metadata, OpenMode, OsFileSystem, Volume};
use base::place::{LeaderEpoch, Offset};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use record::{BatchBuilder, Codec, Origin, set_offset_and_epoch};
use storage::{Log, LogConfig, LogContext, TopicPartition};

const SIZES: [usize; 3] = [100, 16 * 1024, 1024 * 1024 - 200];
/// Written to one place again and again, so that the page cache stays small and warm.
const WINDOW: u64 = 64 * 1024 * 1024;

fn batch(size: usize) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Codec::None);
    builder.append(1_700_000_000_000, None, Some(&vec![b'v'; size]), &[]);
    builder.build(Offset(0), LeaderEpoch::NONE)
}

/// Writes cost nothing, all else is the machine's.
struct NoWrites(OsFileSystem);
struct NoWriteFile(Arc<dyn File>);

impl File for NoWriteFile {
    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Ok(())
    }
    fn read_exact_at(&self, buf: &mut [u8], position: u64) -> io::Result<()> {
        self.0.read_exact_at(buf, position)
    }
    fn read_at(&self, buf: &mut [u8], position: u64) -> io::Result<usize> {
        self.0.read_at(buf, position)
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }
    fn with_fd(&self, run: &mut dyn FnMut(BorrowedFd<'_>)) -> std::io::Result<()> {
        self.0.with_fd(run)
    }
}

impl FileSystem for NoWrites {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(NoWriteFile(self.0.open(path, mode)?)))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.hard_link(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.0.remove_file(path)
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir(path)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir_all(path)
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.0.remove_dir_all(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.sync_dir(path)
    }
    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.0.read_dir(path)
    }
    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.0.metadata(path)
    }
    fn set_modified(&self, path: &Path, modified_ms: i64) -> io::Result<()> {
        self.0.set_modified(path, modified_ms)
    }
    fn read_to_vec(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.read_to_vec(path)
    }
    fn lock_exclusive(&self, path: &Path) -> io::Result<Box<dyn LockGuard>> {
        self.0.lock_exclusive(path)
    }
    fn open_volume(&self, dir: &Path) -> io::Result<Option<Arc<dyn Volume>>> {
        OsFileSystem.open_volume(dir)
    }

    fn map_read(&self, file: &dyn File, len: u64) -> io::Result<Map> {
        self.0.map_read(file, len)
    }
}

fn log(context: &LogContext, dir: &Path, number: usize) -> Log {
    let partition = TopicPartition::new("bench", number as i32);
    Log::create(
        context,
        &dir.join(partition.to_string()),
        partition,
        None,
        Arc::new(LogConfig::default()),
    )
    .unwrap()
}

fn append(log: &mut Log, bytes: &mut [u8]) {
    if log.size_bytes() > WINDOW {
        let end = log.log_end_offset();
        log.truncate_fully_and_start_at(end).unwrap();
    }
    set_offset_and_epoch(bytes, Offset(0), LeaderEpoch::NONE); // as a client sends it
    log.append_as_leader(bytes, LeaderEpoch(0), Origin::Client, 1_700_000_000_000)
        .unwrap();
}

fn bench(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let context = LogContext::system();
    let unwritten = LogContext {
        fs: Arc::new(NoWrites(OsFileSystem)),
        ..LogContext::system()
    };
    let mut group = criterion.benchmark_group("storage_append");
    for (number, size) in SIZES.into_iter().enumerate() {
        let mut bytes = batch(size);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        let mut written = log(&context, dir.path(), number * 2);
        group.bench_function(BenchmarkId::new("append", size), |b| {
            b.iter(|| append(&mut written, &mut bytes));
        });
        let mut free = log(&unwritten, dir.path(), number * 2 + 1);
        group.bench_function(BenchmarkId::new("overhead", size), |b| {
            b.iter(|| append(&mut free, &mut bytes));
        });
        let rules = record::Rules::default();
        set_offset_and_epoch(&mut bytes, Offset(0), LeaderEpoch::NONE);
        group.bench_function(BenchmarkId::new("validate", size), |b| {
            b.iter(|| record::validate(&bytes, &rules, Origin::Client, 1_700_000_000_000).unwrap());
        });
        let file = std::fs::File::create(dir.path().join("raw")).unwrap();
        let mut position = 0;
        group.bench_function(BenchmarkId::new("pwrite", size), |b| {
            b.iter(|| {
                if position > WINDOW {
                    file.set_len(0).unwrap();
                    position = 0;
                }
                file.write_all_at(&bytes, position).unwrap();
                position += bytes.len() as u64;
            });
        });
    }
    group.finish();
    let mut number = 100;
    criterion.bench_function("storage_append/create", |b| {
        b.iter_batched(
            || {
                number += 1;
                number
            },
            |number| log(&context, dir.path(), number),
            BatchSize::PerIteration,
        );
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
