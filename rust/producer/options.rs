//! The `kafka.` options of a writer: names, values and meanings of Kafka's producer configs.
//!
//! Parses text into one [`ProducerOptions`]. Every mistake is one sentence that names the option, its value and the
//! fix. Names are matched without regard to case. Nothing is connected to, and nothing is logged: warnings are given
//! back.
//! Source: Kafka 4.4, `ProducerConfig`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::error::{ProducerError, Result};
use client::{NoServer, Security, Server, is_key, is_unused, parse_servers};
use record::Codec;

const PREFIX: &str = "kafka.";
const DECISION_TOPIC: &str = "decisionTopic";
/// Exists since the committer has its producer id.
const DEFAULT_DECISION_TOPIC: &str = "__transaction_state";
/// Options that mean something here.
const KNOWN: [&str; 19] = [
    "kafka.acks",
    "kafka.batch.size",
    "kafka.bootstrap.servers",
    "kafka.buffer.memory",
    "kafka.compression.gzip.level",
    "kafka.compression.lz4.level",
    "kafka.compression.type",
    "kafka.compression.zstd.level",
    "kafka.delivery.timeout.ms",
    "kafka.enable.idempotence",
    "kafka.linger.ms",
    "kafka.max.block.ms",
    "kafka.max.in.flight.requests.per.connection",
    "kafka.max.request.size",
    "kafka.partitioner.class",
    "kafka.partitioner.ignore.keys",
    "kafka.request.timeout.ms",
    "kafka.retry.backoff.ms",
    "kafka.transaction.timeout.ms",
];
/// Options of a write beside those of its producer; Spark itself gives the last one.
const OF_SINK: [&str; 7] = [
    "topic",
    "includeTimestamps",
    "deliveryGuarantee",
    "transactionalIdPrefix",
    DECISION_TOPIC,
    "commandConfig",
    "checkpointLocation",
];
/// Configs that Spark's Kafka sink refuses, or that have another option here; each with the fix.
const REFUSED: [(&str, &str); 4] = [
    ("kafka.key.serializer", "keys are written as binary; cast the column"),
    (
        "kafka.value.serializer",
        "values are written as binary; cast the column",
    ),
    ("kafka.transactional.id", "set transactionalIdPrefix instead"),
    (
        "kafka.interceptor.classes",
        "no code of Kafka's client is in the way; leave it out",
    ),
];
/// Kafka's own partitioner: its absence, or the class that had the same rules before Kafka 4.
const DEFAULT_PARTITIONERS: [&str; 2] = ["", "org.apache.kafka.clients.producer.internals.DefaultPartitioner"];

/// Larger than Kafka's 16 KiB: a task writes as fast as it can, and then ends.
const BATCH_BYTES: usize = 256 << 10;
const MAX_REQUEST_BYTES: usize = 1 << 20;
const BUFFER_BYTES: usize = 32 << 20;
/// With more the broker could not tell a duplicate batch from a lost one.
const MAX_IN_FLIGHT: usize = 5;
const DELIVERY_TIMEOUT_MS: u64 = 120_000;
const REQUEST_TIMEOUT_MS: u64 = 30_000;
const MAX_BLOCK_MS: u64 = 60_000;
const RETRY_BACKOFF_MS: u64 = 100;
/// The longest that a broker allows by default (`transaction.max.timeout.ms`): a transaction is open from the first
/// record of a task to the commit of the job.
const TRANSACTION_TIMEOUT_MS: u64 = 900_000;
const ACKS_ALL: i16 = -1;

/// The options of a producer.
#[derive(Debug, Clone)]
pub struct ProducerOptions {
    /// `bootstrap.servers`.
    pub servers: Vec<Server>,
    /// `security.protocol`, `ssl.*`, `sasl.*`.
    pub security: Security,
    /// `compression.type`.
    pub codec: Codec,
    /// The level of that codec; its default otherwise.
    pub level: Option<i32>,
    /// `acks`: -1, 1 or 0.
    pub acks: i16,
    /// `enable.idempotence`.
    pub is_idempotent: bool,
    /// `batch.size`: a batch of several records is not larger before its compression.
    pub batch_bytes: usize,
    /// `linger.ms`: an open batch that is older is sent when the next rows come; none waits until it is full.
    pub linger: Option<Duration>,
    /// `max.request.size`: the largest record, and the largest request of several batches.
    pub max_request_bytes: usize,
    /// `buffer.memory`: batches that are not acknowledged.
    pub buffer_bytes: usize,
    /// `max.in.flight.requests.per.connection`.
    pub max_in_flight: usize,
    /// `delivery.timeout.ms`: from the first record of a batch to its acknowledgement.
    pub delivery_timeout: Duration,
    /// `request.timeout.ms`.
    pub request_timeout: Duration,
    /// `max.block.ms`: for the metadata of a topic, and for coordinators.
    pub max_block: Duration,
    /// `retry.backoff.ms`.
    pub retry_backoff: Duration,
    /// `transaction.timeout.ms`.
    pub transaction_timeout: Duration,
    /// `partitioner.ignore.keys`.
    pub ignores_keys: bool,
    /// `decisionTopic`: decisions to commit are offsets of this topic, which has to exist, and gets no record.
    pub decision_topic: String,
}

