//! Kafka's 128-bit ids (topics, directories) and their 22-character text form.
//!
//! The text is URL-safe base64 without padding, as in `partition.metadata` and `meta.properties`. Never a source of
//! secrets: random ids need only differ.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Characters of the text form: 128 bits, six to a character.
const TEXT_LEN: usize = 22;
/// Kafka reserves the lowest ids for meanings of its own (unassigned, lost, migrating directories; the metadata topic).
const RESERVED_BELOW: u128 = 100;

/// A topic id or directory id; all zero means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// No id.
    pub const ZERO: Self = Self([0; 16]);

    /// A new version 4 id, never one of the reserved ones and never one whose text starts with a dash (which would
    /// look like an option to command line tools).
    pub fn random() -> Self {
        loop {
            let high = RandomState::new().hash_one(0_u64);
            let low = RandomState::new().hash_one(1_u64);
            let mut bytes = ((u128::from(high) << 64) | u128::from(low)).to_be_bytes();
            bytes[6] = (bytes[6] & 0x0f) | 0x40;
            bytes[8] = (bytes[8] & 0x3f) | 0x80;
            let id = Self(bytes);
            if !id.is_reserved() && !id.to_string().starts_with('-') {
                return id;
            }
        }
    }

    /// Whether Kafka gives the id a meaning of its own.
    pub const fn is_reserved(self) -> bool {
        u128::from_be_bytes(self.0) < RESERVED_BELOW
    }

    /// Reads the text form; trailing `=` padding is accepted as Java's decoder does. `None` when it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_end_matches('=').as_bytes();
        if text.len() != TEXT_LEN {
            return None;
        }
        let mut bits = 0_u128;
        for &character in &text[..TEXT_LEN - 1] {
            bits = (bits << 6) | u128::from(value_of(character)?);
        }
        let last = value_of(text[TEXT_LEN - 1])?;
        Some(Self(((bits << 2) | u128::from(last >> 4)).to_be_bytes()))
    }
}

fn value_of(character: u8) -> Option<u8> {
    ALPHABET.iter().position(|&known| known == character).map(|at| at as u8)
}

impl fmt::Display for Uuid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = u128::from_be_bytes(self.0);
        let mut text = String::with_capacity(TEXT_LEN);
        for shift in (2..=122).rev().step_by(6).chain(std::iter::once(0)) {
            let six = if shift == 0 {
                (bits << 4) & 0x3f
            } else {
                (bits >> shift) & 0x3f
            };
            text.push(char::from(ALPHABET[six as usize]));
        }
        out.pad(&text)
    }
}

#[cfg(test)]
#[path = "uuid_tests.rs"]
mod tests;
