//! The addresses whose clients were refused again and again lately, more often than others of them were let in: behind
//! one address may be many clients.
//!
//! A table of fixed size: each address has one of [`SLOTS`] places, found by a hash with a key of this process, so that
//! no number of addresses takes memory. Addresses that share a place share their refusals; that costs them nothing but
//! their turn. Of IPv6 the network counts (64 bits): one host has all addresses of it.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SLOTS: usize = 8192;
/// Refusals until an address is a suspect: a wrong password that is tried again a few times is none.
const MIN_REFUSALS: u32 = 5;
/// Refusals that are counted: so many clients that are let in clear an address, whatever came before.
const MAX_REFUSALS: u32 = 16;
/// An address without a refusal for so long begins anew.
const MEMORY: Duration = Duration::from_secs(10);

/// See the module.
pub(super) struct Suspects {
    /// Each the second of the last refusal (upper half) and the number of refusals.
    slots: Box<[AtomicU64]>,
    key: ahash::RandomState,
    start: Instant,
}

impl Suspects {
    /// Nobody is a suspect at `start`.
    pub(super) fn new(start: Instant) -> Self {
        Self {
            slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            key: ahash::RandomState::new(),
            start,
        }
    }

    /// Counts a refusal.
    pub(super) fn note(&self, ip: IpAddr, now: Instant) {
        let (slot, second) = (self.slot(ip), self.second(now));
        let refusals = count(slot.load(Ordering::Relaxed), second) + 1;
        // of two refusals at the same moment one may be lost; the next one makes up for it
        let value = u64::from(second) << 32 | u64::from(refusals.min(MAX_REFUSALS));
        slot.store(value, Ordering::Relaxed);
    }

    /// A client was let in: takes a refusal back.
    pub(super) fn take_back(&self, ip: IpAddr) {
        let slot = self.slot(ip);
        let value = slot.load(Ordering::Relaxed);
        if value as u32 > 0 {
            slot.store(value - 1, Ordering::Relaxed);
        }
    }

    /// Whether the address is a suspect.
    pub(super) fn has(&self, ip: IpAddr, now: Instant) -> bool {
        count(self.slot(ip).load(Ordering::Relaxed), self.second(now)) >= MIN_REFUSALS
    }

    fn slot(&self, ip: IpAddr) -> &AtomicU64 {
        let hash = match ip {
            IpAddr::V4(ip) => self.key.hash_one(ip.to_bits()),
            IpAddr::V6(ip) => self.key.hash_one((ip.to_bits() >> 64) as u64),
        };
        &self.slots[hash as usize % SLOTS]
    }

    fn second(&self, now: Instant) -> u32 {
        u32::try_from(now.saturating_duration_since(self.start).as_secs()).unwrap_or(u32::MAX)
    }
}

/// The refusals in a slot that are not forgotten.
fn count(slot: u64, second: u32) -> u32 {
    let is_kept = u64::from(second.saturating_sub((slot >> 32) as u32)) <= MEMORY.as_secs();
    if is_kept { slot as u32 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(suspects: &Suspects, seconds: u64) -> Instant {
        suspects.start + Duration::from_secs(seconds)
    }

    #[test]
    fn address_is_a_suspect_after_some_refusals_and_until_none_came_for_a_while() {
        let suspects = Suspects::new(Instant::now());
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        for second in 0..u64::from(MIN_REFUSALS) {
            assert!(!suspects.has(one, after(&suspects, second)));
            suspects.note(one, after(&suspects, second));
        }
        let last = u64::from(MIN_REFUSALS) - 1;
        assert!(suspects.has(one, after(&suspects, last)));
        assert!(!suspects.has(other, after(&suspects, last)));
        assert!(suspects.has(one, after(&suspects, last + MEMORY.as_secs())));
        assert!(!suspects.has(one, after(&suspects, last + MEMORY.as_secs() + 1)));
        suspects.note(one, after(&suspects, last + MEMORY.as_secs() + 1));
        assert!(!suspects.has(one, after(&suspects, last + MEMORY.as_secs() + 1)));
    }

    #[test]
    fn clients_that_are_let_in_clear_their_address() {
        let suspects = Suspects::new(Instant::now());
        let ip = IpAddr::from([10, 0, 0, 1]);
        for _ in 0..1000 {
            suspects.note(ip, suspects.start);
        }
        for _ in MIN_REFUSALS..=MAX_REFUSALS {
            assert!(suspects.has(ip, suspects.start));
            suspects.take_back(ip);
        }
        assert!(!suspects.has(ip, suspects.start));
        for _ in 0..100 {
            suspects.take_back(ip);
        }
        suspects.note(ip, suspects.start);
        assert!(!suspects.has(ip, suspects.start));
    }

    #[test]
    fn addresses_of_one_network_of_ipv6_are_one() {
        let suspects = Suspects::new(Instant::now());
        for host in 0..MIN_REFUSALS as u16 {
            suspects.note(IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, host]), suspects.start);
        }
        assert!(suspects.has(IpAddr::from([0x2001, 0xdb8, 0, 1, 9, 9, 9, 9]), suspects.start));
        assert!(!suspects.has(IpAddr::from([0x2001, 0xdb8, 0, 2, 0, 0, 0, 0]), suspects.start));
    }
}
