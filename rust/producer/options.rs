//! The options of a writer: names, values and meanings of Kafka's producer configs.
//!
//! Parses text into one [`ProducerOptions`]: that of Spark's options, whose names begin with `kafka.` and are matched
//! without regard to case, or that of the properties of a command. Every mistake is one sentence that names the option,
//! its value and the fix. Nothing is connected to, and nothing is logged: warnings are given back.
//! Source: Kafka 4.4, `ProducerConfig`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::error::{ProducerError, Result};
use client::{Properties, Security, Server};
use record::Codec;

/// As which Spark's tasks write.
const CLIENT_ID: &str = "kafkastore-sink";
const DECISION_TOPIC: &str = "decisionTopic";
/// Exists since the committer has its producer id.
const DEFAULT_DECISION_TOPIC: &str = "__transaction_state";
/// Options that mean something here, beside those of `client::Security`.
const KNOWN: [&str; 20] = [
    "acks",
    "batch.size",
    "bootstrap.servers",
    "buffer.memory",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delivery.timeout.ms",
    "enable.idempotence",
    "linger.ms",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "max.request.size",
    "partitioner.class",
    "partitioner.ignore.keys",
    "request.timeout.ms",
    "retries",
    "retry.backoff.ms",
    "transaction.timeout.ms",
];
/// Those that mean something to commands alone.
const OF_COMMAND: [&str; 2] = ["client.id", "transactional.id"];
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
    ("key.serializer", "keys are written as binary; cast the column"),
    ("value.serializer", "values are written as binary; cast the column"),
    ("transactional.id", "set transactionalIdPrefix instead"),
    (
        "interceptor.classes",
        "no code of Kafka's client is in the way; leave it out",
    ),
];
/// Kafka's own partitioner: its absence, or the class that had the same rules before Kafka 4.
const DEFAULT_PARTITIONERS: [&str; 2] = ["", "org.apache.kafka.clients.producer.internals.DefaultPartitioner"];

const MAX_REQUEST_BYTES: usize = 1 << 20;
const BUFFER_BYTES: usize = 32 << 20;
/// With more the broker could not tell a duplicate batch from a lost one.
const MAX_IN_FLIGHT: usize = 5;
const DELIVERY_TIMEOUT_MS: u64 = 120_000;
const REQUEST_TIMEOUT_MS: u64 = 30_000;
const MAX_BLOCK_MS: u64 = 60_000;
const RETRY_BACKOFF_MS: u64 = 100;

/// What differs between those who write.
struct Defaults {
    batch_bytes: usize,
    linger_ms: Option<u64>,
    transaction_timeout_ms: u64,
}

const OF_TASK: Defaults = Defaults {
    batch_bytes: 256 << 10, // larger than Kafka's: a task writes as fast as it can, and then ends
    linger_ms: None,
    // the longest that a broker allows by default (`transaction.max.timeout.ms`): a transaction is open from the first
    // record of a task to the commit of the job
    transaction_timeout_ms: 900_000,
};
/// Kafka's.
const OF_KAFKA: Defaults = Defaults {
    batch_bytes: 16 << 10,
    linger_ms: Some(5),
    transaction_timeout_ms: 60_000,
};
const ACKS_ALL: i16 = -1;

/// What the user of a writer calls things.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    /// Before each of Kafka's keys.
    prefix: &'static str,
    /// What the transactional id comes from.
    pub(super) transactional_id: &'static str,
    /// Which group is meant.
    pub(super) of_group: &'static str,
    /// Where a record's partition is given.
    pub(super) partition: &'static str,
}

const SPARKS: Keys = Keys {
    prefix: "kafka.",
    transactional_id: "transactionalIdPrefix",
    of_group: " of the name of transactionalIdPrefix",
    partition: "the column partition",
};
const KAFKAS: Keys = Keys {
    prefix: "",
    transactional_id: "transactional.id",
    of_group: "",
    partition: "records their partition",
};

impl Keys {
    /// One of Kafka's keys, as sentences name it.
    pub(super) fn named(self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }
}

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
    /// `retries`: how often a batch is sent again; within `delivery_timeout` in any case.
    pub retries: usize,
    /// `retry.backoff.ms`.
    pub retry_backoff: Duration,
    /// `transaction.timeout.ms`.
    pub transaction_timeout: Duration,
    /// `partitioner.ignore.keys`.
    pub ignores_keys: bool,
    /// `client.id`.
    pub client_id: String,
    /// `transactional.id`; that of a task of Spark is not known yet.
    pub transactional_id: Option<String>,
    /// Whether a batch that a broker refuses fails its records alone; else it fails the writer.
    pub goes_on: bool,
    /// What keys are called in sentences.
    pub keys: Keys,
    /// `decisionTopic`: decisions to commit are offsets of this topic, which has to exist, and gets no record.
    pub decision_topic: String,
}

