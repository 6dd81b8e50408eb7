//! Every I/O call of the log fails once.
//!
//! A first run of a workload (materialise, append, abort a transaction, roll, flush, truncate, delete, close) counts
//! its calls by label. Then, for every label, every n and every fault, the workload runs again with the n-th call of
//! that label failing, and the log is opened anew: after a crash twice, as a process crash and as a power loss. What
//! was acknowledged by a flush must be there, everything must be readable, and appends must go on. The same is done to
//! the calls of an opening after a crash. `EMFILE` and `ENOMEM` say nothing of the disk: they never poison a log (but
//! for an `ENOMEM` of an fsync), which goes on and closes cleanly. All of it is done twice: with files that stay open,
//! and over a [`KeptFileSystem`] that has closed every file before each operation. Prints a table: `cargo test --test
//! storage_fault_points -- --nocapture`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ::io::{Clock, Descriptors, Fault, FaultFileSystem, FileSystem, KeptFileSystem, ManualClock, OsFileSystem};
use base::place::{LeaderEpoch, Offset};
use record::{BatchBuilder, Batches, Codec, Origin, end_transaction_marker};
use storage::partition_metadata::PartitionMetadata;
use storage::{
    Extent, LoadArgs, Log, LogConfig, LogContext, ProducerStateConfig, RecoveryProgress, TopicPartition, Uuid,
};

const FAULTS: [(Fault, &str); 6] = [
    (Fault::InputOutput, "EIO"),
    (Fault::NoSpace, "ENOSPC"),
    (Fault::ShortWrite, "short write"),
    (Fault::Crash, "crash"),
    (Fault::NoDescriptor, "EMFILE"),
    (Fault::NoMemory, "ENOMEM"),
];
const NOW_MS: i64 = 1_700_000_000_000;
const TOPIC_ID: Uuid = Uuid([7; 16]);

/// What a test may count on when it opens the log again, and what the checkpoint files would say.
#[derive(Clone, Default)]
struct Promise {
    /// Offset → value of every record below the last successful flush.
    flushed: BTreeMap<i64, Vec<u8>>,
    recovery_point: i64,
    log_start_offset: i64,
    is_clean: bool,
}

struct Run {
    fs: Arc<dyn FileSystem>,
    log: Log,
    /// Appended and acknowledged, flushed or not.
    appended: BTreeMap<i64, Vec<u8>>,
    promise: Promise,
    count: u32,
    failures: u32,
}

/// In memory where there is such a place: the syncs are real, and there are thousands.
fn temp_dir() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    made.unwrap()
}

fn config() -> Arc<LogConfig> {
    let pairs = [
        ("segment.bytes", "900"),
        ("index.interval.bytes", "100"),
        ("file.delete.delay.ms", "0"),
    ];
    Arc::new(LogConfig::from_pairs(pairs).unwrap())
}

fn context(fs: Arc<dyn FileSystem>) -> LogContext {
    let producers = ProducerStateConfig {
        is_transaction_verification_enabled: false,
        ..Default::default()
    };
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(NOW_MS));
    LogContext { fs, clock, producers }
}

fn open(fs: Arc<dyn FileSystem>, dir: &Path, promise: &Promise) -> base::error::Result<Log> {
    let progress = RecoveryProgress::default();
    let args = LoadArgs {
        recovery_point: Offset(promise.recovery_point),
        log_start_offset: Offset(promise.log_start_offset),
        first_dirty_offset: None,
        clean_shutdown: promise.is_clean,
        extent: Extent::default(),
        progress: &progress,
    };
    Log::open(&context(fs), dir, TopicPartition::new("topic", 0), config(), args)
}

impl Run {
    fn value(&mut self) -> Vec<u8> {
        self.count += 1;
        format!("value {:04} {}", self.count, "x".repeat(40)).into_bytes()
    }

    fn append(&mut self, producer: Option<i32>, epoch: i32) {
        self.fs.relieve();
        let value = self.value();
        let mut builder = BatchBuilder::new(Codec::None);
        if let Some(sequence) = producer {
            builder = builder.producer(5, 0, sequence).transactional(true);
        }
        builder.append(NOW_MS + i64::from(self.count), None, Some(&value), &[]);
        let mut bytes = builder.build(Offset(0), LeaderEpoch::NONE);
        match self
            .log
            .append_as_leader(&mut bytes, LeaderEpoch(epoch), Origin::Coordinator, NOW_MS)
        {
            Ok(appended) => {
                self.appended.insert(appended.first_offset.get(), value);
            }
            Err(_) => self.failures += 1,
        }
    }

