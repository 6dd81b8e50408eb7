//! The limits on connections: how many, and how many new ones a second; for all listeners, a listener, an address.

use std::collections::HashMap;
use std::net::IpAddr;

use base::error::{Error, ErrorCode, Result};

/// What a listener's keys are prefixed with; the listener's name follows in lower case.
const LISTENER_PREFIX: &str = "listener.name.";

/// The limits of one listener, which hold beside those of the broker.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ListenerLimits {
    /// `max.connections`.
    pub max: usize,
    /// `max.connection.creation.rate`.
    pub creation_rate: f64,
}

impl Default for ListenerLimits {
    fn default() -> Self {
        Self {
            max: usize::MAX,
            creation_rate: f64::INFINITY,
        }
    }
}

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionOptions {
    /// `max.connections`.
    pub max: usize,
    /// `max.connections.per.ip`.
    pub max_per_ip: usize,
    /// `max.connections.per.ip.overrides`, by address.
    pub max_of_ip: HashMap<IpAddr, usize>,
    /// `max.connection.creation.rate`.
    pub creation_rate: f64,
    /// By the listener's name in lower case.
    pub listeners: HashMap<String, ListenerLimits>,
}

impl Default for ConnectionOptions {
    fn default() -> Self {
        Self {
            max: usize::MAX,
            max_per_ip: usize::MAX,
            max_of_ip: HashMap::new(),
            creation_rate: f64::INFINITY,
            listeners: HashMap::new(),
        }
    }
}

impl ConnectionOptions {
    /// The limits among these keys and values.
    pub fn parse(pairs: &HashMap<String, String>) -> Result<Self> {
        let mut options = Self::default();
        super::parse(pairs, "max.connections", &mut options.max)?;
        super::parse(pairs, "max.connections.per.ip", &mut options.max_per_ip)?;
        options.creation_rate = rate(pairs, "max.connection.creation.rate")?;
        if let Some(text) = pairs.get("max.connections.per.ip.overrides") {
            options.max_of_ip = overrides(text)?;
        }
        for key in pairs.keys() {
            let Some((listener, name)) = key.strip_prefix(LISTENER_PREFIX).and_then(|rest| rest.split_once('.')) else {
                continue;
            };
            let limits = options.listeners.entry(listener.to_lowercase()).or_default();
            match name {
                "max.connections" => super::parse(pairs, key, &mut limits.max)?,
                "max.connection.creation.rate" => limits.creation_rate = rate(pairs, key)?,
                _ => {}
            }
        }
        Ok(options)
    }

    /// The limits of a listener.
    pub fn of_listener(&self, name: &str) -> ListenerLimits {
        if self.listeners.is_empty() {
            return ListenerLimits::default();
        }
        self.listeners.get(&name.to_lowercase()).copied().unwrap_or_default()
    }
}

/// A rate of new connections; Kafka's default, the largest number, is no limit.
fn rate(pairs: &HashMap<String, String>, key: &str) -> Result<f64> {
    let mut rate = i64::from(i32::MAX);
    super::parse(pairs, key, &mut rate)?;
    let is_limit = rate < i64::from(i32::MAX);
    Ok(if is_limit { rate as f64 } else { f64::INFINITY })
}

/// `address:count,…`.
fn overrides(text: &str) -> Result<HashMap<IpAddr, usize>> {
    let parts = text.split(',').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let split = part.rsplit_once(':');
            let parsed = split.and_then(|(address, count)| {
                let address: IpAddr = address.parse().ok()?;
                Some((address.to_canonical(), count.parse().ok()?))
            });
            parsed.ok_or_else(|| {
                let message = format!("max.connections.per.ip.overrides={text}: {part} is not address:count");
                Error::rejected(ErrorCode::INVALID_CONFIG, message)
            })
        })
        .collect()
}

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
