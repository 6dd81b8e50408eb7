//! What the client of a request may do: the published ACLs, asked for one request.
//!
//! Place: each API of the data plane makes an [`Authorization`] of its request ([`Request::authorization`]) and asks it
//! before it looks at anything that the client names; the control plane asks through `rust/python/security.rs`. Without
//! an authorizer everything is allowed, which costs one branch.
//!
//! A connection that has proven to be a broker may do everything, as a super user may: an ACL never locks brokers out
//! of their cluster. A connection that only came in on the brokers' listener has proven nothing: where ACLs decide it
//! is a client like any other ([`Authorization::acts_for_cluster`]).
//!
//! A refusal is logged in Kafka's words, as far as the [`LineLimit`](crate::lines::LineLimit) allows.

pub mod authorizer;
mod decisions;

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::Guard;

use crate::Broker;
use crate::lines::printable;
use crate::published::acls::{AclClient, Acls, CLUSTER_NAME, Operation, Operations, ResourceType};
use crate::published::image::Image;
use crate::published::registry::Topics;
use crate::published::topic_id::TopicId;
use crate::requests::api::Request;
use crate::requests::caller::Caller;
use crate::threads::events::Event;

pub use decisions::Decisions;

/// Characters of a resource's name in a line.
const NAME_CHARS: usize = 250;
/// Characters of a line.
const LINE_CHARS: usize = 1000;

/// Who asks, in the words of ACLs.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// The principal: `User:alice`.
    pub principal: &'a str,
    /// The address, as Kafka shows it (`/127.0.0.1`) or without the slash.
    pub host: &'a str,
    /// The name of the request, for the log.
    pub request: &'a str,
}

/// See the module.
pub struct Authorization<'a> {
    broker: &'a Broker,
    acls: Guard<Option<Arc<Acls>>>,
    asker: Asker<'a>,
    /// Those of the connection.
    decisions: Option<&'a Decisions>,
    acts_for_cluster: bool,
}

impl<'a> Request<'a> {
    /// What the client may do; `name` is the API's.
    pub fn authorization(&self, name: &'a str) -> Authorization<'a> {
        Authorization::new(self.broker, &self.caller, name)
    }
}

impl<'a> Authorization<'a> {
    /// Of a request with this name.
    pub fn new(broker: &'a Broker, caller: &Caller<'a>, request: &'a str) -> Self {
        let asker = Asker {
            principal: caller.principal.as_str(),
            host: caller.host,
            request,
        };
        let client = Self {
            decisions: caller.decisions,
            ..Self::of(broker, asker)
        };
        if !caller.is_broker || (client.decides() && !broker.options().has_broker_proof) {
            return client;
        }
        Self {
            acls: Guard::from_inner(None),
            acts_for_cluster: true,
            ..client
        }
    }

    /// Of a client of the control plane, which is no broker.
    pub fn of(broker: &'a Broker, asker: Asker<'a>) -> Self {
        let host = asker.host;
        Self {
            broker,
            acls: broker.authorizer().load(),
            asker: Asker {
                host: host.strip_prefix('/').unwrap_or(host),
                ..asker
            },
            decisions: None,
            acts_for_cluster: false,
        }
    }

    /// Whether ACLs decide; else everything is allowed.
    pub fn decides(&self) -> bool {
        self.acls.is_some()
    }

    /// Whether the client may do this. A refusal is logged.
    pub fn allows(&self, operation: Operation, resource: ResourceType, name: &str) -> bool {
        let is_allowed = self.allows_quietly(operation, resource, name);
        if !is_allowed {
            self.log_refusal(operation, resource, name, 1);
        }
        is_allowed
    }

    /// As [`Self::allows`], without a line in the log: the client did not name the resource, or has another way.
    pub fn allows_quietly(&self, operation: Operation, resource: ResourceType, name: &str) -> bool {
        let Some(acls) = &*self.acls else { return true };
        self.decide(acls, resource, name).has(operation)
    }

