//! A whole producer against a socket that loses answers, answers out of turn with errors, and keeps what it was sent as
//! a broker would: each record once and in order.
//!
//! The socket proves the producer's side: sequences, what is sent again, and when it gives up. That it is Kafka's
//! protocol is proven with brokers (`tests/spark/test_sink.py`).

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{DeliveryReport, Producer, ProducerOptions, RowFields, put_row};
use base::error::ErrorCode;
use protocol::ProduceRequest;
use protocol::messages::Message;
use protocol::messages::init_producer_id::InitProducerIdResponse;
use protocol::messages::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use protocol::messages::produce::{PartitionProduceResponse, ProduceResponse, TopicProduceResponse};
use record::Batch;

const NONE: i16 = 0;
const NOT_LEADER: i16 = 6;
const TOO_LARGE: i16 = 10;
const OUT_OF_ORDER: i16 = 45;
const DUPLICATE: i16 = 46;
const FENCED: i16 = 47;
const UNKNOWN_PRODUCER: i16 = 59;
const INVALID_RECORD: i16 = 87;
const LIMIT: Duration = Duration::from_mins(2);

/// What happens to a Produce request, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Appended and answered.
    Taken,
    /// Appended, and the connection closes without an answer.
    Unanswered,
    /// The connection closes.
    Dropped,
    /// Refused with the error.
    Refused(i16),
    /// Refused, since nothing is known of the producer any more.
    Forgotten,
}

/// The log of one partition, as a broker keeps it for an idempotent producer.
#[derive(Default)]
struct Log {
    values: Vec<String>,
    next_sequence: i32,
    /// The sequences of the last five batches.
    last: Vec<i32>,
    requests: usize,
    /// Whose last batch it is; each producer has another id.
    producer_id: i64,
    given_ids: i64,
    /// The producer of which nothing is taken any more.
    forgotten: Option<i64>,
}

impl Log {
    /// The error for a batch.
    fn append(&mut self, bytes: &[u8], most_bytes: usize) -> i16 {
        let (batch, _) = Batch::split_first(bytes).unwrap().unwrap();
        batch.verify_crc().unwrap();
        let sequence = batch.header().base_sequence;
        let producer_id = batch.header().producer_id;
        if bytes.len() > most_bytes {
            return TOO_LARGE;
        }
        if self.forgotten == Some(producer_id) {
            return UNKNOWN_PRODUCER;
        }
        if self.producer_id != producer_id {
            (self.producer_id, self.next_sequence) = (producer_id, 0);
            self.last.clear();
        }
        if self.last.contains(&sequence) {
            return DUPLICATE;
        }
        if sequence != self.next_sequence && !self.last.is_empty() {
            return OUT_OF_ORDER; // of a producer that it does not know a broker takes any sequence
        }
        let mut scratch = Vec::new();
        for record in batch.records(&mut scratch, usize::MAX).unwrap() {
            let value = record.unwrap().value.unwrap().to_vec();
            self.values.push(String::from_utf8(value).unwrap());
            self.next_sequence += 1;
        }
        self.last.push(sequence);
        if self.last.len() > 5 {
            self.last.remove(0);
        }
        NONE
    }
}

/// A broker of one topic `t` with one partition.
struct Broker {
    address: String,
    log: Arc<Mutex<Log>>,
}

impl Broker {
    fn start(most_bytes: usize, fate: impl Fn(usize) -> Fate + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let log = Arc::new(Mutex::new(Log::default()));
        let (kept, fate) = (Arc::clone(&log), Arc::new(fate));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (log, fate) = (Arc::clone(&kept), Arc::clone(&fate));
                thread::spawn(move || serve(stream.unwrap(), port, &log, most_bytes, &*fate));
            }
        });
        Self {
            address: format!("127.0.0.1:{port}"),
            log,
        }
    }

    fn producer(&self, more: &[(&str, &str)]) -> Producer {
        let mut options = BTreeMap::from([("kafka.bootstrap.servers".to_owned(), self.address.clone())]);
        options.insert("kafka.retry.backoff.ms".to_owned(), "5".to_owned());
        options.extend(
            more.iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let mut producer = Producer::new(Arc::new(ProducerOptions::parse(&options).unwrap().0));
        producer.begin(Some("t"), None);
        producer
    }
}