impl ProducerOptions {
    /// The options of a writer of Spark, whatever else is among them, and the warnings about `kafka.` options that mean
    /// nothing.
    pub fn parse(options: &BTreeMap<String, String>) -> Result<(Self, Vec<String>)> {
        let lowered = options.iter().filter_map(|(name, value)| {
            let name = name.to_lowercase();
            Some((name.strip_prefix(SPARKS.prefix)?.to_owned(), value.clone()))
        });
        let given = Properties::new(lowered, SPARKS.prefix);
        refuse_what_cannot_be_served(&given)?;
        let mut parsed = Self::read(&given, &OF_TASK, SPARKS)?;
        let decision_topic = options
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(DECISION_TOPIC))
            .map(|(_, topic)| topic.trim())
            .filter(|topic| !topic.is_empty());
        if let Some(topic) = decision_topic {
            topic.clone_into(&mut parsed.decision_topic);
        }
        let ignored = given.ignored(&KNOWN);
        if ignored.is_empty() {
            return Ok((parsed, Vec::new()));
        }
        let warning = format!(
            "ignored, since they mean nothing to this producer: {}",
            ignored.join(", ")
        );
        Ok((parsed, vec![warning]))
    }

    /// The options of a command's producer, and the keys that have no effect.
    pub fn of_properties(given: &Properties) -> Result<(Self, Vec<String>)> {
        let mut parsed = Self::read(given, &OF_KAFKA, KAFKAS)?;
        parsed.goes_on = true;
        given
            .get("client.id")
            .unwrap_or_default()
            .clone_into(&mut parsed.client_id);
        parsed.transactional_id = given
            .get("transactional.id")
            .filter(|id| !id.is_empty())
            .map(str::to_owned);
        if parsed.transactional_id.is_some() && !parsed.is_idempotent {
            return Err(invalid(
                "transactional.id: transactions need enable.idempotence and acks=all; leave both out".to_owned(),
            ));
        }
        let known: Vec<&str> = KNOWN.iter().chain(&OF_COMMAND).copied().collect();
        Ok((parsed, given.ignored(&known)))
    }

    fn read(given: &Properties, defaults: &Defaults, keys: Keys) -> Result<Self> {
        check_partitioner(given, keys)?;
        let codec = codec(given)?;
        let acks = acks(given)?;
        let number = |key, default, allowed| given.number(key, default, allowed).map_err(invalid);
        let retries = number("retries", i32::MAX as usize, 0..=i32::MAX as usize)?;
        let is_idempotent = is_idempotent(given, acks, retries)?;
        let ms = |key, default| given.ms(key, default).map_err(invalid);
        let linger = given.optional_ms("linger.ms").map_err(invalid)?;
        let parsed = Self {
            servers: given.servers().map_err(invalid)?,
            security: given.security().map_err(invalid)?,
            codec,
            level: level(given, codec)?,
            acks,
            is_idempotent,
            batch_bytes: number("batch.size", defaults.batch_bytes, 0..=i32::MAX as usize)?,
            linger: linger.or(defaults.linger_ms.map(Duration::from_millis)),
            max_request_bytes: number("max.request.size", MAX_REQUEST_BYTES, 1..=i32::MAX as usize)?,
            buffer_bytes: number("buffer.memory", BUFFER_BYTES, 1..=usize::MAX)?,
            max_in_flight: max_in_flight(given, is_idempotent)?,
            delivery_timeout: ms("delivery.timeout.ms", DELIVERY_TIMEOUT_MS)?,
            request_timeout: ms("request.timeout.ms", REQUEST_TIMEOUT_MS)?,
            max_block: ms("max.block.ms", MAX_BLOCK_MS)?,
            retries,
            retry_backoff: ms("retry.backoff.ms", RETRY_BACKOFF_MS)?,
            transaction_timeout: ms("transaction.timeout.ms", defaults.transaction_timeout_ms)?,
            ignores_keys: given.flag("partitioner.ignore.keys", false).map_err(invalid)?,
            client_id: CLIENT_ID.to_owned(),
            transactional_id: None,
            goes_on: false,
            keys,
            decision_topic: DEFAULT_DECISION_TOPIC.to_owned(),
        };
        let linger = parsed.linger.unwrap_or_default();
        if parsed.delivery_timeout < linger + parsed.request_timeout {
            return Err(invalid(format!(
                "{}: {} is less than {} + {} = {}; raise it",
                given.named("delivery.timeout.ms"),
                parsed.delivery_timeout.as_millis(),
                given.named("linger.ms"),
                given.named("request.timeout.ms"),
                (linger + parsed.request_timeout).as_millis()
            )));
        }
        Ok(parsed)
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

/// The warning about options of a write that mean nothing: they have no prefix, and another name than those here.
pub fn ignored_by_sink(options: &BTreeMap<String, String>) -> Option<String> {
    let is_unknown = |name: &&String| {
        let lower = name.to_lowercase();
        !lower.starts_with(SPARKS.prefix) && !OF_SINK.iter().any(|known| known.to_lowercase() == lower)
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

fn refuse_what_cannot_be_served(given: &Properties) -> Result<()> {
    for (key, fix) in REFUSED {
        if let Some(value) = given.get(key) {
            let name = given.named(key);
            return Err(invalid(format!("{name}: {value} is not supported here; {fix}")));
        }
    }
    Ok(())
}

fn check_partitioner(given: &Properties, keys: Keys) -> Result<()> {
    let partitioner = given.get("partitioner.class").unwrap_or_default();
    if DEFAULT_PARTITIONERS.contains(&partitioner) {
        return Ok(());
    }
    Err(invalid(format!(
        "{}: {partitioner} cannot be run here; give {} instead",
        given.named("partitioner.class"),
        keys.partition
    )))
}

fn codec(given: &Properties) -> Result<Codec> {
    let name = given.get("compression.type").unwrap_or("none");
    Codec::from_name(&name.to_lowercase()).ok_or_else(|| {
        invalid(format!(
            "{}: '{name}' is none; say none, gzip, snappy, lz4 or zstd",
            given.named("compression.type")
        ))
    })
}

/// KIP-390.
fn level(given: &Properties, codec: Codec) -> Result<Option<i32>> {
    let allowed = match codec {
        Codec::Gzip => 1..=9,
        Codec::Lz4 => 1..=17,
        Codec::Zstd => -131_072..=22,
        Codec::None | Codec::Snappy => return Ok(None),
    };
    let key = format!("compression.{codec}.level");
    let Some(value) = given.get(&key) else {
        return Ok(None);
    };
    let is_default = codec == Codec::Gzip && value == "-1";
    let level = value.parse().ok().filter(|level| is_default || allowed.contains(level));
    let level = level.ok_or_else(|| {
        invalid(format!(
            "{}: '{value}' is no level; give one from {} to {}",
            given.named(&key),
            allowed.start(),
            allowed.end()
        ))
    })?;
    Ok(Some(level))
}

fn acks(given: &Properties) -> Result<i16> {
    match given.get("acks").unwrap_or("all") {
        "all" | "-1" => Ok(ACKS_ALL),
        "1" => Ok(1),
        "0" => Ok(0),
        other => Err(invalid(format!(
            "{}: '{other}' is none; say all, 1 or 0",
            given.named("acks")
        ))),
    }
}

/// As in Kafka: without an explicit `enable.idempotence`, other `acks` switch it off, and so does `retries=0`.
fn is_idempotent(given: &Properties, acks: i16, retries: usize) -> Result<bool> {
    let default = acks == ACKS_ALL && retries > 0;
    let wanted = given.flag("enable.idempotence", default).map_err(invalid)?;
    if wanted && retries == 0 {
        return Err(invalid(format!(
            "{}: 0 is not enough for {}=true; leave it out",
            given.named("retries"),
            given.named("enable.idempotence")
        )));
    }
    if wanted && acks != ACKS_ALL {
        return Err(invalid(format!(
            "{}: {acks} is not enough for {}=true; set it to all",
            given.named("acks"),
            given.named("enable.idempotence")
        )));
    }
    Ok(wanted)
}

fn max_in_flight(given: &Properties, is_idempotent: bool) -> Result<usize> {
    let key = "max.in.flight.requests.per.connection";
    let number = given.number(key, MAX_IN_FLIGHT, 1..=usize::MAX).map_err(invalid)?;
    if is_idempotent && number > MAX_IN_FLIGHT {
        return Err(invalid(format!(
            "{}: {number} is more than {MAX_IN_FLIGHT}, the most with {}; lower it",
            given.named(key),
            given.named("enable.idempotence")
        )));
    }
    Ok(number)
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