/// The values by lower-case name, without the spaces around them.
struct Given(BTreeMap<String, String>);

impl ProducerOptions {
    /// The options of a writer, whatever else is among them, and the warnings about `kafka.` options that mean nothing.
    pub fn parse(options: &BTreeMap<String, String>) -> Result<(Self, Vec<String>)> {
        let lowered = options.iter().filter_map(|(name, value)| {
            let name = name.to_lowercase();
            name.starts_with(PREFIX).then(|| (name, value.trim().to_owned()))
        });
        let given = Given(lowered.collect());
        given.refuse_what_cannot_be_served()?;
        let codec = given.codec()?;
        let acks = given.acks()?;
        let is_idempotent = given.is_idempotent(acks)?;
        let decision_topic = options
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(DECISION_TOPIC))
            .map(|(_, topic)| topic.trim())
            .filter(|topic| !topic.is_empty());
        let parsed = Self {
            decision_topic: decision_topic.unwrap_or(DEFAULT_DECISION_TOPIC).to_owned(),
            servers: given.servers()?,
            security: given.security()?,
            codec,
            level: given.level(codec)?,
            acks,
            is_idempotent,
            batch_bytes: given.number("kafka.batch.size", BATCH_BYTES, 0..=i32::MAX as usize)?,
            linger: given.optional_ms("kafka.linger.ms")?,
            max_request_bytes: given.number("kafka.max.request.size", MAX_REQUEST_BYTES, 1..=i32::MAX as usize)?,
            buffer_bytes: given.number("kafka.buffer.memory", BUFFER_BYTES, 1..=usize::MAX)?,
            max_in_flight: given.max_in_flight(is_idempotent)?,
            delivery_timeout: given.ms("kafka.delivery.timeout.ms", DELIVERY_TIMEOUT_MS)?,
            request_timeout: given.ms("kafka.request.timeout.ms", REQUEST_TIMEOUT_MS)?,
            max_block: given.ms("kafka.max.block.ms", MAX_BLOCK_MS)?,
            retry_backoff: given.ms("kafka.retry.backoff.ms", RETRY_BACKOFF_MS)?,
            transaction_timeout: given.ms("kafka.transaction.timeout.ms", TRANSACTION_TIMEOUT_MS)?,
            ignores_keys: given.flag("kafka.partitioner.ignore.keys", false)?,
        };
        let linger = parsed.linger.unwrap_or_default();
        if parsed.delivery_timeout < linger + parsed.request_timeout {
            return Err(invalid(format!(
                "kafka.delivery.timeout.ms: {} is less than kafka.linger.ms + kafka.request.timeout.ms = {}; raise it",
                parsed.delivery_timeout.as_millis(),
                (linger + parsed.request_timeout).as_millis()
            )));
        }
        Ok((parsed, given.warnings()))
    }

    /// Refuses what makes transactions impossible.
    pub fn check_transactional(&self) -> Result<()> {
        if self.is_idempotent {
            return Ok(());
        }
        Err(invalid(
            "deliveryGuarantee: exactly-once needs kafka.enable.idempotence and kafka.acks=all; leave both out"
                .to_owned(),
        ))
    }
}

fn is_used(key: &str) -> bool {
    is_key(key) && !is_unused(key)
}

/// The warning about options of a write that mean nothing: they have no prefix, and another name than those here.
pub fn ignored_by_sink(options: &BTreeMap<String, String>) -> Option<String> {
    let is_unknown = |name: &&String| {
        let lower = name.to_lowercase();
        !lower.starts_with(PREFIX) && !OF_SINK.iter().any(|known| known.to_lowercase() == lower)
    };
    let unknown: Vec<&str> = options.keys().filter(is_unknown).map(String::as_str).collect();
    let (names, known) = (unknown.join(", "), OF_SINK.join(", "));
    (!unknown.is_empty()).then(|| {
        format!("ignored, since a write has no such option: {names} (it has {known}; the producer's begin with kafka.)")
    })
}

fn invalid(sentence: String) -> ProducerError {
    ProducerError::Invalid(sentence)
}