    fn abort(&mut self) {
        self.fs.relieve();
        let mut bytes = end_transaction_marker(false, 5, 0, 0, NOW_MS);
        let result = self
            .log
            .append_as_leader(&mut bytes, LeaderEpoch(0), Origin::Coordinator, NOW_MS);
        self.failures += u32::from(result.is_err());
    }

    fn flush(&mut self) {
        match self.log.flush() {
            Ok(()) => self.note_durable(),
            Err(_) => self.failures += 1,
        }
    }

    fn note_durable(&mut self) {
        let point = self.log.recovery_point();
        self.promise.recovery_point = point.get();
        self.promise.flushed = self
            .appended
            .range(..point.get())
            .map(|(offset, value)| (*offset, value.clone()))
            .collect();
    }

    fn truncate(&mut self, offset: i64) {
        self.fs.relieve();
        // Whether it succeeds or not, nobody counts on what is above any more.
        self.appended.split_off(&offset);
        self.promise.flushed.split_off(&offset);
        self.promise.recovery_point = self.promise.recovery_point.min(offset);
        self.failures += u32::from(self.log.truncate_to(Offset(offset)).is_err());
    }

    fn close(&mut self) {
        self.fs.relieve();
        match self.log.close() {
            Ok(()) => {
                self.note_durable();
                self.promise.is_clean = true;
            }
            Err(_) => self.failures += 1,
        }
    }

    fn delete(&mut self, start: i64) {
        self.fs.relieve();
        let end = self.log.log_end_offset();
        // Whether it succeeds or not, nobody counts on what is below any more.
        self.appended.retain(|offset, _| *offset >= start);
        self.promise.flushed.retain(|offset, _| *offset >= start);
        if self
            .log
            .advance_log_start_offset(Offset(start.min(end.get())), end)
            .is_err()
        {
            self.failures += 1;
            return;
        }
        self.promise.log_start_offset = self.log.log_start_offset().get();
        match self.log.delete_old_segments(NOW_MS, end) {
            Ok(deletion) => self.failures += u32::from(deletion.run().is_err()),
            Err(_) => self.failures += 1,
        }
    }
}

/// The workload.
fn work(fs: Arc<dyn FileSystem>, dir: &Path) -> Run {
    let log = Log::create(
        &context(Arc::clone(&fs)),
        dir,
        TopicPartition::new("topic", 0),
        Some(TOPIC_ID),
        config(),
    )
    .unwrap();
    let mut run = Run {
        fs,
        log,
        appended: BTreeMap::new(),
        promise: Promise::default(),
        count: 0,
        failures: 0,
    };
    run.append(None, 0);
    run.append(Some(0), 0);
    run.append(Some(1), 0);
    run.abort();
    run.flush();
    (0..8).for_each(|_| run.append(None, 0));
    run.flush();
    (0..8).for_each(|_| run.append(None, 1));
    run.truncate(15);
    run.append(None, 2);
    run.flush();
    run.delete(8);
    (0..8).for_each(|_| run.append(None, 3));
    run.flush();
    run.append(None, 3);
    run.close();
    run
}

/// The disk as the test breaks it, and as the log sees it.
fn broken(is_kept: bool) -> (FaultFileSystem, Arc<dyn FileSystem>) {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let fs: Arc<dyn FileSystem> = if is_kept {
        Arc::new(KeptFileSystem::new(Arc::new(disk.clone()), Descriptors::new(100, 100)))
    } else {
        Arc::new(disk.clone())
    };
    (disk, fs)
}

