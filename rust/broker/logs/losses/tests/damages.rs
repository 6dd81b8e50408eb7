//! Random damage to log directories, after a kill and after a clean stop: every record is served as it was, or named in
//! the log.
//!
//! `DAMAGES=400 cargo test --package broker random_damage` does four hundred of each kind, `SEED=` others than the
//! usual ones. Each is one of: a flipped bit, a cut, an emptied or deleted file, zeros at the end; of a `.log`, an
//! index, a snapshot, a checkpoint, a marker, of a partition's directory or of the log directory. A refusal is answered
//! as its sentence says, until the broker starts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use record::Batches;
use storage::checkpoint::encode_offsets;
use storage::log_dir::Checkpoint;
use storage::testing::producer_batch;

const PARTITIONS: i32 = 2;
const BATCHES: i32 = 120;
const MAGIC_AT: usize = 16;
/// Sentences after which a start must have succeeded.
const REFUSALS: usize = 8;

/// By partition and offset of a batch its bytes, and the offset after it.
type Content = BTreeMap<(i32, i64), (i64, Vec<u8>)>;

/// A generator of numbers that anybody can repeat.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}

/// What a run wrote, and how it ended.
struct Golden {
    dir: tempfile::TempDir,
    content: Content,
}

fn golden(is_clean: bool) -> Golden {
    let dir = tempfile::tempdir().unwrap();
    let (broker, opened) = start(dir.path(), LossPolicy::default());
    opened.unwrap();
    let config = Arc::new(LogConfig::from_pairs([("segment.bytes", "6000"), ("index.interval.bytes", "500")]).unwrap());
    let placed: Vec<_> = (0..PARTITIONS).map(|index| (index, dir.path().to_path_buf())).collect();
    broker.logs().create("orders", [7; 16], &config, &placed);
    for index in 0..PARTITIONS {
        let partition = broker.partition("orders", index).unwrap();
        for number in 0..BATCHES {
            let mut bytes = if number % 3 == 0 {
                producer_batch(START_MS, i64::from(index) + 5, number / 3, false)
            } else {
                batch(
                    START_MS + i64::from(number),
                    1 + number as usize % 3,
                    40 + number as usize,
                )
            };
            partition
                .log()
                .append_as_leader(&mut bytes, LeaderEpoch(number / 50), Origin::Client, START_MS)
                .unwrap();
            if number == BATCHES / 2 {
                partition.log().flush().unwrap();
            }
        }
        partition.refresh();
    }
    let mut content = Content::new();
    for index in 0..PARTITIONS {
        served(&broker, index, &mut content);
    }
    // Nobody leads, so the high watermark is written as a leader without followers has it.
    let ends: Vec<_> = broker
        .logs()
        .hosted()
        .iter()
        .map(|log| (log.index, log.log_end))
        .collect();
    if is_clean {
        broker.logs().close().unwrap();
    } else {
        broker
            .logs()
            .dirs()
            .write_checkpoints(&[Checkpoint::RecoveryPoint, Checkpoint::LogStart])
            .unwrap();
        broker.logs().dirs().open().clear();
    }
    let rows: Vec<_> = ends
        .iter()
        .map(|(index, end)| (TopicPartition::new("orders", *index), *end))
        .collect();
    let checkpoint = dir.path().join("replication-offset-checkpoint");
    fs::write(checkpoint, encode_offsets(&rows)).unwrap();
    Golden { dir, content }
}

