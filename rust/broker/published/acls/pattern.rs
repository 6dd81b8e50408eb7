//! The ACLs of one resource pattern, by principal, each as the operations that it allows or denies.
//!
//! Never: knows the pattern's name.

use std::collections::HashMap;
use std::net::IpAddr;

use super::operations::{Operation, Operations};

/// The principal of ACLs for every user.
pub const EVERYBODY: &str = "User:*";
/// The host of ACLs for every host.
const EVERYWHERE: &str = "*";

/// An ACL, without its resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AclEntry {
    /// As Kafka writes it: `User:alice`.
    pub principal: String,
    /// An address, or `*`.
    pub host: String,
    /// What it allows or denies; `None` for every operation.
    pub operation: Option<Operation>,
    /// Whether it allows.
    pub is_allow: bool,
}

impl AclEntry {
    /// The operations that it allows, or denies. Only what is allowed implies more.
    fn operations(&self) -> Operations {
        use Operation::{Alter, AlterConfigs, Delete, Describe, DescribeConfigs, Read, Write};
        match self.operation {
            None => Operations::ALL,
            Some(one @ (Read | Write | Delete | Alter)) if self.is_allow => Operations::of(&[one, Describe]),
            Some(AlterConfigs) if self.is_allow => Operations::of(&[AlterConfigs, DescribeConfigs]),
            Some(one) => Operations::of(&[one]),
        }
    }
}

/// A client, as ACLs know it.
#[derive(Debug, Clone, Copy)]
pub struct AclClient<'a> {
    /// The principal: `User:alice`.
    pub principal: &'a str,
    /// The address, without a slash.
    pub host: &'a str,
}

/// What one principal may do from one host, or from every host.
#[derive(Debug)]
struct Rule {
    /// `None` for every host.
    host: Option<Box<str>>,
    allowed: Operations,
    denied: Operations,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Pattern {
    of_principals: HashMap<Box<str>, Vec<Rule>, ahash::RandomState>,
    of_everybody: Vec<Rule>,
}

impl Pattern {
    /// The pattern with these ACLs.
    pub fn new(entries: &[AclEntry]) -> Self {
        let mut made = Self::default();
        for entry in entries {
            let rules = match entry.principal.as_str() {
                EVERYBODY => &mut made.of_everybody,
                principal => made.of_principals.entry(principal.into()).or_default(),
            };
            let host = (entry.host != EVERYWHERE).then(|| canonical(&entry.host));
            let at = rules.iter().position(|rule| rule.host == host);
            let at = at.unwrap_or_else(|| {
                rules.push(Rule {
                    host,
                    allowed: Operations::default(),
                    denied: Operations::default(),
                });
                rules.len() - 1
            });
            let Some(rule) = rules.get_mut(at) else { continue };
            if entry.is_allow {
                rule.allowed |= entry.operations();
            } else {
                rule.denied |= entry.operations();
            }
        }
        made
    }

    /// The principals that the ACLs allow anything.
    pub fn granted(&self) -> impl Iterator<Item = &str> {
        let is_granted = |rules: &[Rule]| rules.iter().any(|rule| rule.allowed != Operations::default());
        let everybody = is_granted(&self.of_everybody).then_some(EVERYBODY);
        let others = self.of_principals.iter().filter(move |(_, rules)| is_granted(rules));
        others.map(|(principal, _)| &**principal).chain(everybody)
    }

    /// The operations that the ACLs allow, and that they deny, a client.
    pub fn say(&self, client: AclClient<'_>) -> (Operations, Operations) {
        let (mut allowed, mut denied) = (Operations::default(), Operations::default());
        let own = self.of_principals.get(client.principal).map_or(&[][..], Vec::as_slice);
        for rule in own.iter().chain(&self.of_everybody) {
            if rule.host.as_deref().is_none_or(|one| one == client.host) {
                allowed |= rule.allowed;
                denied |= rule.denied;
            }
        }
        (allowed, denied)
    }
}

/// An address in the form in which a connection's address is written. Kafka writes addresses of IPv6 in full
/// (`0:0:0:0:0:0:0:1`). What is no address stays, and is no client's.
fn canonical(host: &str) -> Box<str> {
    let address = host.parse::<IpAddr>();
    address.map_or_else(|_| host.into(), |address| address.to_canonical().to_string().into())
}
