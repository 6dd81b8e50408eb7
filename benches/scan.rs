//! A partition's file to record batches, beside its limits: the reads alone, the checksum alone, the inflating alone.
//! Shapes are codec × value bytes, in batches of 128 KiB as librdkafka makes them; rates are bytes of the file per
//! second, from the page cache. Each line of criterion is followed by the best turn, which a busy machine disturbs
//! least, and by the best in CPU time.
#![expect(
    clippy::expect_used,
    reason = "a bench of its own good input stops at the first surprise"
)]

use std::cell::OnceCell;
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::place::{LeaderEpoch, Offset, Position};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use record::{BATCH_HEADER, Batch, BatchBuilder, Codec, crc32c, decompress};
use scan::{Column, LostRanges, Predicate, ScanOptions, ScanReader, Slice, Split};
use tempfile::TempDir;

const NOW_MS: i64 = 1_700_000_000_000;
const BATCH_BYTES: usize = 128 * 1024;
const WINDOW_BYTES: usize = 256 * 1024;
/// What a split has when several threads share the file.
const SPLIT_BYTES: u64 = 4 << 20;
/// Different batches that a file repeats, each with its own offsets.
const VARIANTS: usize = 16;
const SEVEN: [Column; 7] = [
    Column::Key,
    Column::Value,
    Column::Topic,
    Column::Partition,
    Column::Offset,
    Column::Timestamp,
    Column::TimestampType,
];

/// A partition's file and where its batches start.
struct Log {
    dir: TempDir,
    /// (position, first offset) of each batch, and of the end.
    batches: Vec<(u64, i64)>,
}

/// A value of `len` bytes that compresses about as events in JSON do.
fn value(seed: &mut u64, len: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(len + 64);
    while text.len() < len {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        write!(
            text,
            "{{\"user\":{},\"page\":\"/item/{:x}\",\"took_ms\":{}}},",
            *seed >> 40,
            *seed,
            *seed % 997
        )
        .expect("memory");
    }
    text.truncate(len);
    text
}

fn batch(codec: Codec, value_bytes: usize, seed: &mut u64) -> BatchBuilder {
    let mut builder = BatchBuilder::new(codec);
    while builder.size_bytes() < BATCH_BYTES {
        let key = format!("key-{}", *seed % 10_000);
        let time = NOW_MS + i64::from(builder.record_count());
        builder.append(time, Some(key.as_bytes()), Some(&value(seed, value_bytes)), &[]);
    }
    builder
}

impl Log {
    fn new(codec: Codec, value_bytes: usize, bytes: u64) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let mut file = File::create(dir.path().join("0.log")).expect("a file");
        let mut seed = 0x9e37_79b9_7f4a_7c15;
        let variants: Vec<(i64, Vec<u8>)> = (0..VARIANTS)
            .map(|_| batch(codec, value_bytes, &mut seed))
            .map(|builder| {
                (
                    i64::from(builder.record_count()),
                    builder.build(Offset(0), LeaderEpoch(0)),
                )
            })
            .collect();
        let mut log = Self {
            dir,
            batches: vec![(0, 0)],
        };
        let (mut position, mut offset) = (0_u64, 0_i64);
        for (records, bytes_of_batch) in variants.iter().cycle() {
            if position >= bytes {
                break;
            }
            // The base offset is outside of the CRC.
            file.write_all(&offset.to_be_bytes()).expect("space");
            file.write_all(&bytes_of_batch[8..]).expect("space");
            position += bytes_of_batch.len() as u64;
            offset += records;
            log.batches.push((position, offset));
        }
        log
    }

    fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("0.log")
    }

    fn size(&self) -> u64 {
        self.batches.last().map_or(0, |(position, _)| *position)
    }

    /// The file cut on batch boundaries into splits of about `split_bytes`.
    fn splits(&self, split_bytes: u64) -> Arc<[Arc<Split>]> {
        let mut cuts = vec![(0, 0)];
        for at in &self.batches {
            if at.0 - cuts[cuts.len() - 1].0 >= split_bytes || (at.0 == self.size() && at.0 > cuts[cuts.len() - 1].0) {
                cuts.push(*at);
            }
        }
        let split = |from: (u64, i64), to: (u64, i64)| Split {
            topic: "events".into(),
            partition: 0,
            start_offset: Offset(from.1),
            end_offset: Offset(to.1),
            slices: vec![Slice {
                path: self.path(),
                link: None,
                file: None,
                identity: None,
                base_offset: Offset(0),
                next_base_offset: Offset::MAX,
                start: Position(from.0),
                end: Position(to.0),
            }],
            leader_epoch: LeaderEpoch::NONE,
            remote: None,
            aborted: None,
        };
        cuts.windows(2).map(|cut| Arc::new(split(cut[0], cut[1]))).collect()
    }
}

fn rows(splits: &Arc<[Arc<Split>]>, options: &Arc<ScanOptions>) -> usize {
    let mut reader = ScanReader::new(Arc::clone(splits), Arc::clone(options), LostRanges::default()).expect("threads");
    let mut rows = 0;
    while let Some(batch) = reader.next_batch() {
        rows += black_box(batch.expect("good")).num_rows();
    }
    rows
}

fn options(columns: &[Column], change: impl FnOnce(&mut ScanOptions)) -> Arc<ScanOptions> {
    let mut options = ScanOptions::new(columns).expect("columns");
    change(&mut options);
    Arc::new(options)
}

