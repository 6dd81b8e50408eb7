//! Followers: what they fetch from leaders, and the connections to other brokers.

pub mod fetchers;
pub mod peers;
pub mod replica_fetcher;
pub mod replica_selector;
pub mod throttle;
