//! How far the files of a topic may be read, asked from the live broker that writes them.
//!
//! A scan needs two offsets that the files do not tell: the high watermark is in a checkpoint that is seconds old, and
//! the last stable offset is in no file. Four requests ask for them: Metadata for the leaders, then `ListOffsets` for
//! the last stable offset, the high watermark and the log start, in this order, so that last stable offset <= high
//! watermark holds without a lock. Metadata never creates the topic. Works on PLAINTEXT listeners and blocks; each wait
//! ends within the timeout, with an answer or an error of one sentence. Nothing is kept between two calls.

mod answers;
mod connection;

use std::collections::{BTreeMap, HashMap};
use std::thread;
use std::time::{Duration, Instant};

use self::connection::{Connection, EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED, Topology};
use super::repr::quoted;
use super::{PlanError, Result};
use crate::place::Offset;
use crate::scan::Watermarks;

/// How long a broker is asked.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
const DEFAULT_PORT: &str = "9092";
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A server's host and port.
pub type Server = (String, u16);

/// Why the broker could not be asked.
#[derive(Debug)]
enum Refusal {
    /// A partition has no leader just now.
    Passing(String),
    /// The server cannot be asked; another one may.
    Server(String),
    /// The answer is final.
    Final(PlanError),
}

/// The offsets of the topic's partitions (all of them for `None`) at this moment. `bootstrap_servers` is host:port,
/// several by comma; the first server that answers is taken.
pub fn fetch_broker_offsets(
    bootstrap_servers: &str,
    topic: &str,
    partitions: Option<&[i32]>,
    timeout: Duration,
) -> Result<HashMap<i32, Watermarks>> {
    let servers = parse_servers(bootstrap_servers)?;
    let deadline = Instant::now() + timeout;
    loop {
        match fetch(&servers, topic, partitions, timeout) {
            Ok(found) => return Ok(found),
            Err(Refusal::Final(error)) => return Err(error),
            Err(Refusal::Server(sentence)) => return Err(PlanError::Unreachable(sentence)),
            Err(Refusal::Passing(reason)) if Instant::now() > deadline => {
                return Err(PlanError::Unreachable(format!(
                    "bootstrap_servers: {reason} after {} s; try again later",
                    timeout.as_secs_f64()
                )));
            }
            Err(Refusal::Passing(_)) => thread::sleep(RETRY_PAUSE),
        }
    }
}

/// Host and port of each server; an IPv6 address stands in brackets.
pub fn parse_servers(bootstrap_servers: &str) -> Result<Vec<Server>> {
    bootstrap_servers
        .split(',')
        .map(|text| server_of(text.trim()))
        .collect()
}

fn server_of(text: &str) -> Result<Server> {
    let none = |advice: &str| PlanError::Invalid(format!("bootstrap_servers: {} is no server; {advice}", quoted(text)));
    let (host, port) = match text.rsplit_once(':') {
        Some(parts) if !text.ends_with(']') => parts,
        _ => (text, DEFAULT_PORT),
    };
    let is_in_brackets = host.starts_with('[') && host.ends_with(']');
    let bare = host.trim_matches(['[', ']']);
    let number = port
        .bytes()
        .all(|it| it.is_ascii_digit())
        .then(|| port.parse().ok())
        .flatten();
    let Some(number) = number.filter(|number| *number > 0 && !bare.is_empty()) else {
        return Err(none("give host:port, as localhost:9092"));
    };
    if host.contains(':') && !is_in_brackets {
        return Err(none("an IPv6 address stands in brackets, as [::1]:9092"));
    }
    Ok((bare.to_owned(), number))
}

fn fetch(
    servers: &[Server],
    topic: &str,
    partitions: Option<&[i32]>,
    timeout: Duration,
) -> Result<HashMap<i32, Watermarks>, Refusal> {
    let topology = ask_any(servers, topic, timeout)?;
    let all: Vec<i32> = topology.leaders.keys().copied().collect();
    let mut by_leader: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for partition in partitions.unwrap_or(&all) {
        let Some(leader) = topology.leaders.get(partition) else {
            return Err(Refusal::Final(PlanError::NotFound(format!(
                "topic {topic} has no partition {partition} at the broker; it has {}",
                span(&all)
            ))));
        };
        if !topology.brokers.contains_key(leader) {
            return Err(Refusal::Passing(format!("partition {topic}-{partition} has no leader")));
        }
        by_leader.entry(*leader).or_default().push(*partition);
    }
    let mut found = HashMap::new();
    for (leader, its) in by_leader {
        let Some(server) = topology.brokers.get(&leader) else {
            continue;
        };
        let mut connection = Connection::open(server, timeout)?;
        let stable = connection.list_offsets(topic, &its, READ_COMMITTED, LATEST)?;
        let high = connection.list_offsets(topic, &its, READ_UNCOMMITTED, LATEST)?;
        let start = connection.list_offsets(topic, &its, READ_UNCOMMITTED, EARLIEST)?;
        for (((partition, stable), high), start) in its.into_iter().zip(stable).zip(high).zip(start) {
            // the log start was asked for last: retention may have moved it beyond the two other offsets
            let watermarks = Watermarks {
                log_start_offset: Offset(start),
                high_watermark: Offset(high.max(start)),
                last_stable_offset: Offset(stable.max(start)),
            };
            found.insert(partition, watermarks);
        }
    }
    Ok(found)
}

fn span(partitions: &[i32]) -> String {
    match partitions {
        [] => "none".to_owned(),
        [_] => "only 0".to_owned(),
        [.., last] => format!("0 to {last}"),
    }
}

/// The metadata of the topic from the first server that answers.
fn ask_any(servers: &[Server], topic: &str, timeout: Duration) -> Result<Topology, Refusal> {
    let mut failures = Vec::new();
    for server in servers {
        let asked = Connection::open(server, timeout).and_then(|mut connection| connection.metadata(topic));
        match asked {
            Err(Refusal::Server(sentence)) => failures.push(sentence),
            asked => return asked,
        }
    }
    Err(Refusal::Server(failures.join("; ")))
}

#[cfg(test)]
mod tests;
