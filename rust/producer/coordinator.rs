//! Questions to the coordinator of a group or of a transactional id, asked again while it moves, loads or is busy.

use std::thread;
use std::time::{Duration, Instant};

use super::cluster::Cluster;
use super::error::{Result, Vain, advice, failed};
use super::transactions::{CoordinatorKind, Coordinators, find_coordinators, read_coordinators};
use base::error::ErrorCode;
use client::{Request, Server};
use protocol::WireError;

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
        read: impl Fn(&[u8]) -> Result<(ErrorCode, T), WireError>,
    ) -> Result<(ErrorCode, T)> {
        let deadline = Instant::now() + asked.limit;
        let place = (asked.kind, asked.key.to_owned());
        loop {
            let answered = match self.coordinator(asked) {
                Ok(Err(error)) if is_refusal(error) => {
                    let (what, advice) = (asked.what, advice(error, self.options.keys));
                    return Err(failed(format!("{what}: {advice} ({})", error.name())));
                }
                Ok(Err(error)) => Err(Vain::now(format!(
                    "{} ({})",
                    error.name(),
                    advice(error, self.options.keys)
                ))),
                Ok(Ok(server)) => self.ask(&server, request, &read),
                Err(vain) => Err(vain),
            };
            let mut is_busy = false;
            let reason = match answered {
                Ok((ErrorCode::CONCURRENT_TRANSACTIONS, _)) => {
                    is_busy = true;
                    "its last transaction is not ended yet".to_owned()
                }
                Ok((error, _)) if is_passing(error) => {
                    self.coordinators.remove(&place);
                    error.name().to_owned()
                }
                Ok(answer) => return Ok(answer),
                Err(vain) => {
                    self.coordinators.remove(&place);
                    vain.passing(self.options.keys)?
                }
            };
            if Instant::now() > deadline {
                return Err(failed(format!(
                    "{}: the coordinator of {} gave no answer within {} ms ({reason}); check that the brokers of {} \
                     run",
                    asked.what,
                    asked.key,
                    asked.limit.as_millis(),
                    self.options.keys.named("bootstrap.servers")
                )));
            }
            if is_busy {
                thread::sleep(CONCURRENT_PAUSE);
            } else {
                self.wait();
            }
        }
    }

    fn coordinator(&mut self, asked: Asked<'_>) -> Result<Result<Server, ErrorCode>, Vain> {
        if let Some(server) = self.coordinators.get(&(asked.kind, asked.key.to_owned())) {
            return Ok(Ok(server.clone()));
        }
        let mut found = self.find(asked.kind, &[asked.key])?;
        let (_, place) = found
            .pop()
            .ok_or_else(|| Vain::now("the broker named no coordinator".to_owned()))?;
        Ok(place)
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

/// Whether ACLs do not allow the question.
fn is_refusal(error: ErrorCode) -> bool {
    matches!(
        error,
        ErrorCode::GROUP_AUTHORIZATION_FAILED | ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    )
}

fn is_passing(error: ErrorCode) -> bool {
    error.is_retriable() && error != ErrorCode::CONCURRENT_TRANSACTIONS // which has a pause of its own
}