fn serve(mut stream: TcpStream, port: u16, log: &Mutex<Log>, most_bytes: usize, fate: &dyn Fn(usize) -> Fate) {
    let mut size = [0; 4];
    while stream.read_exact(&mut size).is_ok() {
        let mut request = vec![0; i32::from_be_bytes(size) as usize];
        if stream.read_exact(&mut request).is_err() {
            return;
        }
        let client_id_len = i16::from_be_bytes([request[8], request[9]]) as usize;
        let body = &request[10 + client_id_len..];
        let mut answer = request[4..8].to_vec();
        match i16::from_be_bytes([request[0], request[1]]) {
            3 => metadata(&mut answer, port),
            22 => producer_id(&mut answer, log),
            0 => match produce(body, log, most_bytes, fate) {
                Some(error) => produced(&mut answer, error),
                None => return,
            },
            other => panic!("API {other}"),
        }
        let mut sent = (answer.len() as i32).to_be_bytes().to_vec();
        sent.extend(answer);
        if stream.write_all(&sent).is_err() {
            return;
        }
    }
}

fn metadata(answer: &mut Vec<u8>, port: u16) {
    let broker = MetadataResponseBroker {
        node_id: 7,
        host: "127.0.0.1",
        port: i32::from(port),
        rack: None,
    };
    let partition = MetadataResponsePartition {
        leader_id: 7,
        ..Default::default()
    };
    let told = MetadataResponse {
        brokers: vec![broker],
        topics: vec![MetadataResponseTopic {
            name: "t",
            partitions: vec![partition],
            ..Default::default()
        }],
        ..Default::default()
    };
    told.encode(answer, 7);
}

fn producer_id(answer: &mut Vec<u8>, log: &Mutex<Log>) {
    let mut log = log.lock();
    log.given_ids += 1;
    let given = InitProducerIdResponse {
        producer_id: 4000 + log.given_ids,
        producer_epoch: 3,
        ..Default::default()
    };
    given.encode(answer, 1);
}

/// The answer's error; `None` when there is no answer.
fn produce(body: &[u8], log: &Mutex<Log>, most_bytes: usize, fate: &dyn Fn(usize) -> Fate) -> Option<i16> {
    let mut request = ProduceRequest::default();
    request.decode(8, body).unwrap();
    let records = request.partitions[0].records.clone().unwrap();
    let mut log = log.lock();
    log.requests += 1;
    match fate(log.requests) {
        Fate::Taken => Some(log.append(&body[records], most_bytes)),
        Fate::Unanswered => {
            log.append(&body[records], most_bytes);
            None
        }
        Fate::Dropped => None,
        Fate::Refused(error) => Some(error),
        Fate::Forgotten => {
            log.forgotten = Some(log.producer_id);
            Some(UNKNOWN_PRODUCER)
        }
    }
}

fn produced(answer: &mut Vec<u8>, error: i16) {
    let partition = PartitionProduceResponse {
        error_code: ErrorCode(error),
        ..Default::default()
    };
    let told = ProduceResponse {
        responses: vec![TopicProduceResponse {
            name: "t",
            partition_responses: vec![partition],
        }],
        ..Default::default()
    };
    told.encode(answer, 8);
}

fn block(values: impl Iterator<Item = String>) -> Vec<u8> {
    let mut block = Vec::new();
    for value in values {
        for field in [-1, -2, -1, value.len() as i32, 0, -1, -1] {
            block.extend(field.to_le_bytes());
        }
        block.extend(value.as_bytes());
    }
    block
}

fn values(range: std::ops::Range<u32>) -> impl Iterator<Item = String> {
    range.map(|number| format!("value {number:>40}"))
}

/// Writes some thousand records in many small batches; the broker then has each once and in order.
fn write_all(broker: &Broker, producer: &mut Producer) {
    for start in (0..2000).step_by(100) {
        producer.append(&block(values(start..start + 100))).unwrap();
    }
    let written = producer.flush(LIMIT).unwrap().unwrap();
    assert_eq!(written.records, 2000);
    assert!(producer.is_reusable());
    let log = broker.log.lock();
    assert_eq!(log.values, values(0..2000).collect::<Vec<_>>());
}

#[test]
fn lost_requests_and_answers_leave_each_record_once_and_in_order() {
    let broker = Broker::start(usize::MAX, |number| match number % 7 {
        2 => Fate::Unanswered,
        4 => Fate::Dropped,
        5 => Fate::Refused(NOT_LEADER),
        _ => Fate::Taken,
    });
    write_all(&broker, &mut broker.producer(&[("kafka.batch.size", "1500")]));
    assert!(broker.log.lock().requests > 80, "many small batches");
}

/// A broker that has just become the leader refuses one batch and takes the next; so the first batch goes alone.
#[test]
fn a_partition_that_is_not_led_yet_gets_the_first_batch_first() {
    for refused in 1..4 {
        let broker = Broker::start(usize::MAX, move |number| {
            if number < refused {
                Fate::Refused(NOT_LEADER)
            } else {
                Fate::Taken
            }
        });
        write_all(&broker, &mut broker.producer(&[("kafka.batch.size", "1500")]));
    }
}

