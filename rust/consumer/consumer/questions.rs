//! What is asked, when, and of which broker.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::link::Link;
use super::super::partition::Assigned;
use super::super::requests;
use super::Consumer;
use base::place::Offset;
use client::{Request, Server};

/// Answers whose memory is kept to be used again.
const MAX_KEPT: usize = 4;

/// What a connection is for: a Fetch waits at the broker, nothing else waits behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    Ask,
    Fetch,
}

/// A question on its way, of one assignment; partitions by their number in it.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) generation: u64,
    pub(super) about: About,
}

/// See [`Question`].
#[derive(Debug)]
pub(super) enum About {
    Metadata,
    Offsets(Vec<usize>),
    EpochEnds(Vec<usize>),
    /// With the offset that was asked for, and the broker.
    Fetch(i32, Vec<(usize, Offset)>),
}

/// When Metadata is asked for, and what it said of topics.
#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) is_wanted: bool,
    is_asked: bool,
    not_before: Option<Instant>,
    answered: Option<Instant>,
    /// The server to ask, as a number in the list of all.
    server: usize,
    /// Rounds in a row in which every server closed the connection before it let the client in.
    pub(super) shut_outs: usize,
    /// Topics that a broker knew.
    pub(super) seen: BTreeSet<Arc<str>>,
    /// Topics that are not known, and since when: deleted, or not made yet.
    pub(super) missing: BTreeMap<Arc<str>, Instant>,
    /// Topics that were known, were not, and are again: others, whose offsets have nothing to do with those assigned.
    pub(super) remade: BTreeSet<Arc<str>>,
}

impl Metadata {
    pub(super) fn new() -> Self {
        Self {
            is_wanted: true,
            is_asked: false,
            not_before: None,
            answered: None,
            server: 0,
            shut_outs: 0,
            seen: BTreeSet::new(),
            missing: BTreeMap::new(),
            remade: BTreeSet::new(),
        }
    }

    /// For another assignment.
    pub(super) fn begin_anew(&mut self) {
        self.is_wanted = true;
        self.is_asked = false;
        self.seen.clear();
        self.missing.clear();
        self.remade.clear();
        self.not_before = None;
    }

    fn is_due(&self, now: Instant, max_age: Duration) -> bool {
        let is_old = self.answered.is_none_or(|time| now.duration_since(time) >= max_age);
        (self.is_wanted || is_old) && !self.is_asked && self.not_before.is_none_or(|time| time <= now)
    }

    /// It was answered, whatever it said.
    pub(super) fn answer(&mut self, now: Instant, backoff: Duration) {
        (self.is_asked, self.is_wanted) = (false, false);
        self.answered = Some(now);
        self.not_before = Some(now + backoff);
        self.shut_outs = 0;
    }

    /// A server gave no answer: the next one is asked, after a pause when each has been.
    pub(super) fn fail(&mut self, now: Instant, backoff: Duration, servers: usize) {
        self.is_asked = false;
        self.server += 1;
        if self.server.is_multiple_of(servers.max(1)) {
            self.not_before = Some(now + backoff);
        }
    }
}

impl Consumer {
    /// Sends all that is due.
    pub(super) fn ask(&mut self, now: Instant) {
        self.links.retain(|_, link| !link.is_spent());
        if self.partitions.is_empty() {
            return;
        }
        self.ask_metadata(now);
        self.ask_leaders(
            now,
            |one| one.lacks_offset(now),
            |consumer, asked| {
                let request = requests::list_offsets(&consumer.chosen(asked), consumer.options.is_committed);
                (request, About::Offsets(asked.to_vec()))
            },
        );
        self.ask_leaders(
            now,
            |one| one.wants_check(now),
            |consumer, asked| {
                let request = requests::epoch_ends(&consumer.chosen(asked));
                (request, About::EpochEnds(asked.to_vec()))
            },
        );
        self.fetch(now);
    }

    pub(super) fn servers(&self) -> Vec<Server> {
        let mut servers: Vec<Server> = self.brokers.values().cloned().collect();
        let others = self
            .options
            .servers
            .iter()
            .filter(|server| !self.brokers.values().any(|it| it == *server));
        servers.extend(others.cloned());
        servers
    }

