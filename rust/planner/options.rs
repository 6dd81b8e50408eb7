//! The options of a read: names, values and meanings of Spark's Kafka source for a batch query, and ours beside them.
//!
//! Parses text into one [`ReadOptions`]. Every mistake is one sentence that names the option, its value and the fix.
//! Names are matched without regard to case. No file is looked at, and nothing is logged: warnings are given back.
//! Source: Spark's "Structured Streaming + Kafka Integration Guide".

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::bounds::{EARLIEST, ENDING, LATEST, RangeBound, STARTING};
use super::dirs::LogDirs;
use super::pattern::NamePattern;
use super::repr::quoted;
use super::{PlanError, Result};
use client::{Security, is_unused};
use scan::Isolation;

const STRATEGIES: [&str; 3] = ["subscribe", "subscribePattern", "assign"];
/// Every option that means something to a read of files, in the order of the warning about an unknown option.
const KNOWN: [&str; 21] = [
    "subscribe",
    "subscribePattern",
    "assign",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsets",
    "startingOffsetsByTimestampStrategy",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "endingOffsets",
    "path",
    "splitBytes",
    "checkCrcs",
    "linkDir",
    "includeHeaders",
    "failOnDataLoss",
    "ignoreCorruptBatches",
    "minPartitions",
    "kafka.isolation.level",
    "kafka.bootstrap.servers",
    "kafka.client.rack",
];
/// Options of Spark's Kafka source that a batch over files has no use for: accepted, and ignored with a warning.
const NOT_FOR_FILES: [&str; 8] = [
    "fetchoffset.numretries",
    "fetchoffset.retryintervalms",
    "groupidprefix",
    "kafkaconsumer.polltimeoutms",
    "maxoffsetspertrigger",
    "maxrecordsperpartition",
    "maxtriggerdelay",
    "minoffsetspertrigger",
];
/// Consumer configs that Spark's Kafka source refuses too, each with the fix.
const REFUSED: [(&str, &str); 5] = [
    ("kafka.auto.offset.reset", "set startingOffsets instead"),
    ("kafka.key.deserializer", "keys are given as binary; convert the column"),
    (
        "kafka.value.deserializer",
        "values are given as binary; convert the column",
    ),
    ("kafka.enable.auto.commit", "a batch commits nothing; leave it out"),
    ("kafka.interceptor.classes", "no consumer is in the way; leave it out"),
];

/// Which topics are read.
#[derive(Debug, Clone)]
pub enum TopicSelection {
    /// `subscribe`: these, in their order.
    Named(Vec<String>),
    /// `subscribePattern`: those whose whole name matches the text.
    Matching(TopicPattern),
    /// `assign`: these partitions of each topic, in order.
    Assigned(Vec<(String, Vec<i32>)>),
}

/// The text of `subscribePattern` with what it compiles to.
#[derive(Debug, Clone)]
pub struct TopicPattern {
    /// As it was given.
    pub text: String,
    pub(super) compiled: NamePattern,
}

/// The options of a read.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own, in any combination"
)]
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The log directories; there may be none when there are brokers.
    pub log_dirs: LogDirs,
    /// Which topics are read.
    pub topics: TopicSelection,
    /// Where the range begins.
    pub start: RangeBound,
    /// Where the range ends.
    pub end: RangeBound,
    /// A start by time that no record reaches is the latest offset, not a mistake.
    pub starts_at_latest_when_no_time_matches: bool,
    /// Which records are read.
    pub isolation: Isolation,
    /// The brokers that are asked how far may be read, and for the records of files that are not seen.
    pub bootstrap_servers: Option<String>,
    /// How connections to them are protected: `kafka.security.protocol`, `kafka.ssl.*` and `kafka.sasl.*`.
    pub security: Security,
    /// As `client.rack` of a consumer; empty for none.
    pub client_rack: String,
    /// Records that are gone fail the read; otherwise they are a warning.
    pub fail_on_data_loss: bool,
    /// Batches that cannot be read are a warning; otherwise they fail the read.
    pub ignore_corrupt_batches: bool,
    /// Whether the schema has the column `headers`.
    pub include_headers: bool,
    /// At least about so many shares.
    pub min_shares: Option<usize>,
    /// About so many bytes in a share.
    pub split_bytes: u64,
    /// Whether the checksum of every batch is verified.
    pub check_crcs: bool,
    /// The folder for links to the segments that are read.
    pub link_dir: Option<String>,
}

/// The values by lower-case name, without the spaces around them.
type OptionPairs = BTreeMap<String, String>;

