//! Reads splits over the network: Fetch at the leader of a partition, or at the replica that it names for the reader's
//! rack.
//!
//! The steps of a split, in letters:
//!
//! - (a) the leader is found; if its epoch is later than the planned one, `OffsetForLeaderEpoch` tells which offsets of
//!   the plan are gone from its log;
//! - (b) the whole batches of an answer are given to the reader, and the next Fetch is sent before they are read;
//! - (c) when a leader moves or its broker dies, the leader is looked for again, for [`PATIENCE`] at most;
//! - (d) offsets below the log start, or behind the end of the log, are lost.
//!
//! A connection serves one split at a time and is kept for the next one, of any task of this process.

mod fetch;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use self::fetch::{FetchAnswer, FetchRange};
use super::PlanError;
use super::brokers::{Brokers, Placed, Refusal};
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset, Position};
use client::{Connection, NoAnswer, Pool, Security};
use record::OpenAborts;
use scan::{Remote, RemoteBatches, RemoteLog, RemotePiece, Result, ScanError, Split};

/// How long a leader is looked for, and an answer waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause before the leader is looked for again: the first, and the longest, each twice the one before.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
const CLIENT_ID: &str = "kafkastore-scan";

/// The brokers as a [`RemoteLog`].
pub struct BrokerLog {
    security: Security,
    pool: Arc<Pool>,
    /// Whether questions go over the pool's connections, too.
    is_shared: bool,
}

impl BrokerLog {
    /// Brokers to which connections are protected so.
    pub fn new(security: Security) -> Self {
        Self {
            security,
            pool: Arc::default(),
            is_shared: false,
        }
    }

    /// The same, over connections that all tasks of this process share.
    pub fn shared(security: Security) -> Self {
        Self {
            security,
            pool: Pool::shared(),
            is_shared: true,
        }
    }
}

impl RemoteLog for BrokerLog {
    fn open(&self, split: &Split, remote: &Remote, from: Offset) -> Result<Box<dyn RemoteBatches>> {
        let brokers = Brokers::parse(&remote.bootstrap_servers, self.security.clone(), PATIENCE)
            .map_err(|error| ScanError::Invalid(error.to_string()))?;
        Ok(Box::new(BrokerBatches {
            brokers: if self.is_shared { brokers.pooled() } else { brokers },
            security: self.security.clone(),
            pool: Arc::clone(&self.pool),
            topic: split.topic.to_string(),
            partition: split.partition,
            next: from,
            end: split.end_offset,
            cut_off: None,
            leader_epoch: remote.leader_epoch,
            expected_bytes: remote.size_bytes,
            client_rack: remote.client_rack.clone(),
            preferred: None,
            open: None,
            aborts: split.aborted.is_some().then(OpenAborts::default),
            failing_since: None,
            pause: RETRY_PAUSES.0,
        }))
    }
}

/// A connection with a Fetch on its way.
struct PendingFetch {
    leader_epoch: LeaderEpoch,
    connection: Connection,
}

/// One split from brokers.
struct BrokerBatches {
    brokers: Brokers,
    security: Security,
    pool: Arc<Pool>,
    topic: String,
    partition: i32,
    /// The next offset to fetch.
    next: Offset,
    end: Offset,
    /// Why the offsets from `end` on are lost, and where they end.
    cut_off: Option<(Offset, String)>,
    /// Of the plan, or of the last leader whose log was found to have all of it.
    leader_epoch: LeaderEpoch,
    /// Of the whole split, about; 0 when that is not known.
    expected_bytes: u64,
    client_rack: String,
    /// The replica that the leader wants to be read.
    preferred: Option<i32>,
    open: Option<PendingFetch>,
    /// Of `read_committed`.
    aborts: Option<OpenAborts>,
    failing_since: Option<Instant>,
    pause: Duration,
}

/// Errors that end by themselves, or with the next leader; a batch on the leader's disk stays corrupt.
fn is_passing(error: ErrorCode) -> bool {
    error.is_retriable() && error != ErrorCode::CORRUPT_MESSAGE
}

