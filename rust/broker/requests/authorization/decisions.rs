//! What a connection's client may do with the resources that it named last: most requests name one of a few topics
//! again, and a decision that is read here touches less memory than one that is made.
//!
//! A client's principal and address never change within one [`crate::requests::caller::ClientInfo`], and a copy of that
//! begins with an empty [`Decisions`]. Decisions of other ACLs are dropped with the first question under new ones.
//! Never decides anything.

use parking_lot::Mutex;

use crate::published::acls::{Operations, ResourceType};

/// Resources that are remembered, each at a place that its name determines.
const PLACES: usize = 8;
/// The longest name that is remembered: what clients may name is longer than what resources are called.
const MAX_NAME_BYTES: usize = 255;

struct Decision {
    resource: ResourceType,
    name: Box<str>,
    operations: Operations,
}

#[derive(Default)]
struct Remembered {
    /// The number of the ACLs that decided.
    acls: u64,
    /// Empty until the first decision.
    places: Box<[Option<Decision>]>,
}

/// See the module.
#[derive(Default)]
pub struct Decisions(Mutex<Remembered>);

impl Decisions {
    /// The operations that the client may do with a resource by the ACLs of this number; `decide` finds them.
    pub fn get(
        &self,
        acls: u64,
        resource: ResourceType,
        name: &str,
        decide: impl FnOnce() -> Operations,
    ) -> Operations {
        if name.len() > MAX_NAME_BYTES {
            return decide();
        }
        let mut remembered = self.0.lock();
        if remembered.acls != acls || remembered.places.is_empty() {
            *remembered = Remembered {
                acls,
                places: (0..PLACES).map(|_| None).collect(),
            };
        }
        let place = &mut remembered.places[place_of(name)];
        match place {
            Some(known) if *known.name == *name && known.resource == resource => known.operations,
            _ => {
                let operations = decide();
                *place = Some(Decision {
                    resource,
                    name: name.into(),
                    operations,
                });
                operations
            }
        }
    }
}

/// Names that are numbered differ in their last character.
fn place_of(name: &str) -> usize {
    let last = name.as_bytes().last().copied().unwrap_or_default();
    (usize::from(last) + name.len()) % PLACES
}

impl Clone for Decisions {
    /// Empty: the copy may become another client's.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for Decisions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decisions").finish_non_exhaustive()
    }
}

impl PartialEq for Decisions {
    /// What is remembered is no part of a client.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Decisions {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::acls::Operation;

    const READ: Operations = Operations::of(&[Operation::Read]);
    const WRITE: Operations = Operations::of(&[Operation::Write]);

    /// Asks; `None` when the answer was remembered.
    fn asked(decisions: &Decisions, acls: u64, resource: ResourceType, name: &str, answer: Operations) -> Option<()> {
        let mut is_asked = None;
        let found = decisions.get(acls, resource, name, || {
            is_asked = Some(());
            answer
        });
        assert!(found == answer || is_asked.is_none());
        is_asked
    }

    #[test]
    fn decision_is_remembered_for_its_acls_its_type_and_its_name_alone() {
        let decisions = Decisions::default();
        let topic = ResourceType::Topic;
        assert!(asked(&decisions, 1, topic, "t", READ).is_some());
        assert_eq!(decisions.get(1, topic, "t", || WRITE), READ);
        assert!(asked(&decisions, 1, ResourceType::Group, "t", WRITE).is_some());
        assert!(asked(&decisions, 1, topic, "u", WRITE).is_some());
        assert_eq!(decisions.get(1, topic, "u", || READ), WRITE);
        assert!(asked(&decisions, 2, topic, "u", READ).is_some());
        assert_eq!(decisions.get(2, topic, "u", || WRITE), READ);
        assert!(asked(&decisions, 2, topic, "t", WRITE).is_some());
    }

    #[test]
    fn names_at_one_place_give_way_to_one_another() {
        let decisions = Decisions::default();
        let names: Vec<String> = (0..200).map(|number| format!("topic-{number}")).collect();
        for round in 0..3 {
            for (nth, name) in names.iter().enumerate() {
                let answer = if nth % 2 == 0 { READ } else { WRITE };
                assert_eq!(
                    decisions.get(1, ResourceType::Topic, name, || answer),
                    answer,
                    "{round} {name}"
                );
            }
        }
    }

    #[test]
    fn long_name_is_not_remembered_and_a_copy_begins_empty() {
        let decisions = Decisions::default();
        let name = "n".repeat(MAX_NAME_BYTES + 1);
        assert!(asked(&decisions, 1, ResourceType::Topic, &name, READ).is_some());
        assert!(asked(&decisions, 1, ResourceType::Topic, &name, WRITE).is_some());
        assert!(asked(&decisions, 1, ResourceType::Topic, "t", READ).is_some());
        assert!(asked(&decisions.clone(), 1, ResourceType::Topic, "t", WRITE).is_some());
    }
}