/// Adds what can be read of a partition, by whole batches with a right CRC.
fn served(broker: &Broker, index: i32, into: &mut Content) {
    let Ok(partition) = broker.partition("orders", index) else {
        return;
    };
    let log = partition.log();
    let mut at = log.log_start_offset();
    while at < log.log_end_offset() {
        let Ok(slice) = log
            .plan_read(at, log.log_end_offset())
            .and_then(|plan| plan.resolve(1 << 20, true))
        else {
            return;
        };
        let mut bytes = vec![0; slice.len];
        slice.file.read_exact_at(&mut bytes, slice.position.get()).unwrap();
        let before = at;
        for batch in Batches::new(&bytes) {
            let Ok(batch) = batch else { return };
            let header = batch.header();
            at = header.next_offset();
            if batch.verify_crc().is_ok() {
                into.insert((index, header.base_offset.get()), (at.get(), batch.bytes().to_vec()));
            }
        }
        if at == before {
            return;
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            let modified = entry.metadata().unwrap().modified().unwrap();
            fs::File::options()
                .write(true)
                .open(&target)
                .unwrap()
                .set_modified(modified)
                .unwrap();
        }
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap()) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if !["meta.properties", ".lock"].contains(&entry.file_name().to_str().unwrap()) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Harms one file; says how.
fn harm(dir: &Path, chance: &mut Chance) -> String {
    let all = files(dir);
    let is_log = |path: &&PathBuf| path.extension().is_some_and(|it| it == "log");
    let logs: Vec<_> = all.iter().filter(is_log).collect();
    // Half of them are of what matters most.
    let path = if chance.below(2) == 0 {
        logs[chance.below(logs.len())]
    } else {
        &all[chance.below(all.len())]
    };
    let mut bytes = fs::read(path).unwrap();
    let what = match chance.below(5) {
        0 if !bytes.is_empty() => {
            let at = chance.below(bytes.len());
            bytes[at] ^= 1 << chance.below(8);
            fs::write(path, &bytes).unwrap();
            format!("bit flipped at {at}")
        }
        1 if !bytes.is_empty() => {
            let len = chance.below(bytes.len());
            fs::write(path, &bytes[..len]).unwrap();
            format!("cut to {len}")
        }
        2 => {
            fs::write(path, b"").unwrap();
            "emptied".to_owned()
        }
        3 => {
            fs::remove_file(path).unwrap();
            "deleted".to_owned()
        }
        _ => {
            bytes.extend(vec![0; 1 + chance.below(5000)]);
            fs::write(path, &bytes).unwrap();
            "zeros appended".to_owned()
        }
    };
    format!("{} {what}", path.strip_prefix(dir).unwrap().display())
}

/// The losses that a refusal asks to accept.
fn asked(message: &str) -> Option<Vec<(TopicPartition, i64)>> {
    let (_, list) = message.rsplit_once("kafkastore.accept.log.loss=")?;
    let entry = |text: &str| {
        let (name, end) = text.rsplit_once(':')?;
        let (topic, index) = name.rsplit_once('-')?;
        Some((TopicPartition::new(topic, index.parse().ok()?), end.parse().ok()?))
    };
    list.split(',').map(entry).collect()
}

/// The offsets of a partition that the sentences name.
fn is_named(texts: &[String], index: i32, offset: i64) -> bool {
    let of_partition = texts.iter().filter(|text| text.contains(&format!("orders-{index}")));
    of_partition
        .flat_map(|text| text.split("offsets ").skip(1))
        .any(|range| {
            let number = |text: &str| {
                text.split(|c: char| !c.is_ascii_digit())
                    .next()
                    .and_then(|digits| digits.parse::<i64>().ok())
            };
            match range.strip_prefix("from ") {
                Some(rest) => number(rest).is_some_and(|from| from <= offset),
                None => number(range)
                    .zip(range.split_once(" to ").and_then(|(_, to)| number(to)))
                    .is_some_and(|(from, to)| (from..=to).contains(&offset)),
            }
        })
}

#[derive(Default)]
struct Tally {
    served: usize,
    named: usize,
    refused: usize,
}

fn trial(golden: &Golden, seed: u64, tally: &mut Tally) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    copy(golden.dir.path(), dir.path());
    let mut chance = Chance(seed);
    chance.below(2);
    let what = harm(dir.path(), &mut chance);
    let mut texts = Vec::new();
    let mut accepted: HashMap<TopicPartition, Vec<Offset>> = HashMap::new();
    for _ in 0..REFUSALS {
        let policy = LossPolicy {
            accepted: accepted.clone(),
            ..LossPolicy::default()
        };
        let (broker, opened) = start(dir.path(), policy);
        texts.extend(broker.logs().losses().take_notes().into_iter().map(|note| note.text));
        if let Err(error) = opened {
            let message = error.to_string();
            if let Some((path, _)) = message.split_once(": ")
                && path.ends_with("partition.metadata")
                && message.contains("remove the file")
            {
                fs::remove_file(path).unwrap();
                continue;
            }
            let Some(losses) = asked(&message) else {
                return Err(format!("seed {seed}: {what}: refused without a way out: {message}"));
            };
            texts.push(message);
            tally.refused += 1;
            for (partition, end) in losses {
                accepted.entry(partition).or_default().push(Offset(end));
            }
            continue;
        }
        let mut content = Content::new();
        (0..PARTITIONS).for_each(|index| served(&broker, index, &mut content));
        for (key @ (index, base), (next, bytes)) in &golden.content {
            let records = usize::try_from(next - base).unwrap();
            match content.get(key) {
                // The leader epoch before it is not covered by the CRC.
                Some((_, read)) if read[MAGIC_AT..] == bytes[MAGIC_AT..] => tally.served += records,
                Some(_) => {
                    return Err(format!(
                        "seed {seed}: {what}: orders-{index} has other bytes at offset {base}"
                    ));
                }
                None if (*base..*next).all(|offset| is_named(&texts, *index, offset)) => tally.named += records,
                None => {
                    return Err(format!(
                        "seed {seed}: {what}: offset {base} of orders-{index} is neither served nor named in {texts:#?}"
                    ));
                }
            }
        }
        if let Some((key, _)) = content.iter().find(|(key, _)| !golden.content.contains_key(key)) {
            return Err(format!("seed {seed}: {what}: {key:?} was never written"));
        }
        return Ok(());
    }
    Err(format!("seed {seed}: {what}: still refused: {texts:#?}"))
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

fn run(is_clean: bool) {
    let golden = golden(is_clean);
    let records: i64 = golden.content.iter().map(|((_, base), (next, _))| next - base).sum();
    let (count, first) = (number("DAMAGES", 40), number("SEED", 1));
    let mut tally = Tally::default();
    let mut broken = Vec::new();
    for seed in first..first + count {
        broken.extend(trial(&golden, seed, &mut tally).err());
    }
    let Tally { served, named, refused } = tally;
    println!(
        "{count} damages after a {}: {} of {records} records each; {served} served, {named} named, {refused} refusals, \
         {} broken",
        if is_clean { "clean stop" } else { "kill" },
        count,
        broken.len()
    );
    assert!(
        broken.is_empty(),
        "{} broken:\n{}",
        broken.len(),
        broken[..broken.len().min(5)].join("\n")
    );
    assert!(named > 0 && refused > 0, "the damage did no harm");
}

#[test]
fn random_damage_after_a_kill_loses_no_record_in_silence() {
    run(false);
}

#[test]
fn random_damage_after_a_clean_stop_loses_no_record_in_silence() {
    run(true);
}