impl Given {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn refuse_what_cannot_be_served(&self) -> Result<()> {
        for (name, fix) in REFUSED {
            if let Some(value) = self.get(name) {
                return Err(invalid(format!("{name}: {value} is not supported here; {fix}")));
            }
        }
        let partitioner = self.get("kafka.partitioner.class").unwrap_or_default();
        if !DEFAULT_PARTITIONERS.contains(&partitioner) {
            return Err(invalid(format!(
                "kafka.partitioner.class: {partitioner} cannot be run here; give the column partition instead"
            )));
        }
        Ok(())
    }

    fn warnings(&self) -> Vec<String> {
        let unknown: Vec<String> = self
            .0
            .keys()
            .filter(|name| !KNOWN.contains(&name.as_str()) && !name.strip_prefix(PREFIX).is_some_and(is_used))
            .cloned()
            .collect();
        if unknown.is_empty() {
            return Vec::new();
        }
        vec![format!(
            "ignored, since they mean nothing to this producer: {}",
            unknown.join(", ")
        )]
    }

    fn servers(&self) -> Result<Vec<Server>> {
        let Some(text) = self.get("kafka.bootstrap.servers").filter(|text| !text.is_empty()) else {
            return Err(invalid(
                "kafka.bootstrap.servers: none is given; give host:port, as localhost:9092".to_owned(),
            ));
        };
        parse_servers(text).map_err(|NoServer { text, fix }| {
            invalid(format!(
                "kafka.bootstrap.servers: '{}' is no server; {fix}",
                text.escape_default()
            ))
        })
    }

    fn security(&self) -> Result<Security> {
        let pairs = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        Security::of_kafka_options(pairs).map_err(invalid)
    }

    fn codec(&self) -> Result<Codec> {
        let name = self.get("kafka.compression.type").unwrap_or("none");
        Codec::from_name(&name.to_lowercase()).ok_or_else(|| {
            invalid(format!(
                "kafka.compression.type: '{name}' is none; say none, gzip, snappy, lz4 or zstd"
            ))
        })
    }

    /// KIP-390.
    fn level(&self, codec: Codec) -> Result<Option<i32>> {
        let allowed = match codec {
            Codec::Gzip => 1..=9,
            Codec::Lz4 => 1..=17,
            Codec::Zstd => -131_072..=22,
            Codec::None | Codec::Snappy => return Ok(None),
        };
        let option = format!("kafka.compression.{codec}.level");
        let Some(value) = self.get(&option) else {
            return Ok(None);
        };
        let is_default = codec == Codec::Gzip && value == "-1";
        let level = value.parse().ok().filter(|level| is_default || allowed.contains(level));
        let level = level.ok_or_else(|| {
            invalid(format!(
                "{option}: '{value}' is no level; give one from {} to {}",
                allowed.start(),
                allowed.end()
            ))
        })?;
        Ok(Some(level))
    }

    fn acks(&self) -> Result<i16> {
        match self.get("kafka.acks").unwrap_or("all") {
            "all" | "-1" => Ok(ACKS_ALL),
            "1" => Ok(1),
            "0" => Ok(0),
            other => Err(invalid(format!("kafka.acks: '{other}' is none; say all, 1 or 0"))),
        }
    }

    /// As in Kafka: without an explicit `enable.idempotence`, other `acks` switch it off.
    fn is_idempotent(&self, acks: i16) -> Result<bool> {
        let wanted = self.flag("kafka.enable.idempotence", acks == ACKS_ALL)?;
        if wanted && acks != ACKS_ALL {
            return Err(invalid(format!(
                "kafka.acks: {acks} is not enough for kafka.enable.idempotence=true; set it to all"
            )));
        }
        Ok(wanted)
    }

    fn max_in_flight(&self, is_idempotent: bool) -> Result<usize> {
        let name = "kafka.max.in.flight.requests.per.connection";
        let number = self.number(name, MAX_IN_FLIGHT, 1..=usize::MAX)?;
        if is_idempotent && number > MAX_IN_FLIGHT {
            return Err(invalid(format!(
                "{name}: {number} is more than {MAX_IN_FLIGHT}, the most with kafka.enable.idempotence; lower it"
            )));
        }
        Ok(number)
    }

    fn flag(&self, name: &str, default: bool) -> Result<bool> {
        let Some(value) = self.get(name) else {
            return Ok(default);
        };
        value
            .to_lowercase()
            .parse()
            .map_err(|_| invalid(format!("{name}: '{value}' is neither true nor false; say one of them")))
    }

    fn number(&self, name: &str, default: usize, allowed: std::ops::RangeInclusive<usize>) -> Result<usize> {
        let Some(value) = self.get(name) else {
            return Ok(default);
        };
        let number = value.parse().ok().filter(|number| allowed.contains(number));
        number.ok_or_else(|| {
            invalid(format!(
                "{name}: '{value}' is no whole number of at least {}; give one",
                allowed.start()
            ))
        })
    }