/// Opens the log as a restarted broker would, and holds it to the promise.
fn check(dir: &Path, promise: &Promise, case: &str) {
    let id = PartitionMetadata::read(&OsFileSystem, dir).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert!(id.is_none_or(|id| id.topic_id == TOPIC_ID), "{case}");
    assert!(
        id.is_some() || promise.flushed.is_empty(),
        "{case}: the topic id is lost"
    );
    let mut log = open(Arc::new(OsFileSystem), dir, promise).unwrap_or_else(|error| panic!("{case}: {error}"));
    let found = records(&log, case);
    for (offset, value) in &promise.flushed {
        assert_eq!(found.get(offset), Some(value), "{case}: offset {offset} was flushed");
    }
    let mut builder = BatchBuilder::new(Codec::None);
    builder.append(NOW_MS, None, Some(b"after"), &[]);
    let mut bytes = builder.build(Offset(0), LeaderEpoch::NONE);
    let appended = log.append_as_leader(&mut bytes, LeaderEpoch(9), Origin::Client, NOW_MS);
    let appended = appended.unwrap_or_else(|error| panic!("{case}: {error:?}"));
    log.close().unwrap_or_else(|error| panic!("{case}: {error}"));
    let clean = Promise {
        is_clean: true,
        log_start_offset: promise.log_start_offset,
        ..Promise::default()
    };
    let log = open(Arc::new(OsFileSystem), dir, &clean).unwrap_or_else(|error| panic!("{case}: {error}"));
    let again = records(&log, case);
    assert_eq!(again.len(), found.len() + 1, "{case}");
    assert_eq!(
        again.get(&appended.first_offset.get()).map(Vec::as_slice),
        Some(&b"after"[..]),
        "{case}"
    );
}

/// Every record from the log's start to its end; all CRCs are right and offsets rise.
fn records(log: &Log, case: &str) -> BTreeMap<i64, Vec<u8>> {
    let mut offset = log.log_start_offset();
    let mut found = BTreeMap::new();
    while offset < log.log_end_offset() {
        let plan = log
            .plan_read(offset, log.log_end_offset())
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        let slice = plan
            .resolve(1 << 20, true)
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        assert!(slice.len > 0, "{case}: nothing to read at {offset}");
        let mut bytes = vec![0; slice.len];
        slice.file.read_exact_at(&mut bytes, slice.position.get()).unwrap();
        for batch in Batches::new(&bytes) {
            let batch = batch.unwrap_or_else(|error| panic!("{case}: {error}"));
            batch.verify_crc().unwrap_or_else(|error| panic!("{case}: {error}"));
            let mut scratch = Vec::new();
            for record in batch.records(&mut scratch, 1 << 20).unwrap() {
                let record = record.unwrap();
                found.insert(record.offset.get(), record.value.unwrap_or_default().to_vec());
            }
            offset = batch.header().next_offset();
        }
    }
    found
}

