//! Many partitions: what it costs to create, fill, stop, start and recover them, and to keep them open.
//!
//! `cargo bench --bench storage_partitions -- [partitions] [bytes of each]` (1000 and 64 KiB; as a test 20 and 4 KiB).
//! Rows: microseconds a partition and GB/s; resident memory and descriptors while all are open. Beside the recovery
//! stands its limit: reading the same bytes and nothing else. `KAFKASTORE_BENCH_STEPS` picks steps by name in a
//! directory that stays (`KAFKASTORE_BENCH_DIR`), so that a tracer can count the calls of one of them.

#![expect(clippy::unwrap_used, reason = "a bench may panic")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use base::place::{LeaderEpoch, Offset};
use broker::{Broker, Options};
use record::{BatchBuilder, Codec, Origin};
use storage::log_loader::LoadProgress;
use storage::{LogConfig, LogContext};

const NOW_MS: i64 = 1_700_000_000_000;
const RECORD_BYTES: usize = 1000;
const RECORDS_IN_A_BATCH: usize = 16;
const STEPS: &str = "create,close,open,close,fill,crash,recover,close,read";

struct Bench {
    dir: PathBuf,
    partitions: usize,
    bytes: usize,
    broker: Option<Arc<Broker>>,
}

impl Bench {
    fn start(&mut self) -> Arc<Broker> {
        if let Some(broker) = &self.broker {
            return Arc::clone(broker);
        }
        let broker = Broker::start(1, String::new(), Options::default(), Arc::new(LogContext::system())).unwrap();
        let failed = broker
            .open_log_dirs(
                std::slice::from_ref(&self.dir),
                &HashMap::new(),
                &LoadProgress::default(),
            )
            .unwrap();
        assert!(failed.iter().all(|(_, reason)| reason.is_none()), "{failed:?}");
        self.broker = Some(Arc::clone(&broker));
        broker
    }

    fn stop(&mut self) {
        if let Some(broker) = self.broker.take() {
            broker.stop_threads();
        }
    }

    fn create(&mut self) {
        let placed: Vec<_> = (0..self.partitions).map(|i| (i as i32, self.dir.clone())).collect();
        let errors = self
            .start()
            .create_logs("bench", [7; 16], &Arc::new(LogConfig::default()), &placed);
        assert!(errors.iter().all(Option::is_none));
    }

    fn fill(&mut self) {
        let broker = self.start();
        for index in 0..self.partitions {
            let partition = broker.partition("bench", index as i32).unwrap();
            let mut left = self.bytes;
            while left > 0 {
                let mut builder = BatchBuilder::new(Codec::None);
                for _ in 0..RECORDS_IN_A_BATCH {
                    builder.append(NOW_MS, None, Some(&[b'v'; RECORD_BYTES]), &[]);
                }
                let mut batch = builder.build(Offset(0), LeaderEpoch::NONE);
                partition
                    .log()
                    .append_as_leader(&mut batch, LeaderEpoch(0), Origin::Client, NOW_MS)
                    .unwrap();
                left = left.saturating_sub(batch.len());
            }
        }
    }

    /// Reads every `.log` as recovery must, and does nothing with it.
    fn read(&self) {
        let mut buffer = vec![0; 256 * 1024];
        for index in 0..self.partitions {
            let path = self.dir.join(format!("bench-{index}/00000000000000000000.log"));
            let mut file = std::fs::File::open(path).unwrap();
            while std::io::Read::read(&mut file, &mut buffer).unwrap() > 0 {}
        }
    }

    fn run(&mut self, step: &str) {
        let begin = Instant::now();
        match step {
            "create" => self.create(),
            "close" => self.start().close_logs().unwrap(),
            "open" | "recover" => drop(self.start()),
            "fill" => self.fill(),
            "crash" => {}
            "read" => self.read(),
            other => panic!("no step is called {other}"),
        }
        let seconds = begin.elapsed().as_secs_f64();
        let (memory, files) = (resident_kib(), descriptors());
        println!(
            "{step:<8} {:9.1} ms {:9.1} us/partition {:7.2} GB/s  rss {:7} KiB  files {files}",
            seconds * 1e3,
            seconds * 1e6 / count(self.partitions),
            count(self.partitions * self.bytes) / seconds / 1e9,
            memory,
        );
        if ["close", "crash"].contains(&step) {
            self.stop();
        }
    }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let is_bench = std::env::args().any(|arg| arg == "--bench") || !numbers.is_empty();
    let (partitions, bytes) = if is_bench { (1000, 64 << 10) } else { (20, 4 << 10) };
    let kept = std::env::var_os("KAFKASTORE_BENCH_DIR").map(PathBuf::from);
    let temp = tempfile::tempdir().unwrap();
    let steps = std::env::var("KAFKASTORE_BENCH_STEPS").unwrap_or_else(|_| STEPS.to_owned());
    let mut bench = Bench {
        dir: kept.unwrap_or_else(|| Path::join(temp.path(), "logs")),
        partitions: numbers.first().copied().unwrap_or(partitions),
        bytes: numbers.get(1).copied().unwrap_or(bytes),
        broker: None,
    };
    for step in steps.split(',') {
        bench.run(step);
    }
    bench.stop();
}

/// A count for a ratio; counts here are far below what an f64 holds exactly.
#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
fn count(n: usize) -> f64 {
    n as f64
}