impl ReadOptions {
    /// The options, and the warnings about options that are ignored. `default_split_bytes` depends on what a task costs
    /// the caller's kind of reader.
    pub fn parse(options: &BTreeMap<String, String>, default_split_bytes: u64) -> Result<(Self, Vec<String>)> {
        let lowered = options
            .iter()
            .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()));
        let given: OptionPairs = lowered.collect();
        for (name, fix) in REFUSED {
            if let Some(value) = given.get(name) {
                return Err(invalid(format!("{name}: {value} is not supported here; {fix}")));
            }
        }
        let warnings = ignored(options, &given);
        let topics = topics_of(&given)?;
        let (start, end) = range_of(&given)?;
        let parsed = Self {
            topics,
            start,
            end,
            isolation: isolation_of(&given)?,
            log_dirs: log_dirs_of(&given)?,
            starts_at_latest_when_no_time_matches: strategy_of(&given)?,
            bootstrap_servers: text_of(&given, "kafka.bootstrap.servers"),
            security: security_of(&given)?,
            client_rack: text_of(&given, "kafka.client.rack").unwrap_or_default(),
            fail_on_data_loss: flag_of(&given, "failOnDataLoss", true)?,
            ignore_corrupt_batches: flag_of(&given, "ignoreCorruptBatches", false)?,
            include_headers: flag_of(&given, "includeHeaders", false)?,
            min_shares: positive_of(&given, "minPartitions")?,
            split_bytes: positive_of(&given, "splitBytes")?.unwrap_or(default_split_bytes),
            check_crcs: flag_of(&given, "checkCrcs", true)?,
            link_dir: text_of(&given, "linkDir"),
        };
        Ok((parsed, warnings))
    }

    /// The log directories, or the brokers, as sentences name them.
    pub(super) fn where_it_reads(&self) -> String {
        match &self.bootstrap_servers {
            Some(servers) => servers.clone(),
            None => self.log_dirs.sentence(),
        }
    }
}

/// How connections are protected by these options.
pub(super) fn security_of(options: &BTreeMap<String, String>) -> Result<Security> {
    let pairs = options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    Security::of_kafka_options(pairs).map_err(PlanError::Invalid)
}

fn invalid(sentence: impl Display) -> PlanError {
    PlanError::Invalid(sentence.to_string())
}

fn is_known(lower: &str) -> bool {
    let mut names = KNOWN.iter().chain(&values::OPTION_NAMES);
    names.any(|known| known.to_lowercase() == lower)
}

fn ignored(options: &BTreeMap<String, String>, given: &OptionPairs) -> Vec<String> {
    let mut warnings = Vec::new();
    for name in options.keys() {
        let lower = name.to_lowercase();
        if NOT_FOR_FILES.contains(&lower.as_str()) {
            warnings.push(format!(
                "option {name} is ignored: it means nothing to a batch read of segment files"
            ));
        } else if lower.strip_prefix("kafka.").is_some_and(is_unused) {
            warnings.push(format!("option {name} is ignored: it means nothing to this client"));
        } else if !lower.starts_with("kafka.") && !is_known(&lower) {
            warnings.push(format!(
                "option {name} is ignored: there is none of this name ({})",
                KNOWN.join(", ")
            ));
        }
    }
    if given.contains_key("kafka.group.id") {
        warnings.push("option kafka.group.id is ignored: nothing is consumed through a group".to_owned());
    }
    warnings
}

/// The parts between commas, without empty parts.
fn parts_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

fn log_dirs_of(given: &OptionPairs) -> Result<LogDirs> {
    let found = LogDirs::parse(given.get("path").map_or("", String::as_str))?;
    if text_of(given, "kafka.bootstrap.servers").is_some() {
        return Ok(found);
    }
    if found.is_empty() {
        return Err(invalid(
            "path: missing; name the log directories (the broker's log.dirs), comma separated, or give \
             kafka.bootstrap.servers to read over the network",
        ));
    }
    if found.has_template() {
        return Err(invalid(format!(
            "path: {} stands for each broker's id; give kafka.bootstrap.servers, which tells them, or name the \
             directories",
            found.sentence()
        )));
    }
    Ok(found)
}

fn topics_of(given: &OptionPairs) -> Result<TopicSelection> {
    let chosen: Vec<&str> = STRATEGIES
        .into_iter()
        .filter(|name| given.contains_key(&name.to_lowercase()))
        .collect();
    let [name] = chosen[..] else {
        let said = if chosen.is_empty() {
            "none is given".to_owned()
        } else {
            format!("{} are given", chosen.join(" and "))
        };
        return Err(invalid(format!(
            "subscribe, subscribePattern, assign: {said}; give exactly one"
        )));
    };
    let value = given.get(&name.to_lowercase()).map_or("", String::as_str);
    match name {
        "subscribe" => subscribed(value),
        "subscribePattern" => {
            let compiled = NamePattern::parse(value)?;
            if value.is_empty() {
                return Err(invalid(
                    "subscribePattern: '' matches no topic; give a regular expression for whole names",
                ));
            }
            let text = value.to_owned();
            Ok(TopicSelection::Matching(TopicPattern { text, compiled }))
        }
        _ => assigned(value).map(TopicSelection::Assigned),
    }
}

