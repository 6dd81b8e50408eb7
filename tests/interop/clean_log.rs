//! Opens one log, cleans it at a given time and closes it, as `tests/peer/java/LogCleaning.java` does it with Apache
//! Kafka's own classes.
//!
//! A JSON request a line on standard input, a JSON answer a line on standard output. All the work is done by the main
//! thread, so that a tracer can kill the program at its n-th call of a kind.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::io::{Clock, ManualClock};
use base::error::{Error, Result};
use base::place::Offset;
use serde::Deserialize;
use serde_json::{Value, json};
use storage::cleaner::cleaning::Buffers;
use storage::cleaner::{Cleaning, Interrupted, OffsetMap, Pace};
use storage::{Extent, LoadArgs, Log, LogConfig, LogContext, ProducerStateConfig, RecoveryProgress, TopicPartition};

/// Bytes of a slot of the map: the request counts slots, since Apache Kafka's have another size.
const SLOT_BYTES: usize = 20;

/// The fields mean what they mean in `tests/interop/cleaners.py`.
#[derive(Deserialize)]
struct Request {
    dir: PathBuf,
    config: BTreeMap<String, String>,
    now_ms: i64,
    recovery_point: i64,
    log_start: i64,
    deletes_to: i64,
    first_dirty: Option<i64>,
    is_clean_shutdown: bool,
    cleans: bool,
    deletes: bool,
    map_slots: usize,
    load_factor: f64,
    io_bytes: usize,
    producer_expiration_ms: i64,
}

/// Goes on as fast as it can.
struct AtOnce;

impl Pace for AtOnce {
    fn pass(&self, _bytes: u64) -> Result<(), Interrupted> {
        Ok(())
    }
}

fn main() -> io::Result<()> {
    let mut answers = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let answer = run(&request).unwrap_or_else(|error| json!({"error": error}));
        writeln!(answers, "{answer}")?;
        answers.flush()?;
    }
    Ok(())
}

fn run(request: &Request) -> Result<Value, String> {
    let mut log = open(request).map_err(|error| error.to_string())?;
    let (now_ms, end) = (request.now_ms, log.log_end_offset());
    log.producers_mut().remove_expired(now_ms);
    log.advance_log_start_offset(Offset(request.deletes_to), end)
        .map_err(|error| error.to_string())?;
    let mut answer = json!({"log_end": end.get(), "last_stable": log.last_stable_offset(end).get()});
    if request.deletes {
        answer["deleted"] = json!(delete(&mut log, now_ms).map_err(|error| error.to_string())?);
    }
    answer["log_start"] = json!(log.log_start_offset().get());
    if request.cleans {
        clean(&mut log, request, &mut answer)?;
    }
    log.close().map_err(|error| error.to_string())?;
    Ok(answer)
}

fn open(request: &Request) -> Result<Log> {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(request.now_ms));
    let producers = ProducerStateConfig {
        producer_id_expiration_ms: request.producer_expiration_ms,
        is_transaction_verification_enabled: false,
    };
    let context = LogContext {
        clock,
        producers,
        ..LogContext::system()
    };
    let pairs = request.config.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let config = Arc::new(LogConfig::from_pairs(pairs)?);
    let progress = RecoveryProgress::default();
    let args = LoadArgs {
        recovery_point: Offset(request.recovery_point),
        log_start_offset: Offset(request.log_start),
        first_dirty_offset: request.first_dirty.map(Offset),
        clean_shutdown: request.is_clean_shutdown,
        extent: Extent {
            is_listed: request.recovery_point > 0,
            ..Extent::default()
        },
        progress: &progress,
    };
    let dir = Path::new(&request.dir);
    let name = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let topic = name.rsplit_once('-').map_or(name, |(topic, _)| topic);
    Log::open(&context, dir, TopicPartition::new(topic, 0), config, args)
}

/// How many segments were deleted.
fn delete(log: &mut Log, now_ms: i64) -> Result<usize> {
    let deletion = log.delete_old_segments(now_ms, log.log_end_offset())?;
    let deleted = deletion.segments();
    deletion.run()?;
    Ok(deleted)
}

fn clean(log: &mut Log, request: &Request, answer: &mut Value) -> Result<(), String> {
    let failed = |error: Interrupted| format!("{error:?}");
    let (now_ms, end) = (request.now_ms, log.log_end_offset());
    let cleanable = log.cleanable(now_ms, end).map_err(|error| error.to_string())?;
    let is_due = cleanable.is_due(log.config().min_cleanable_dirty_ratio);
    answer["first_dirty"] = json!(cleanable.first_dirty.get());
    answer["first_uncleanable"] = json!(cleanable.first_uncleanable.get());
    answer["clean_bytes"] = json!(cleanable.clean_bytes);
    answer["cleanable_bytes"] = json!(cleanable.cleanable_bytes);
    answer["delay_ms"] = json!(cleanable.delay_ms);
    answer["is_due"] = json!(is_due);
    if !is_due {
        return Ok(());
    }
    let mut map = OffsetMap::new(request.map_slots * SLOT_BYTES, request.load_factor);
    let mut buffers = Buffers::new(request.io_bytes);
    let plan = log
        .plan_cleaning(cleanable, now_ms)
        .map_err(|error: Error| error.to_string())?;
    let mut cleaning = Cleaning::new(plan);
    cleaning.index_keys(&mut map, &mut buffers, &AtOnce).map_err(failed)?;
    while let Some(group) = cleaning.next_group() {
        let inputs = log.inputs_of(group, cleaning.truncations()).map_err(failed)?;
        let cleaned = cleaning
            .clean_next(&inputs, &map, &mut buffers, &AtOnce)
            .map_err(failed)?;
        let Some(cleaned) = cleaned else { break };
        let swapped = log.swap_in(cleaned, now_ms).map_err(failed)?;
        let deletion = swapped.sync().map_err(|error| error.to_string())?;
        deletion.run().map_err(|error| error.to_string())?;
    }
    log.note_cleaned(cleaning.end(), cleaning.truncations());
    answer["end"] = json!(cleaning.end().get());
    answer["kept_records"] = json!(cleaning.stats().kept_records);
    Ok(())
}