    /// Whether the client may do this with the cluster.
    pub fn allows_cluster(&self, operation: Operation) -> bool {
        self.allows(operation, ResourceType::Cluster, CLUSTER_NAME)
    }

    /// Whether the client may do this with some resource of the type. Nothing is logged.
    pub fn allows_some(&self, operation: Operation, resource: ResourceType) -> bool {
        let Some(acls) = &*self.acls else { return true };
        acls.allows_some(self.client(), operation, resource)
    }

    /// Whether the client may do what brokers do to each other. No ACL allows that. A refusal is logged.
    pub fn acts_for_cluster(&self) -> bool {
        if self.decides() {
            self.log_refusal(Operation::ClusterAction, ResourceType::Cluster, CLUSTER_NAME, 1);
        }
        self.acts_for_cluster
    }

    /// For each of `names` whether the client may do this, `None` when it may for all. A name that is `None` names
    /// nothing and is allowed. A refused name is logged once.
    pub fn each<'n>(
        &self,
        operation: Operation,
        resource: ResourceType,
        names: impl Iterator<Item = Option<&'n str>>,
    ) -> Option<Vec<bool>> {
        let acls = self.acls.as_ref()?;
        // filled from the first refused name on: most requests are allowed, and take no memory here
        let (mut allowed, mut refused, mut last) = (Vec::new(), BTreeMap::<&str, usize>::new(), None);
        for (at, name) in names.enumerate() {
            let is_allowed = match last {
                Some((same, is_allowed)) if same == name => is_allowed,
                _ => name.is_none_or(|name| self.decide(acls, resource, name).has(operation)),
            };
            last = Some((name, is_allowed));
            if !is_allowed {
                allowed.resize(at, true);
                *refused.entry(name.unwrap_or_default()).or_default() += 1;
            }
            if !refused.is_empty() {
                allowed.push(is_allowed);
            }
        }
        for (name, count) in &refused {
            self.log_refusal(operation, resource, name, *count);
        }
        (!refused.is_empty()).then_some(allowed)
    }

    /// The operations that the client may do with a resource, as a response's field.
    pub fn operations(&self, resource: ResourceType, name: &str) -> i32 {
        let Some(acls) = &*self.acls else {
            return Operations::ALL.of_type(resource);
        };
        self.decide(acls, resource, name).of_type(resource)
    }

    /// Everything that the client may do with a resource.
    fn decide(&self, acls: &Acls, resource: ResourceType, name: &str) -> Operations {
        let decide = || acls.operations(self.client(), resource, name);
        match self.decisions {
            Some(decisions) => decisions.get(acls.number(), resource, name, decide),
            None => decide(),
        }
    }

    /// Logs that the client was refused, with `count` things that it asked of the resource.
    pub fn log_refusal(&self, operation: Operation, resource: ResourceType, name: &str, count: usize) {
        let Some(left_out) = self.broker.authorizer().line_limit().next_line() else {
            return;
        };
        let Asker {
            principal,
            host,
            request,
        } = self.asker;
        let name: String = name.chars().take(NAME_CHARS).collect();
        let before = if left_out > 0 {
            format!(" ({left_out} more refusals before it are left out)")
        } else {
            String::new()
        };
        let line = format!(
            "Principal = {principal} is Denied operation = {} from host = {host} on resource = {}:LITERAL:{name} for \
             request = {request} with resourceRefCount = {count}{before}",
            operation.name(),
            resource.name(),
        );
        self.broker.events().push(Event::Refused(printable(&line, LINE_CHARS)));
    }

    fn client(&self) -> AclClient<'_> {
        AclClient {
            principal: self.asker.principal,
            host: self.asker.host,
        }
    }
}

/// The name of the topic with this id, of which the cluster's image or a replica of this broker knows: the replica may
/// be here before the image has the topic, and after.
pub fn known_name<'a>(image: &'a Image, topics: &'a Topics, id: &TopicId) -> Option<&'a str> {
    let hosted = || topics.by_id(id).map(|topic| &*topic.name);
    image.topic_by_id(id).map(|topic| &*topic.name).or_else(hosted)
}

#[cfg(test)]
mod tests;