fn subscribed(value: &str) -> Result<TopicSelection> {
    let mut topics: Vec<String> = Vec::new();
    for part in parts_of(value) {
        if !topics.iter().any(|topic| topic == part) {
            topics.push(part.to_owned());
        }
    }
    if topics.is_empty() {
        return Err(invalid(format!(
            "subscribe: {} names no topic; give their names, comma separated",
            quoted(value)
        )));
    }
    Ok(TopicSelection::Named(topics))
}

fn assigned(value: &str) -> Result<Vec<(String, Vec<i32>)>> {
    let Some(found) = assignment_of(value) else {
        return Err(invalid(format!(
            r#"assign: {} is not like {{"topicA":[0,1],"topicB":[2]}}; write it so"#,
            quoted(value)
        )));
    };
    if found.is_empty() {
        return Err(invalid(format!(
            r#"assign: {} names no partition; write it like {{"topicA":[0,1]}}"#,
            quoted(value)
        )));
    }
    Ok(found)
}

/// The topics with partitions, in their order, each partition once; `None` when the text is no such JSON.
fn assignment_of(value: &str) -> Option<Vec<(String, Vec<i32>)>> {
    let InOrder(entries) = serde_json::from_str(value).ok()?;
    let mut found: Vec<(String, Vec<i32>)> = Vec::new();
    for (topic, partitions) in entries {
        let number_of = |it: &Value| i32::try_from(it.as_i64()?).ok().filter(|it| *it >= 0);
        let mut numbers: Vec<i32> = partitions.as_array()?.iter().map(number_of).collect::<Option<_>>()?;
        numbers.sort_unstable();
        numbers.dedup();
        match found.iter_mut().find(|(known, _)| *known == topic) {
            Some((_, known)) => *known = numbers,
            None => found.push((topic, numbers)),
        }
    }
    found.retain(|(_, partitions)| !partitions.is_empty());
    Some(found)
}

/// The entries of a JSON object, in the order of the text.
struct InOrder(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for InOrder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct EntriesVisitor;
        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = InOrder;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<InOrder, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(InOrder(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor)
    }
}

fn range_of(given: &OptionPairs) -> Result<(RangeBound, RangeBound)> {
    let start = RangeBound::parse(given, &STARTING, EARLIEST)?;
    let end = RangeBound::parse(given, &ENDING, LATEST)?;
    start.refuse(LATEST, "the latest", "a batch begins at the earliest or at an offset")?;
    end.refuse(EARLIEST, "the earliest", "a batch ends at the latest or at an offset")?;
    start.refuse_behind(&end)?;
    Ok((start, end))
}

fn isolation_of(given: &OptionPairs) -> Result<Isolation> {
    let value = given.get("kafka.isolation.level");
    let value = value.map_or("read_uncommitted".to_owned(), |value| value.to_lowercase());
    Isolation::parse(&value).map_err(|_| {
        invalid(format!(
            "kafka.isolation.level: {} is none; say read_uncommitted or read_committed",
            quoted(&value)
        ))
    })
}

fn strategy_of(given: &OptionPairs) -> Result<bool> {
    let value = given.get("startingoffsetsbytimestampstrategy");
    let value = value.map_or("error".to_owned(), |value| value.to_lowercase());
    match value.as_str() {
        "error" => Ok(false),
        "latest" => Ok(true),
        _ => Err(invalid(format!(
            "startingOffsetsByTimestampStrategy: {} is none; say error or latest",
            quoted(&value)
        ))),
    }
}

fn text_of(given: &OptionPairs, name: &str) -> Option<String> {
    given.get(&name.to_lowercase()).filter(|it| !it.is_empty()).cloned()
}

fn flag_of(given: &OptionPairs, name: &str, default: bool) -> Result<bool> {
    let Some(value) = given.get(&name.to_lowercase()) else {
        return Ok(default);
    };
    let value = value.to_lowercase();
    value.parse().map_err(|_| {
        invalid(format!(
            "{name}: {} is neither true nor false; say one of them",
            quoted(&value)
        ))
    })
}

fn positive_of<T: FromStr + PartialOrd + From<u8>>(given: &OptionPairs, name: &str) -> Result<Option<T>> {
    let Some(value) = given.get(&name.to_lowercase()) else {
        return Ok(None);
    };
    let is_whole = value.bytes().all(|it| it.is_ascii_digit());
    match value.parse() {
        Ok(number) if is_whole && number >= T::from(1) => Ok(Some(number)),
        _ => Err(invalid(format!(
            "{name}: {} is no whole number above 0; give one",
            quoted(value)
        ))),
    }
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
