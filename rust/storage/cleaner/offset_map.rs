//! The last offset of each key in the dirty part of a log, in bounded memory.
//!
//! ```text
//! slot := hash 16 bytes, offset u32        0: free; else the offset relative to the dirty part's first, plus 1
//! ```
//! A key is known by a SipHash-1-3 of 128 bits, keyed with a secret that is drawn for each cleaning, so that nobody can
//! make two keys collide. Two of *n* keys have the same hash with a chance of n²/2¹²⁹: 10⁻²⁵ for ten million keys.
//! Kafka takes MD5, which has the same chance by accident and known collisions by intent, in 24 bytes a slot.
//!
//! A lookup reads a random place of the map, which seldom is in a cache. So the callers hash many keys, have all their
//! slots read at once with [`OffsetMap::touch`], for which the processor waits once, and only then look them up.
//!
//! Slots are probed linearly, and a key that is further from its own slot takes the place of one that is nearer (Robin
//! Hood), so that a lookup is short however full the map is. Memory is taken when a cleaning begins: for as many keys
//! as the dirty part has offsets, at most the limit. When the map is full the cleaning covers the dirty part up to
//! there; the next cleaning goes on behind it.

use std::hash::Hasher;
use std::hint::black_box;
use std::io;

use siphasher::sip128::{Hasher128, SipHasher13};

use ::io::heap::prefer_large_pages;
use base::place::Offset;
use base::system::fill_random;

/// Bytes of a slot.
const SLOT_BYTES: usize = size_of::<Slot>();

/// Most offsets that one map covers: a relative offset plus one has 32 bits.
pub const MAX_SPAN: i64 = u32::MAX as i64;

/// By what a map knows a key. Another map's hashes mean nothing to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyHash([u32; 4]);

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    hash: KeyHash,
    offset: u32,
}

/// The map has as many keys as it may have.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

/// See the module.
#[derive(Debug)]
pub struct OffsetMap {
    limit_bytes: usize,
    load_factor: f64,
    secret: [u8; 16],
    first: Offset,
    slots: Vec<Slot>,
    keys: usize,
    max_keys: usize,
    latest: Offset,
}

impl OffsetMap {
    /// An empty map of at most `limit_bytes`, of whose slots at most `load_factor` (between 0 and 1) are used.
    pub fn new(limit_bytes: usize, load_factor: f64) -> Self {
        Self {
            limit_bytes,
            load_factor,
            secret: [0; 16],
            first: Offset(0),
            slots: Vec::new(),
            keys: 0,
            max_keys: 0,
            latest: Offset::NONE,
        }
    }