/// Why a Fetch gave no batches.
enum Trouble {
    /// The leader has to be looked for again.
    Passing(String),
    /// The offsets up to this one are gone.
    Lost(Offset, String),
    /// Nothing helps.
    Final(ScanError),
}

impl From<NoAnswer> for Trouble {
    fn from(error: NoAnswer) -> Self {
        let sentence = format!("{} cannot be read from ({})", error.address, error.reason);
        if error.is_final {
            return Self::Final(ScanError::Invalid(sentence));
        }
        Self::Passing(sentence)
    }
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Passing(reason) => Self::Passing(reason),
            Refusal::Server(away) => Self::Passing(away.clause),
            // the topic was there when the split was planned
            Refusal::Final(PlanError::NotFound(reason)) => Self::Lost(Offset::MAX, reason),
            Refusal::Final(error) => Self::Final(ScanError::Invalid(error.to_string())),
        }
    }
}

impl RemoteBatches for BrokerBatches {
    fn next(&mut self, memory: &mut Vec<u8>) -> Result<RemotePiece> {
        loop {
            if self.next >= self.end {
                return Ok(self.finish());
            }
            match self.fetch(memory) {
                Ok(Some(piece)) => {
                    (self.failing_since, self.pause) = (None, RETRY_PAUSES.0);
                    return Ok(piece);
                }
                Ok(None) => {}
                Err(Trouble::Lost(to, reason)) => {
                    self.open = None;
                    let (from, to) = (self.next, to.min(self.end));
                    self.next = to;
                    return Ok(RemotePiece::Lost { from, to, reason });
                }
                Err(Trouble::Final(error)) => return Err(error),
                Err(Trouble::Passing(reason)) => self.wait(&reason)?, // (c)
            }
        }
    }
}

impl BrokerBatches {
    fn finish(&mut self) -> RemotePiece {
        if let Some(PendingFetch { connection, .. }) = self.open.take() {
            self.pool.give(connection);
        }
        match self.cut_off.take() {
            Some((to, reason)) => {
                let from = self.end;
                (self.next, self.end) = (to, to);
                RemotePiece::Lost { from, to, reason }
            }
            None => RemotePiece::End,
        }
    }

    fn wait(&mut self, reason: &str) -> Result<()> {
        self.open = None;
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        if since.elapsed() < PATIENCE {
            thread::sleep(self.pause);
            self.pause = RETRY_PAUSES.1.min(2 * self.pause);
            return Ok(());
        }
        let (topic, partition, next) = (&self.topic, self.partition, self.next);
        Err(ScanError::Invalid(format!(
            "{topic}-{partition}: offset {next} cannot be read after {} s: {reason}; start its brokers, or give a path \
             where its files are seen",
            PATIENCE.as_secs()
        )))
    }

