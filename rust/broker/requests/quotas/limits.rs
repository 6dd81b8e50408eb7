//! The limits that the control plane has published, and which limit a client has.
//!
//! A limit belongs to an entity: a user, a client id, both, or the default of either. For each kind of quota the first
//! entity of this list that has a limit decides, and who shares the limit (KIP-55):
//!
//! ```text
//!    entity                                        counted together
//! A  user, client id                               the user's clients of that id
//! B  user, default client id                       the user's clients of one id
//! C  user                                          all clients of the user
//! D  default user, client id                       one user's clients of that id
//! E  default user, default client id               one user's clients of one id
//! F  default user                                  all clients of one user
//! G  client id                                     all clients of that id
//! H  default client id                             all clients of one id
//! ```
//! A client without a client id has no limit by client id (A, B, D, E, G, H). Nothing here counts.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The kinds of quotas that clients are held to here; controller mutations are the control plane's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuotaKind {
    /// `producer_byte_rate`.
    Produce,
    /// `consumer_byte_rate`.
    Fetch,
    /// `request_percentage`.
    Request,
}

impl QuotaKind {
    /// How many there are.
    pub const COUNT: usize = 3;
    /// All of them, in their order.
    pub const ALL: [Self; Self::COUNT] = [Self::Produce, Self::Fetch, Self::Request];

    /// Kafka's name of the kind in its metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Produce => "Produce",
            Self::Fetch => "Fetch",
            Self::Request => "Request",
        }
    }

    /// The kind of a key, as operators write it.
    pub fn of_key(key: &str) -> Option<Self> {
        match key {
            "producer_byte_rate" => Some(Self::Produce),
            "consumer_byte_rate" => Some(Self::Fetch),
            "request_percentage" => Some(Self::Request),
            _ => None,
        }
    }
}

/// One limit, as it is published.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotaRow {
    /// The user's name; empty for the default user, `None` when the entity has no user.
    pub user: Option<String>,
    /// The client id; empty for the default, `None` when the entity has no client id.
    pub client_id: Option<String>,
    /// What is limited.
    pub kind: QuotaKind,
    /// Bytes a second, or percent of one thread; `None`: the entity has no limit.
    pub limit: Option<f64>,
}

/// Whose amounts are counted together under a limit: empty where the name does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sharers<'a> {
    /// The user.
    pub user: &'a str,
    /// The client id.
    pub client_id: &'a str,
}

/// The limits of one kind.
#[derive(Debug, Default)]
struct Table {
    /// By user, then by client id; empty for a default, `None` for none.
    by_user: HashMap<String, HashMap<Option<String>, f64>>,
    by_client_id: HashMap<String, f64>,
}

/// All limits.
#[derive(Debug, Default)]
pub struct Limits {
    tables: [Table; QuotaKind::COUNT],
}

impl Limits {
    /// Replaces the limits of the rows' entities.
    pub fn put(&mut self, rows: Vec<QuotaRow>) {
        for row in rows {
            let table = &mut self.tables[row.kind as usize];
            match (row.user, row.client_id, row.limit) {
                (Some(user), client_id, Some(limit)) => {
                    table.by_user.entry(user).or_default().insert(client_id, limit);
                }
                (Some(user), client_id, None) => {
                    if let Entry::Occupied(mut of_user) = table.by_user.entry(user) {
                        of_user.get_mut().remove(&client_id);
                        if of_user.get().is_empty() {
                            of_user.remove();
                        }
                    }
                }
                (None, Some(client_id), Some(limit)) => {
                    table.by_client_id.insert(client_id, limit);
                }
                (None, Some(client_id), None) => {
                    table.by_client_id.remove(&client_id);
                }
                (None, None, _) => {}
            }
        }
    }

    /// The limit of a client, and who shares it; `None` when no limit is set for it.
    pub fn find<'a>(&self, kind: QuotaKind, user: &'a str, client_id: &'a str) -> Option<(f64, Sharers<'a>)> {
        let table = &self.tables[kind as usize];
        let default = String::new();
        for name in [user, ""] {
            let Some(of_user) = table.by_user.get(name) else {
                continue;
            };
            let of_id = of_user
                .get(&Some(client_id.to_owned()))
                .filter(|_| !client_id.is_empty()); // A, D
            let of_any_id = || of_user.get(&Some(default.clone())).filter(|_| !client_id.is_empty()); // B, E
            if let Some(limit) = of_id.or_else(of_any_id) {
                return Some((*limit, Sharers { user, client_id }));
            }
            if let Some(limit) = of_user.get(&None) {
                return Some((*limit, Sharers { user, client_id: "" })); // C, F
            }
        }
        if client_id.is_empty() {
            return None;
        }
        let found = table.by_client_id.get(client_id).or_else(|| table.by_client_id.get("")); // G, H
        found.map(|limit| (*limit, Sharers { user: "", client_id }))
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
