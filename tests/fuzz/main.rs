//! The fuzz targets without a fuzzer, on stable: each replays its corpus, and then inputs made from the corpus by
//! seeded changes. `make fuzz` is the fuzzer itself; docs/internals/fuzzing.md has both.
//!
//! `FUZZ_SEED` is another seed than 1, `FUZZ_RUNS` how many inputs each target gets. A failure prints its input in
//! hexadecimal digits and leaves it in `target/`, from where it goes to `fuzz/corpus/`.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its corpus has to stop")]

mod changes;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use changes::Changes;
use targets::{TARGETS, Target, named};

/// Inputs of each target that are made from its corpus: a second or so, built without optimisation.
const RUNS: u64 = 3_000;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = root().join("fuzz/corpus").join(name);
    let files = std::fs::read_dir(&folder).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Runs the target; an input that fails is kept.
fn try_input(name: &str, target: Target, input: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(input))) {
        let kept = root().join("target").join(format!("fuzz-{name}-failed"));
        let _ = std::fs::write(&kept, input);
        eprintln!("{name} failed on {input:02x?}, which is in {}", kept.display());
        resume_unwind(panic);
    }
}

fn smoke(name: &str) {
    let (target, corpus) = (named(name), corpus(name));
    assert!(corpus.len() >= 3, "{name} has {} inputs", corpus.len());
    for input in &corpus {
        try_input(name, target, input);
    }
    let seed = number("FUZZ_SEED", 1);
    let mut changes = Changes::new(seed);
    for _ in 0..number("FUZZ_RUNS", RUNS) {
        try_input(name, target, &changes.input(&corpus));
    }
}

macro_rules! smoke {
    ($($target:ident)*) => {
        $(#[test] fn $target() { smoke(stringify!($target)); })*

        #[test]
        fn every_target_has_its_smoke() {
            let smoked = [$(stringify!($target)),*];
            assert!(TARGETS.iter().map(|(name, _)| *name).eq(smoked));
        }
    };
}

smoke! {
    acls batches bearer checkpoints fetch fetch_response frames gzip headers indexes legacy lz4 messages produce
    requests sasl scram snappy tls topic_records zstd
}
