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

use super::{Producer, ProducerOptions};
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
}

/// The log of one partition, as a broker keeps it for an idempotent producer.
#[derive(Default)]
struct Log {
    values: Vec<String>,
    next_sequence: i32,
    /// The sequences of the last five batches.
    last: Vec<i32>,
    requests: usize,
}

impl Log {
    /// The error for a batch.
    fn append(&mut self, bytes: &[u8], most_bytes: usize) -> i16 {
        let (batch, _) = Batch::split_first(bytes).unwrap().unwrap();
        batch.verify_crc().unwrap();
        let sequence = batch.header().base_sequence;
        if bytes.len() > most_bytes {
            return TOO_LARGE;
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
            22 => producer_id(&mut answer),
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

fn producer_id(answer: &mut Vec<u8>) {
    let given = InitProducerIdResponse {
        producer_id: 4000,
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