#[test]
fn a_batch_that_is_too_large_is_cut_until_it_fits() {
    let broker = Broker::start(700, |number| if number == 3 { Fate::Unanswered } else { Fate::Taken });
    write_all(&broker, &mut broker.producer(&[("kafka.batch.size", "9000")]));
}

#[test]
fn a_producer_goes_on_with_its_sequences_in_the_next_task() {
    let broker = Broker::start(usize::MAX, |_| Fate::Taken);
    let mut producer = broker.producer(&[]);
    for task in 0..3 {
        producer.begin(Some("t"), None);
        producer.append(&block(values(task * 10..task * 10 + 10))).unwrap();
        assert_eq!(producer.flush(LIMIT).unwrap().unwrap().records, 10);
    }
    assert_eq!(broker.log.lock().values, values(0..30).collect::<Vec<_>>());
}

#[test]
fn what_a_broker_never_takes_is_given_up_in_one_sentence() {
    let broker = Broker::start(usize::MAX, |_| Fate::Refused(NOT_LEADER));
    let limits = [
        ("kafka.delivery.timeout.ms", "300"),
        ("kafka.request.timeout.ms", "200"),
    ];
    let mut producer = broker.producer(&limits);
    producer.append(&block(values(0..10))).unwrap();
    let begun = Instant::now();
    let error = producer.flush(LIMIT).unwrap_err().to_string();
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(
        error.starts_with("t-0: 10 records were not taken within kafka.delivery.timeout.ms = 300 ms (NOT_LEADER"),
        "{error}"
    );
    assert_eq!(producer.flush(LIMIT).unwrap_err().to_string(), error, "it stays failed");
    assert!(!producer.is_reusable());
}

#[test]
fn a_broker_that_hangs_is_asked_again_over_a_new_connection() {
    let broker = Broker::start(usize::MAX, |number| {
        if number == 1 {
            thread::sleep(Duration::from_millis(400));
        }
        Fate::Taken
    });
    let mut producer = broker.producer(&[("kafka.request.timeout.ms", "100")]);
    producer.append(&block(values(0..10))).unwrap();
    assert_eq!(producer.flush(LIMIT).unwrap().unwrap().records, 10);
    let log = broker.log.lock();
    assert_eq!(log.values.len(), 10);
    assert!(log.requests > 1);
}

#[test]
fn lost_records_and_a_fenced_producer_are_final() {
    for (error, sentence) in [
        (OUT_OF_ORDER, "t-0: the broker misses records that it had acknowledged"),
        (FENCED, "was ended from outside (INVALID_PRODUCER_EPOCH)"),
    ] {
        let broker = Broker::start(
            usize::MAX,
            move |number| {
                if number == 1 { Fate::Taken } else { Fate::Refused(error) }
            },
        );
        let mut producer = broker.producer(&[]);
        producer.append(&block(values(0..10))).unwrap();
        producer.flush(LIMIT).unwrap();
        producer.append(&block(values(10..20))).unwrap();
        let told = producer.flush(LIMIT).unwrap_err().to_string();
        assert!(told.contains(sentence), "{told}");
    }
}

/// What a command's producer writes; it goes on after what a broker refuses.
fn command(broker: &Broker, more: &[(&str, &str)]) -> Producer {
    let mut given = vec![
        ("bootstrap.servers", broker.address.as_str()),
        ("batch.size", "1500"),
        ("retry.backoff.ms", "5"),
    ];
    given.extend(more);
    let given = given.into_iter().map(|(key, value)| (key, value.to_owned()));
    let (options, ignored) = ProducerOptions::of_properties(&client::Properties::new(given, "")).unwrap();
    assert!(ignored.is_empty(), "{ignored:?}");
    Producer::new(Arc::new(options))
}

fn send_all(producer: &mut Producer) -> Vec<DeliveryReport> {
    producer.find("t").unwrap();
    for start in (0..2000).step_by(100) {
        producer.send_rows("t", &block(values(start..start + 100))).unwrap();
    }
    assert!(producer.flush_reports(LIMIT).unwrap());
    assert_eq!(producer.pending(), (0, 0));
    let reports = producer.poll_reports(Duration::ZERO).unwrap();
    assert_eq!(reports.iter().map(|report| report.count).sum::<u64>(), 2000);
    let waited = reports.iter().flat_map(|report| &report.waited);
    assert_eq!(waited.map(|(_, count)| *count).sum::<i32>(), 2000);
    reports
}

/// Every record but those of the reports that failed, in order.
fn assert_rest_is_written(broker: &Broker, reports: &[DeliveryReport], failed: usize) {
    let (written, refused): (Vec<_>, Vec<_>) = reports.iter().partition(|report| report.end.is_ok());
    assert_eq!(refused.len(), failed);
    let log = broker.log.lock();
    assert_eq!(
        log.values.len() as u64,
        written.iter().map(|report| report.count).sum::<u64>()
    );
    assert!(log.values.is_sorted());
    let mut once = log.values.clone();
    once.dedup();
    assert_eq!(once.len(), log.values.len());
}

