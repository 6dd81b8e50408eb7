//! Offset checkpoints of a log directory: one offset for each partition, as text.
//!
//! ```text
//! file  := version "\n" count "\n" line*
//! line  := topic " " partition " " offset "\n"        version is 0
//! ```
//! The same frame with other lines holds leader epochs ([`super::leader_epochs`]). An empty file is an empty
//! checkpoint, as in Kafka. A checkpoint is written whole with [`Durability::Synced`]; calls for one file may not
//! overlap.

use std::fmt::Write as _;
use std::path::Path;

use super::state_file::{self, Durability, bad_format};
use super::topic_partition::{TopicPartition, is_valid_topic_name};
use ::io::FileSystem;
use base::error::Result;
use base::place::Offset;

const VERSION: &str = "0";

/// Reads an offset checkpoint; a missing file is an empty checkpoint.
pub fn read_offset_checkpoint(fs: &dyn FileSystem, path: &Path) -> Result<Vec<(TopicPartition, Offset)>> {
    let Some(text) = state_file::read_text(fs, path)? else {
        return Ok(Vec::new());
    };
    decode_offsets(&text).map_err(|reason| bad_format(path, reason))
}

/// Replaces an offset checkpoint; durable when it returns.
pub fn write_offset_checkpoint(fs: &dyn FileSystem, path: &Path, offsets: &[(TopicPartition, Offset)]) -> Result<()> {
    state_file::replace(fs, path, encode_offsets(offsets).as_bytes(), Durability::Synced)
}

/// The text of an offset checkpoint.
pub fn encode_offsets(offsets: &[(TopicPartition, Offset)]) -> String {
    encode_lines(offsets.len(), |text| {
        for (partition, offset) in offsets {
            let _ = writeln!(text, "{} {} {offset}", partition.topic, partition.partition);
        }
    })
}

/// Reads the text of an offset checkpoint; the error says what is wrong and where.
pub fn decode_offsets(text: &str) -> Result<Vec<(TopicPartition, Offset)>, String> {
    decode_lines(text, |line| {
        let mut words = line.split_ascii_whitespace();
        let (topic, partition, offset) = (words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let is_good = words.next().is_none() && is_valid_topic_name(topic) && partition >= 0;
        is_good.then(|| (TopicPartition::new(topic, partition), Offset(offset)))
    })
}

/// Writes the frame around lines that `lines` adds.
pub(super) fn encode_lines(count: usize, lines: impl FnOnce(&mut String)) -> String {
    let mut text = format!("{VERSION}\n{count}\n");
    lines(&mut text);
    text
}

/// Checks the frame and parses each entry with `line`.
pub(super) fn decode_lines<T>(text: &str, line: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    let mut lines = text.lines().enumerate();
    let Some((_, version)) = lines.next() else {
        return Ok(Vec::new());
    };
    if version.trim() != VERSION {
        return Err(format!(
            "line 1: checkpoint version is \"{version}\", but only {VERSION} is known"
        ));
    }
    let expected: usize = match lines.next().map(|(_, count)| count.trim().parse()) {
        Some(Ok(count)) => count,
        _ => return Err("line 2: the number of entries is missing or not a number".to_owned()),
    };
    let mut entries = Vec::new();
    for (at, text) in lines {
        entries.push(line(text).ok_or_else(|| format!("line {}: \"{text}\" is not an entry", at + 1))?);
    }
    if entries.len() != expected {
        return Err(format!(
            "line 2 promises {expected} entries, but there are {}",
            entries.len()
        ));
    }
    Ok(entries)
}

#[cfg(test)]
#[path = "checkpoint_tests.rs"]
mod tests;