    fn ask_metadata(&mut self, now: Instant) {
        self.metadata.is_wanted |= self.partitions.iter().any(|one| one.leader.is_none());
        if !self.metadata.is_due(now, self.options.metadata_max_age) {
            return;
        }
        let servers = self.servers();
        let Some(server) = servers.get(self.metadata.server % servers.len().max(1)) else {
            return;
        };
        let topics: BTreeSet<&str> = self.partitions.iter().map(|one| &*one.topic).collect();
        // one that was deleted is not to be made again by the question where it is
        let may_create = self.options.creates_topics && !topics.iter().any(|name| self.metadata.seen.contains(*name));
        let request = requests::metadata(topics.into_iter(), may_create);
        if self.send(&server.clone(), Purpose::Ask, request, About::Metadata, now) {
            self.metadata.is_asked = true;
        }
    }

    fn chosen(&self, numbers: &[usize]) -> Vec<&Assigned> {
        numbers.iter().filter_map(|at| self.partitions.get(*at)).collect()
    }

    /// Asks the leaders of the partitions that want it, each that is not being asked.
    fn ask_leaders(
        &mut self,
        now: Instant,
        wants: impl Fn(&Assigned) -> bool,
        question: impl Fn(&Self, &[usize]) -> (Request, About),
    ) {
        let mut by_leader: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
        for (at, one) in self.partitions.iter().enumerate().filter(|(_, one)| wants(one)) {
            if let Some(leader) = one.leader {
                by_leader.entry(leader.node).or_default().push(at);
            }
        }
        for (node, asked) in by_leader {
            let Some(server) = self.server_of(node) else { continue };
            if self.is_idle(&server, Purpose::Ask) {
                let (request, about) = question(self, &asked);
                self.send(&server, Purpose::Ask, request, about, now);
            }
        }
    }

    fn fetch(&mut self, now: Instant) {
        let mut by_source: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
        let count = self.partitions.len();
        // each is the first in turn: an answer is full before the last ones have their part of it
        for at in (0..count).map(|at| (self.turn + at) % count) {
            let one = &self.partitions[at];
            if one.is_fetchable(now)
                && let Some(node) = one.source(now)
            {
                by_source.entry(node).or_default().push(at);
            }
        }
        for (node, asked) in by_source {
            let Some(server) = self.server_of(node) else { continue };
            if !self.is_idle(&server, Purpose::Fetch) {
                continue;
            }
            let chosen = self.chosen(&asked);
            let request = requests::fetch(&chosen, &self.options);
            let offsets = asked.iter().zip(chosen).map(|(at, one)| (*at, one.fetched_to));
            let about = About::Fetch(node, offsets.collect());
            self.send(&server, Purpose::Fetch, request, about, now);
        }
    }

    /// The address of a broker; without one its partitions wait for Metadata.
    fn server_of(&mut self, node: i32) -> Option<Server> {
        let server = self.brokers.get(&node).cloned();
        self.metadata.is_wanted |= server.is_none();
        server
    }

    fn is_idle(&self, server: &Server, purpose: Purpose) -> bool {
        self.links.get(&(server.clone(), purpose)).is_none_or(Link::is_idle)
    }

    /// Whether the question is on its way now.
    fn send(&mut self, server: &Server, purpose: Purpose, request: Request, about: About, now: Instant) -> bool {
        let memory = self.memory.iter().position(|kept| Arc::strong_count(kept) == 1);
        let link = self.links.entry((server.clone(), purpose));
        let link = link.or_insert_with(|| Link::new(server, &self.options, now));
        if !link.is_idle() {
            return false;
        }
        let memory = memory.filter(|_| purpose == Purpose::Fetch);
        let memory = memory.and_then(|at| Arc::try_unwrap(self.memory.swap_remove(at)).ok());
        let question = Question {
            generation: self.generation,
            about,
        };
        link.ask(request, question, memory.unwrap_or_default(), now);
        true
    }

    /// Keeps the memory of an answer for another, once its records are gone.
    pub(super) fn keep(&mut self, answer: &Arc<Vec<u8>>) {
        if self.memory.len() < MAX_KEPT {
            self.memory.push(Arc::clone(answer));
        }
    }
}