/// Copies a partition directory, to open it twice.
fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[derive(Default)]
struct Row {
    calls: u64,
    outcomes: BTreeMap<(usize, &'static str), u32>,
}

fn print_table(title: &str, rows: &BTreeMap<String, Row>) {
    println!(
        "\n{title}\n{:<34} {:>5}{}",
        "fail point",
        "calls",
        FAULTS.map(|(_, name)| format!("  {name:<34}")).concat().trim_end()
    );
    for (label, row) in rows {
        let cell = |fault: usize| {
            let of_fault = row.outcomes.iter().filter(|((at, _), _)| *at == fault);
            of_fault
                .map(|((_, outcome), count)| format!("{count} {outcome}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let cells: Vec<_> = (0..FAULTS.len()).map(|at| format!("{:<34}", cell(at))).collect();
        println!("{label:<34} {:>5}  {}", row.calls, cells.join("  ").trim_end());
    }
    let total: u32 = rows.values().flat_map(|row| row.outcomes.values()).sum();
    println!("{} fail points, {total} cases, 0 flushed records lost", rows.len());
}

/// Whether the fault says nothing of the disk. An fsync without memory is a failed one; its file was open.
fn is_shortage(label: &str, fault: Fault) -> bool {
    fault == Fault::NoDescriptor || fault == Fault::NoMemory && !label.starts_with("sync:")
}

/// Runs the workload with one fault and says how it went.
fn fail_workload(is_kept: bool, label: &str, nth: u64, fault: Fault) -> &'static str {
    let case = format!("{label} #{nth} {fault:?}, kept: {is_kept}");
    let root = temp_dir();
    let dir = root.path().join("topic-0");
    let (disk, fs) = broken(is_kept);
    disk.arm(label, nth, fault);
    let mut run = work(fs, &dir);
    assert!(
        disk.has_fired(),
        "{case}: the workload is deterministic up to the fault"
    );
    if is_shortage(label, fault) {
        assert!(!run.log.is_poisoned(), "{case}: a shortage poisons nothing");
        if !run.promise.is_clean {
            run.close(); // it was the closing that failed
        }
        assert!(
            run.promise.is_clean && run.failures <= 2,
            "{case}: {} failures",
            run.failures
        );
    }
    let Run {
        log, promise, failures, ..
    } = run;
    let is_poisoned = log.is_poisoned();
    drop(log);
    if !dir.exists() {
        // Nothing was made, so nothing was acknowledged; a start creates the log again.
        assert!(promise.flushed.is_empty() && failures > 0 && is_poisoned, "{case}");
        return "not made";
    }
    if disk.has_crashed() {
        let copy = root.path().join("copy-0");
        copy_dir(&dir, &copy);
        check(&copy, &promise, &format!("{case}, process crash"));
        disk.lose_unsynced().unwrap();
    }
    check(&dir, &promise, &case);
    match (disk.has_crashed(), is_poisoned, failures) {
        (true, ..) => "recovered",
        (_, true, _) => "poisoned",
        (_, _, 0) => "unharmed",
        _ => "refused, went on",
    }
}

#[test]
fn no_failing_call_of_the_workload_loses_a_flushed_record() {
    fail_every_call(false);
}

#[test]
fn no_failing_call_of_the_workload_on_closed_files_loses_a_flushed_record() {
    fail_every_call(true);
}

fn fail_every_call(is_kept: bool) {
    let root = temp_dir();
    let (disk, fs) = broken(is_kept);
    let dir = root.path().join("topic-0");
    let run = work(fs, &dir);
    assert_eq!(run.failures, 0);
    assert!(run.promise.flushed.len() > 10 && run.promise.is_clean);
    let promise = run.promise.clone();
    drop(run);
    check(&dir, &promise, "no fault");
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for (label, calls) in disk.counts() {
        let row = rows.entry(label.clone()).or_default();
        row.calls = calls;
        for nth in 1..=calls {
            for (at, (fault, _)) in FAULTS.into_iter().enumerate() {
                let outcome = fail_workload(is_kept, &label, nth, fault);
                *row.outcomes.entry((at, outcome)).or_default() += 1;
            }
        }
    }
    let files = if is_kept { ", files closed" } else { "" };
    print_table(
        &format!("materialise, append, roll, flush, truncate, delete, close{files}"),
        &rows,
    );
}

/// A directory as a crash leaves it: unflushed batches, a torn one, files half deleted.
fn crashed(dir: &Path) -> Promise {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    disk.arm("write:.log", 27, Fault::Crash);
    let run = work(Arc::new(disk.clone()), dir);
    assert!(disk.has_crashed());
    let promise = run.promise.clone();
    drop(run);
    std::fs::write(dir.join("00000000000000000000.log.deleted"), b"left over").unwrap();
    promise
}

#[test]
fn no_failing_call_of_an_opening_loses_a_flushed_record() {
    let root = temp_dir();
    let dir = root.path().join("topic-0");
    let promise = crashed(&dir);
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let counted = root.path().join("counted-0");
    copy_dir(&dir, &counted);
    drop(open(Arc::new(disk.clone()), &counted, &promise).unwrap());
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for (label, calls) in disk.counts() {
        let row = rows.entry(label.clone()).or_default();
        row.calls = calls;
        for nth in 1..=calls {
            for (at, (fault, _)) in FAULTS.into_iter().enumerate() {
                let case = format!("opening, {label} #{nth} {fault:?}");
                let work = temp_dir();
                let copy = work.path().join("topic-0");
                copy_dir(&dir, &copy);
                let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
                disk.arm(&label, nth, fault);
                let opened = open(Arc::new(disk.clone()), &copy, &promise);
                assert!(disk.has_fired(), "{case}");
                let outcome = if opened.is_ok() {
                    "opened"
                } else {
                    "refused, then opened"
                };
                drop(opened);
                if disk.has_crashed() {
                    disk.lose_unsynced().unwrap();
                }
                check(&copy, &promise, &case);
                *row.outcomes.entry((at, outcome)).or_default() += 1;
            }
        }
    }
    print_table("opening after a crash", &rows);
}