    fn ms(&self, name: &str, default: u64) -> Result<Duration> {
        let default = usize::try_from(default).unwrap_or_default();
        let number = self.number(name, default, 1..=i32::MAX as usize)?;
        Ok(Duration::from_millis(number as u64))
    }

    fn optional_ms(&self, name: &str) -> Result<Option<Duration>> {
        if self.get(name).is_none() {
            return Ok(None);
        }
        let number = self.number(name, 0, 0..=i32::MAX as usize)?;
        Ok(Some(Duration::from_millis(number as u64)))
    }
}

#[cfg(test)]
mod tests {
    //! Mistakes in options, each one sentence; what other options imply.

    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::{ProducerOptions, ignored_by_sink};
    use record::Codec;

    fn parse(given: &[(&str, &str)]) -> Result<(ProducerOptions, Vec<String>), String> {
        let mut options = BTreeMap::from([("kafka.bootstrap.servers".to_owned(), "a:1".to_owned())]);
        options.extend(
            given
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        ProducerOptions::parse(&options).map_err(|error| error.to_string())
    }

    #[test]
    fn names_have_any_case_and_others_are_one_warning() {
        let (options, warnings) = parse(&[
            ("kafka.Compression.Type", "zstd"),
            ("kafka.compression.zstd.level", "-5"),
            ("kafka.linger.ms", "0"),
            ("topic", "t"),
            ("kafka.metric.reporters", "x"),
            ("kafka.client.id", "x"),
        ])
        .unwrap();
        assert_eq!((options.codec, options.level), (Codec::Zstd, Some(-5)));
        assert_eq!(options.linger, Some(Duration::ZERO));
        assert!(options.is_idempotent);
        assert_eq!(
            warnings,
            ["ignored, since they mean nothing to this producer: kafka.client.id, kafka.metric.reporters"]
        );
        assert!(!parse(&[("kafka.acks", "1")]).unwrap().0.is_idempotent);
    }

    #[test]
    fn misspelled_options_of_a_write_are_one_warning() {
        let given = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), String::new())).collect();
        let known = given(&[
            "Topic",
            "includetimestamps",
            "decisionTopic",
            "checkpointLocation",
            "kafka.linger.mss",
        ]);
        assert_eq!(ignored_by_sink(&known), None);
        let told = ignored_by_sink(&given(&["delivryGuarantee", "topic", "sasl.jaas.config"])).unwrap();
        assert!(
            told.contains(": delivryGuarantee, sasl.jaas.config (it has topic, "),
            "{told}"
        );
        let (_, warnings) = parse(&[("kafka.sasl.mechansim", "PLAIN"), ("kafka.ssl.key.password", "x")]).unwrap();
        assert_eq!(
            warnings,
            ["ignored, since they mean nothing to this producer: kafka.sasl.mechansim"]
        );
    }

    #[test]
    fn a_mistake_is_one_sentence_with_the_fix() {
        for (name, value, sentence) in [
            (
                "kafka.bootstrap.servers",
                "a:b",
                "'a:b' is no server; give host:port, as localhost:9092",
            ),
            ("kafka.acks", "2", "kafka.acks: '2' is none; say all, 1 or 0"),
            (
                "kafka.compression.type",
                "brotli",
                "say none, gzip, snappy, lz4 or zstd",
            ),
            (
                "kafka.security.protocol",
                "TLS",
                "kafka.security.protocol=TLS is not a protocol",
            ),
            ("kafka.partitioner.class", "a.B", "give the column partition instead"),
            ("kafka.transactional.id", "x", "set transactionalIdPrefix instead"),
            ("kafka.value.serializer", "x", "values are written as binary"),
            ("kafka.max.in.flight.requests.per.connection", "6", "6 is more than 5"),
            ("kafka.delivery.timeout.ms", "10", "10 is less than"),
            (
                "kafka.batch.size",
                "-1",
                "kafka.batch.size: '-1' is no whole number of at least 0; give one",
            ),
            ("kafka.enable.idempotence", "yes", "'yes' is neither true nor false"),
        ] {
            let error = parse(&[(name, value)]).unwrap_err();
            assert!(error.contains(sentence) && error.starts_with(name), "{error}");
        }
        let error = parse(&[("kafka.acks", "0"), ("kafka.enable.idempotence", "true")]).unwrap_err();
        assert!(error.contains("set it to all"), "{error}");
        let gzip = [
            ("kafka.compression.type", "gzip"),
            ("kafka.compression.gzip.level", "10"),
        ];
        assert!(parse(&gzip).unwrap_err().contains("give one from 1 to 9"));
    }
}