    /// One answer; `None` when another replica is to be asked.
    fn fetch(&mut self, memory: &mut Vec<u8>) -> Result<Option<RemotePiece>, Trouble> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin()?,
        };
        if self.next >= self.end {
            return Ok(None); // nothing of the plan is left
        }
        open.connection.receive(memory)?;
        let Some(fetched) = FetchAnswer::read(memory) else {
            return Err(open.connection.malformed().into());
        };
        if fetched.error != ErrorCode::NONE {
            drop(open);
            return Err(self.refused(fetched.error));
        }
        if fetched.preferred_replica.is_some() {
            self.preferred = fetched.preferred_replica;
            return Ok(None);
        }
        let at = open.connection.address().to_owned();
        let Some(whole) = fetched.whole_batches(memory).filter(|it| it.next_offset > self.next) else {
            // the high watermark of a new leader may be behind for a moment
            return Err(Trouble::Passing(format!(
                "{at} has nothing at offset {} yet",
                self.next
            )));
        };
        self.next = whole.next_offset;
        if self.next < self.end {
            self.send(&mut open)?; // (b)
        }
        self.open = Some(open);
        let mut end = whole.end;
        if let Some(aborts) = &mut self.aborts {
            let dropped = aborts.drop_aborted(memory, whole.start..whole.end, fetched.aborted);
            end = dropped.map_err(|error| Trouble::Passing(format!("{at} sent a bad batch ({error})")))?;
        }
        Ok(Some(RemotePiece::Batches {
            start: Position(whole.start as u64),
            end: Position(end as u64),
            before: if self.cut_off.is_some() { self.end } else { Offset::MAX },
            from: format!("{}-{} at {at}", self.topic, self.partition),
        }))
    }

    /// Connects to the leader, or to the replica that it prefers, and sends the first Fetch.
    fn begin(&mut self) -> Result<PendingFetch, Trouble> {
        let (topic, partition) = (self.topic.as_str(), self.partition);
        let preferred = self.preferred.take();
        let placed = self.brokers.place(topic, partition, preferred)?;
        self.check_epoch(&placed)?; // (a)
        let pooled = self.pool.take(&placed.server, CLIENT_ID, &self.security, PATIENCE);
        let connection = match pooled {
            Some(connection) => connection,
            None => Connection::open(&placed.server, CLIENT_ID, &self.security, PATIENCE)?,
        };
        let mut open = PendingFetch {
            leader_epoch: placed.leader_epoch,
            connection,
        };
        if self.next < self.end {
            self.send(&mut open)?;
        }
        Ok(open)
    }

    /// Looks for offsets of the plan that are gone from the log of a later leader.
    fn check_epoch(&mut self, placed: &Placed) -> Result<(), Trouble> {
        if self.leader_epoch.is_none() || placed.leader_epoch == self.leader_epoch {
            return Ok(());
        }
        if placed.leader_epoch < self.leader_epoch {
            // metadata that is behind, or another topic of the same name
            return Err(Trouble::Passing(format!(
                "its leader has epoch {}, which is below {} of the plan",
                placed.leader_epoch, self.leader_epoch
            )));
        }
        let end = self
            .brokers
            .epoch_end(&self.topic, self.partition, &placed.server, self.leader_epoch)?;
        if let Some(end) = end.filter(|end| *end < self.end) {
            let reason = format!(
                "the leader of epoch {} has cut them off, after epoch {} of the plan",
                placed.leader_epoch, self.leader_epoch
            );
            self.cut_off = Some((self.end, reason));
            self.end = end.max(self.next);
        }
        self.leader_epoch = placed.leader_epoch;
        Ok(())
    }

    fn send(&self, open: &mut PendingFetch) -> Result<(), Trouble> {
        let wanted = FetchRange {
            topic: &self.topic,
            partition: self.partition,
            leader_epoch: open.leader_epoch,
            offset: self.next,
            is_committed: self.aborts.is_some(),
            expected_bytes: self.expected_bytes,
            client_rack: &self.client_rack,
        };
        Ok(open.connection.send(&wanted.request())?)
    }

    fn refused(&self, error: ErrorCode) -> Trouble {
        let (topic, partition) = (&self.topic, self.partition);
        match error {
            ErrorCode::OFFSET_OUT_OF_RANGE => self.out_of_range(), // (d)
            error if is_passing(error) => Trouble::Passing(format!("{topic}-{partition} has no leader")),
            ErrorCode::TOPIC_AUTHORIZATION_FAILED => Trouble::Final(ScanError::Invalid(format!(
                "topic {topic}: the broker's ACLs do not let this client read it; allow READ on the topic"
            ))),
            error => Trouble::Final(ScanError::Invalid(format!(
                "{topic}-{partition}: the broker answered error {} at offset {}; its log says why",
                error.0, self.next
            ))),
        }
    }

    fn out_of_range(&self) -> Trouble {
        let live = match self.brokers.live(&self.topic, Some(&[self.partition])) {
            Ok(mut found) => found.remove(&self.partition),
            Err(refusal) => return refusal.into(),
        };
        let Some(watermarks) = live.map(|live| live.watermarks) else {
            return Trouble::Passing("its leader does not tell where its log begins".to_owned());
        };
        let start = watermarks.log_start_offset;
        if self.next < start {
            return Trouble::Lost(start, format!("the log starts at {start} by now"));
        }
        let end = watermarks.high_watermark;
        if self.next > end {
            return Trouble::Lost(Offset::MAX, format!("the log ends at {end} by now"));
        }
        Trouble::Passing(format!("its leader has no offset {} yet", self.next))
    }
}

#[cfg(test)]
mod tests;