#[test]
fn a_refused_batch_fails_alone_and_those_behind_it_get_its_sequences() {
    let broker = Broker::start(usize::MAX, |number| match number {
        1 | 8 | 9 | 30 => Fate::Refused(INVALID_RECORD),
        13 => Fate::Unanswered,
        17 => Fate::Refused(NOT_LEADER),
        _ => Fate::Taken,
    });
    let reports = send_all(&mut command(&broker, &[]));
    assert_rest_is_written(&broker, &reports, 4);
    assert_eq!(broker.log.lock().given_ids, 1, "as the same producer");
    let (error, sentence) = reports.iter().find_map(|report| report.end.clone().err()).unwrap();
    assert_eq!(error, ErrorCode::INVALID_RECORD);
    assert_eq!(sentence, "t-0: the broker's log says why (INVALID_RECORD)");
}

#[test]
fn a_producer_that_the_broker_forgot_becomes_another_one_and_loses_nothing() {
    let broker = Broker::start(usize::MAX, |number| match number {
        7 | 20 => Fate::Forgotten,
        _ => Fate::Taken,
    });
    let reports = send_all(&mut command(&broker, &[]));
    assert_rest_is_written(&broker, &reports, 0);
    assert_eq!(broker.log.lock().given_ids, 3);
}

#[test]
fn batches_that_are_too_old_fail_and_later_ones_are_written() {
    let broker = Broker::start(
        usize::MAX,
        |number| {
            if number < 4 { Fate::Unanswered } else { Fate::Taken }
        },
    );
    let limits = [
        ("delivery.timeout.ms", "120"),
        ("request.timeout.ms", "100"),
        ("linger.ms", "0"),
        ("retry.backoff.ms", "60"),
    ];
    let mut producer = command(&broker, &limits);
    producer.find("t").unwrap();
    producer.send_rows("t", &block(values(0..10))).unwrap();
    assert!(producer.flush_reports(LIMIT).unwrap());
    producer.send_rows("t", &block(values(10..20))).unwrap();
    assert!(producer.flush_reports(LIMIT).unwrap());
    let ends = producer.poll_reports(Duration::ZERO).unwrap();
    let (error, sentence) = ends[0].end.clone().unwrap_err();
    assert_eq!(error, ErrorCode::REQUEST_TIMED_OUT);
    assert!(
        sentence.starts_with("t-0: 10 records were not taken within delivery.timeout.ms = 120 ms ("),
        "{sentence}"
    );
    assert!(ends[1].end.is_ok(), "{ends:?}");
    assert_eq!(broker.log.lock().values.last(), values(19..20).last().as_ref());
}

#[test]
fn rows_that_no_batch_takes_and_calls_out_of_turn_are_sentences() {
    let broker = Broker::start(usize::MAX, |_| Fate::Taken);
    let mut producer = command(&broker, &[("max.request.size", "60")]);
    producer.find("t").unwrap();
    producer.send_rows("t", &block(values(0..1))).unwrap();
    let mut row = Vec::new();
    let fields = RowFields {
        partition: Some(9),
        ..RowFields::default()
    };
    put_row(&mut row, &fields, &[]);
    producer.send_rows("t", &row).unwrap();
    let ends = producer.poll_reports(Duration::ZERO).unwrap();
    let told: Vec<String> = ends.iter().filter_map(|one| Some(one.end.clone().err()?.1)).collect();
    assert_eq!(
        told,
        [
            "topic t: a record of 82 bytes is larger than max.request.size = 60; raise it, and max.message.bytes of \
             the topic",
            "partition: 9 is no partition of topic t, which has 1; give one from 0 to 0"
        ]
    );
    let error = producer.begin_transaction().unwrap_err().to_string();
    assert_eq!(
        error,
        "the transactional.id is not in use; call init_transactions first"
    );
    let error = producer.init_transactions().unwrap_err().to_string();
    assert_eq!(error, "transactional.id is not set; set it to use transactions");
}

#[test]
fn a_batch_is_sent_again_as_often_as_retries_says() {
    let broker = Broker::start(usize::MAX, |number| match number {
        1..=3 | 9 => Fate::Refused(NOT_LEADER),
        _ => Fate::Taken,
    });
    let reports = send_all(&mut command(&broker, &[("retries", "2")]));
    assert_rest_is_written(&broker, &reports, 1);
    let (error, _) = reports.iter().find_map(|report| report.end.clone().err()).unwrap();
    assert_eq!(error, ErrorCode::NOT_LEADER_OR_FOLLOWER);
}
