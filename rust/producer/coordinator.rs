//! Questions to the coordinator of a group or of a transactional id, asked again while it moves, loads or is busy.

use std::thread;
use std::time::{Duration, Instant};

use super::cluster::Cluster;
use super::error::{Result, Vain, advice, failed};
use super::transactions::{CoordinatorKind, Coordinators, Request, find_coordinators, read_coordinators};
use base::error::ErrorCode;
use client::{Malformed, Server};

/// A transaction of the same id ends meanwhile, which takes some milliseconds.
const CONCURRENT_PAUSE: Duration = Duration::from_millis(20);

/// Whose coordinator is asked, and how the question is called in a sentence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) kind: CoordinatorKind,
    pub(super) key: &'a str,
    pub(super) what: &'a str,
    /// For how long it is asked again.
    pub(super) limit: Duration,
}

impl Cluster {
    /// The answer, and its error when that is final. Fails when the time is up.
    pub(super) fn ask_coordinator<T>(
        &mut self,
        asked: Asked<'_>,
        request: &Request,
        read: impl Fn(&[u8]) -> Result<(ErrorCode, T), Malformed>,
    ) -> Result<(ErrorCode, T)> {
        let deadline = Instant::now() + asked.limit;
        let place = (asked.kind, asked.key.to_owned());
        loop {
            let answered = self
                .coordinator(asked)
                .and_then(|server| self.ask(&server, request, &read));
            let (reason, pause) = match answered {
                Ok((ErrorCode::CONCURRENT_TRANSACTIONS, _)) => {
                    ("its last transaction is not ended yet".to_owned(), CONCURRENT_PAUSE)
                }
                Ok((error, _)) if is_passing(error) => {
                    self.coordinators.remove(&place);
                    (error.name().to_owned(), self.options.retry_backoff)
                }
                Ok(answer) => return Ok(answer),
                Err(vain) => {
                    self.coordinators.remove(&place);
                    (vain.passing()?, self.options.retry_backoff)
                }
            };
            if Instant::now() > deadline {
                return Err(failed(format!(
                    "{}: the coordinator of {} gave no answer within {} ms ({reason}); check that the brokers of \
                     kafka.bootstrap.servers run",
                    asked.what,
                    asked.key,
                    asked.limit.as_millis()
                )));
            }
            thread::sleep(pause);
        }
    }

    fn coordinator(&mut self, asked: Asked<'_>) -> Result<Server, Vain> {
        if let Some(server) = self.coordinators.get(&(asked.kind, asked.key.to_owned())) {
            return Ok(server.clone());
        }
        self.find(asked.kind, &[asked.key])?
            .pop()
            .ok_or_else(|| Vain::now("the broker named no coordinator".to_owned()))?
            .1
            .map_err(|error| Vain::now(format!("{} ({})", error.name(), advice(error))))
    }

    /// Asks for the coordinators of all keys at once, and keeps them.
    pub(super) fn find(&mut self, kind: CoordinatorKind, keys: &[&str]) -> Result<Coordinators, Vain> {
        let found = self.ask_any(&find_coordinators(kind, keys), read_coordinators)?;
        for (key, server) in &found {
            if let Ok(server) = server {
                self.coordinators.insert((kind, key.clone()), server.clone());
            }
        }
        Ok(found)
    }
}

fn is_passing(error: ErrorCode) -> bool {
    error.is_retriable() && error != ErrorCode::CONCURRENT_TRANSACTIONS // which has a pause of its own
}