/// Reads bytes `[from, to)` and looks at none.
fn pread(file: &File, from: u64, to: u64) -> usize {
    let mut window = vec![0; WINDOW_BYTES];
    let mut position = from;
    while position < to {
        let len = WINDOW_BYTES.min((to - position) as usize);
        match file.read_at(black_box(&mut window[..len]), position) {
            Ok(read @ 1..) => position += read as u64,
            _ => break,
        }
    }
    (position - from) as usize
}

type Turn<'a> = Box<dyn FnMut() -> usize + 'a>;
/// A name and what makes its turn.
type Case = (&'static str, fn(&Log) -> Turn<'_>);

/// What is measured of a shape; each is made when it is its turn.
fn cases(codec: Codec) -> Vec<Case> {
    fn scan<'a>(log: &Log, split_bytes: u64, options: Arc<ScanOptions>) -> Turn<'a> {
        let splits = log.splits(split_bytes);
        Box::new(move || rows(&splits, &options))
    }
    let mut cases: Vec<Case> = vec![
        ("limit_pread", |log| {
            let file = File::open(log.path()).expect("a file");
            Box::new(move || pread(&file, 0, log.size()))
        }),
        ("limit_pread_2_threads", |log| {
            let file = File::open(log.path()).expect("a file");
            let half = log.size() / 2;
            Box::new(move || {
                std::thread::scope(|scope| {
                    let halves = [(0, half), (half, log.size())].map(|(from, to)| {
                        let file = &file;
                        scope.spawn(move || pread(file, from, to))
                    });
                    halves.into_iter().map(|it| it.join().expect("a thread")).sum()
                })
            })
        }),
        ("limit_crc32c", |log| {
            let (batch, turns) = (vec![7u8; BATCH_BYTES], log.size() as usize / BATCH_BYTES);
            Box::new(move || (0..turns).fold(0, |sum, _| sum ^ crc32c(black_box(&batch)) as usize))
        }),
        ("offset_timestamp", |log| {
            scan(log, u64::MAX, options(&[Column::Offset, Column::Timestamp], |_| ()))
        }),
        ("offset_timestamp_unchecked", |log| {
            let columns = [Column::Offset, Column::Timestamp];
            scan(log, u64::MAX, options(&columns, |it| it.check_crcs = false))
        }),
        ("seven_columns", |log| scan(log, u64::MAX, options(&SEVEN, |_| ()))),
        ("seven_columns_in_splits", |log| {
            scan(log, SPLIT_BYTES, options(&SEVEN, |_| ()))
        }),
        ("seven_columns_2_threads", |log| {
            scan(log, SPLIT_BYTES, options(&SEVEN, |it| it.threads = 2))
        }),
        ("one_key", |log| {
            let predicate = Predicate {
                keys: Some([Some(b"key-7".to_vec())].into()),
                ..Predicate::default()
            };
            scan(log, u64::MAX, options(&SEVEN, |it| it.predicate = predicate))
        }),
        ("no_timestamp_in_range", |log| {
            scan(
                log,
                u64::MAX,
                options(&SEVEN, |it| it.predicate.min_timestamp_ms = Some(i64::MAX)),
            )
        }),
    ];
    if codec != Codec::None {
        cases.push(("limit_inflate", |log| {
            let bytes = std::fs::read(log.path()).expect("a file");
            let mut inflated = Vec::new();
            Box::new(move || {
                let mut rest = &bytes[..];
                while let Ok(Some((batch, after))) = Batch::split_first(rest) {
                    inflated.clear();
                    let codec = batch.header().codec().expect("a codec");
                    decompress(codec, &batch.bytes()[BATCH_HEADER..], 1 << 30, &mut inflated).expect("good");
                    black_box(&inflated);
                    rest = after;
                }
                bytes.len()
            })
        }));
    }
    cases
}

/// What this thread has run so far, which others on the machine do not lengthen; 0 where the system does not tell.
fn cpu_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = told.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

fn scan(c: &mut Criterion) {
    // Without `--bench` each runs once, to see that it still does.
    let is_smoke = !std::env::args().any(|argument| argument == "--bench");
    let mut group = c.benchmark_group("scan");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(3))
        .warm_up_time(Duration::from_millis(500));
    for (codec, value_bytes, megabytes) in [
        (Codec::None, 1024, 200),
        (Codec::None, 1024, 2000),
        (Codec::None, 100, 2000),
        (Codec::Zstd, 1024, 400),
    ] {
        let bytes = if is_smoke { 1 << 20 } else { megabytes * 1_000_000 };
        let log = OnceCell::new();
        for (name, prepare) in cases(codec) {
            let shape = format!("{codec}_{value_bytes}_bytes_{megabytes}_mb");
            let (mut best, mut best_cpu) = (Duration::MAX, Duration::MAX);
            group.throughput(Throughput::Bytes(bytes));
            group.bench_function(BenchmarkId::new(name, shape), |b| {
                let log = log.get_or_init(|| Log::new(codec, value_bytes, bytes));
                let mut turn = prepare(log);
                b.iter_custom(|turns| {
                    let mut total = Duration::ZERO;
                    for _ in 0..turns {
                        let (start, cpu) = (Instant::now(), cpu_time());
                        black_box(turn());
                        best_cpu = best_cpu.min(cpu_time().saturating_sub(cpu));
                        best = best.min(start.elapsed());
                        total += start.elapsed();
                    }
                    total
                });
            });
            if best < Duration::MAX {
                #[expect(clippy::cast_precision_loss, reason = "a rate to three digits")]
                let rate = |time: Duration| bytes as f64 / time.as_secs_f64().max(1e-9) / 1e9;
                println!(
                    "  best {name}: {:.2} GB/s; by this thread's CPU time {:.2}",
                    rate(best),
                    rate(best_cpu)
                );
            }
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().without_plots();
    targets = scan
}
criterion_main!(benches);
