//! The properties of a client, by the names of Kafka's Java client, as text that becomes values.
//!
//! Every mistake is one sentence that begins with the key as its user writes it, and says the fix.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::security::{Security, is_key, is_unused};
use crate::servers::{NoServer, Server, parse_servers};

type Result<T> = std::result::Result<T, String>;

/// See the module.
#[derive(Debug)]
pub struct Properties {
    /// Without the prefix, and without spaces around them.
    values: BTreeMap<String, String>,
    prefix: &'static str,
}

impl Properties {
    /// Of pairs; `prefix` is what stands before each key where its user writes it, and is not in the pairs.
    pub fn new<K: Into<String>>(pairs: impl IntoIterator<Item = (K, String)>, prefix: &'static str) -> Self {
        let pairs = pairs.into_iter();
        Self {
            values: pairs
                .map(|(key, value)| (key.into(), value.trim().to_owned()))
                .collect(),
            prefix,
        }
    }

    /// A value.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// A key as its user writes it.
    pub fn named(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    /// Keys that have no effect, as they are written, where those of `known` have one.
    pub fn ignored(&self, known: &[&str]) -> Vec<String> {
        let is_used = |key: &str| known.contains(&key) || (is_key(key) && !is_unused(key));
        let keys = self.values.keys().filter(|key| !is_used(key));
        keys.map(|key| self.named(key)).collect()
    }

    /// `bootstrap.servers`.
    pub fn servers(&self) -> Result<Vec<Server>> {
        let key = self.named("bootstrap.servers");
        let Some(text) = self.get("bootstrap.servers").filter(|text| !text.is_empty()) else {
            return Err(format!("{key}: none is given; give host:port, as localhost:9092"));
        };
        parse_servers(text)
            .map_err(|NoServer { text, fix }| format!("{key}: '{}' is no server; {fix}", text.escape_default()))
    }

    /// `security.protocol`, `ssl.*`, `sasl.*`.
    pub fn security(&self) -> Result<Security> {
        let pairs = self.values.iter().filter(|(key, _)| is_key(key));
        let kept = Security::kept(pairs.map(|(key, value)| (key.clone(), value.clone())).collect());
        kept.map_err(|sentence| {
            if is_key(&sentence) {
                self.named(&sentence)
            } else {
                sentence
            }
        })
    }

    /// One of `choices`, each with its name, in any case.
    pub fn choice<T: Copy>(&self, key: &str, default: T, choices: &[(&str, T)]) -> Result<T> {
        let Some(value) = self.get(key) else {
            return Ok(default);
        };
        let chosen = choices.iter().find(|(name, _)| name.eq_ignore_ascii_case(value));
        chosen.map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            format!(
                "{}: '{value}' is none; say one of {}",
                self.named(key),
                names.join(", ")
            )
        })
    }

    /// `true` or `false`.
    pub fn flag(&self, key: &str, default: bool) -> Result<bool> {
        let Some(value) = self.get(key) else {
            return Ok(default);
        };
        let flag = value.to_lowercase().parse();
        flag.map_err(|_| {
            format!(
                "{}: '{value}' is neither true nor false; say one of them",
                self.named(key)
            )
        })
    }

    /// A whole number.
    pub fn number(&self, key: &str, default: usize, allowed: RangeInclusive<usize>) -> Result<usize> {
        let Some(value) = self.get(key) else {
            return Ok(default);
        };
        let number = value.parse().ok().filter(|number| allowed.contains(number));
        number.ok_or_else(|| {
            format!(
                "{}: '{value}' is no whole number of at least {}; give one",
                self.named(key),
                allowed.start()
            )
        })
    }

    /// A number of at most 2^31 - 1, as Kafka's type `int`.
    pub fn int(&self, key: &str, default: i32, least: i32) -> Result<i32> {
        let (default, least) = (default.unsigned_abs() as usize, least.unsigned_abs() as usize);
        self.number(key, default, least..=i32::MAX as usize)
            .map(|number| number as i32)
    }

    /// Milliseconds, of at least one.
    pub fn ms(&self, key: &str, default: u64) -> Result<Duration> {
        let default = usize::try_from(default).unwrap_or_default();
        let number = self.number(key, default, 1..=i32::MAX as usize)?;
        Ok(Duration::from_millis(number as u64))
    }

    /// Milliseconds, or none.
    pub fn optional_ms(&self, key: &str) -> Result<Option<Duration>> {
        if self.get(key).is_none() {
            return Ok(None);
        }
        let number = self.number(key, 0, 0..=i32::MAX as usize)?;
        Ok(Some(Duration::from_millis(number as u64)))
    }
}