    /// Forgets all keys and takes the memory for offsets from `first` on, of which there are `span` (at most
    /// [`MAX_SPAN`]). There is room for one key at least.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn begin(&mut self, first: Offset, span: i64) -> io::Result<()> {
        let most = (self.limit_bytes / SLOT_BYTES).max(2);
        let usable = |slots: usize| ((slots as f64 * self.load_factor) as usize).clamp(1, slots - 1);
        let wanted = usize::try_from(span).unwrap_or(0).max(1);
        let slots = if usable(most) <= wanted {
            most
        } else {
            ((wanted as f64 / self.load_factor) as usize + 2).min(most)
        };
        self.slots = Vec::with_capacity(slots);
        prefer_large_pages(&mut self.slots);
        self.slots.resize(slots, Slot::default());
        self.max_keys = usable(slots);
        fill_random(&mut self.secret)?;
        (self.first, self.keys, self.latest) = (first, 0, first - 1);
        Ok(())
    }

    /// Frees the memory.
    pub fn end(&mut self) {
        self.slots = Vec::new();
        (self.keys, self.max_keys) = (0, 0);
    }

    /// Notes that the record at `offset` has this key. Offsets come in ascending order. An error, and no change, when
    /// the key is new and the map is full, or when the offset is too far from the first one.
    pub fn put(&mut self, hash: KeyHash, offset: Offset) -> Result<(), Full> {
        let Some(value) = self.relative(offset) else {
            return Err(Full);
        };
        let mut entry = Slot { hash, offset: value };
        let (mut at, mut distance) = (self.home(hash), 0);
        loop {
            let Some(slot) = self.slots.get_mut(at) else {
                return Err(Full); // a map that has not begun
            };
            if slot.offset == 0 {
                if self.keys >= self.max_keys {
                    return Err(Full);
                }
                *slot = entry;
                break;
            }
            if slot.hash == entry.hash {
                slot.offset = value;
                self.latest = self.latest.max(offset);
                return Ok(());
            }
            let found = *slot;
            let other = self.distance(found.hash, at);
            if other < distance {
                // The key is not in the map: a slot that is nearer to its home would stand behind it.
                if self.keys >= self.max_keys {
                    return Err(Full);
                }
                if let Some(slot) = self.slots.get_mut(at) {
                    *slot = entry;
                }
                entry = found;
                self.push_on(entry, at, other);
                break;
            }
            (at, distance) = (self.next(at), distance + 1);
        }
        self.keys += 1;
        self.latest = self.latest.max(offset);
        Ok(())
    }

    /// Puts a slot that was taken from `at` into a free place behind it; every key is another one.
    fn push_on(&mut self, mut entry: Slot, at: usize, mut distance: usize) {
        let mut at = at;
        loop {
            (at, distance) = (self.next(at), distance + 1);
            let Some(slot) = self.slots.get_mut(at) else { return };
            if slot.offset == 0 {
                *slot = entry;
                return;
            }
            let found = *slot;
            let other = self.distance(found.hash, at);
            if other < distance {
                if let Some(slot) = self.slots.get_mut(at) {
                    *slot = entry;
                }
                (entry, distance) = (found, other);
            }
        }
    }

    /// The last offset of the key; `None` when the dirty part has no such key up to [`Self::latest`].
    pub fn get(&self, hash: KeyHash) -> Option<Offset> {
        let (mut at, mut distance) = (self.home(hash), 0);
        loop {
            let slot = self.slots.get(at).filter(|slot| slot.offset != 0)?;
            if slot.hash == hash {
                return Some(self.first + i64::from(slot.offset - 1));
            }
            if self.distance(slot.hash, at) < distance {
                return None;
            }
            (at, distance) = (self.next(at), distance + 1);
        }
    }

    /// The last offset that the map covers: the one before the first as long as it covers none.
    pub fn latest(&self) -> Offset {
        self.latest
    }

    /// Notes that all records up to `offset` are in the map, as far as they have keys that count.
    pub fn note_latest(&mut self, offset: Offset) {
        self.latest = self.latest.max(offset);
    }

    /// How many keys it has.
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// The share of the slots that the limit allows which are used, 0 to 1.
    pub fn utilization(&self) -> f64 {
        self.keys as f64 / (self.limit_bytes / SLOT_BYTES).max(1) as f64
    }

    /// Bytes that it takes now.
    pub fn size_bytes(&self) -> usize {
        self.slots.capacity() * SLOT_BYTES
    }

    fn relative(&self, offset: Offset) -> Option<u32> {
        let relative = u32::try_from(offset - self.first).ok()?;
        relative.checked_add(1)
    }

    /// The hash of a key, while this cleaning lasts.
    pub fn hash(&self, key: &[u8]) -> KeyHash {
        let mut hasher = SipHasher13::new_with_key(&self.secret);
        hasher.write(key);
        let hash = hasher.finish128();
        KeyHash([
            (hash.h1 >> 32) as u32,
            hash.h1 as u32,
            (hash.h2 >> 32) as u32,
            hash.h2 as u32,
        ])
    }

    /// Reads the slots at which these keys are looked for first, so that the next lookups find them in a cache.
    pub fn touch(&self, hashes: impl Iterator<Item = KeyHash>) {
        let offset = |hash| self.slots.get(self.home(hash)).map_or(0, |slot| slot.offset);
        black_box(hashes.fold(0, |sum, hash| sum ^ offset(hash)));
    }

    /// The slot at which a key is looked for first: the hash's first half, scaled to the number of slots.
    fn home(&self, KeyHash(hash): KeyHash) -> usize {
        let high = u64::from(hash[0]) << 32 | u64::from(hash[1]);
        ((u128::from(high) * self.slots.len() as u128) >> 64) as usize
    }

    fn next(&self, at: usize) -> usize {
        if at + 1 == self.slots.len() { 0 } else { at + 1 }
    }

    /// How far the slot at `at` is from the home of the key in it.
    fn distance(&self, hash: KeyHash, at: usize) -> usize {
        let home = self.home(hash);
        if at >= home {
            at - home
        } else {
            at + self.slots.len() - home
        }
    }
}

#[cfg(test)]
#[path = "offset_map_tests.rs"]
mod tests;
