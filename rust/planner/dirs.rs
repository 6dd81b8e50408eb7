//! The option `path`: where brokers have their log directories, as this machine or a task's may see them.
//!
//! ```text
//! /data/a,/data/b                     these directories
//! /brokers/{broker.id}/data           one for each broker of the cluster
//! {"1": "/mnt/a,/mnt/b", "2": "/c"}   those of each broker
//! ```
//!
//! Whose a directory is, its `meta.properties` says, whatever the option does.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::repr::quoted;
use super::{PlanError, Result};

const BROKER_ID: &str = "{broker.id}";

/// The log directories of a read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogDirs {
    /// Paths, of which some may have [`BROKER_ID`] in them.
    paths: Vec<String>,
}

impl LogDirs {
    /// The value of the option; empty when it names nothing.
    pub(super) fn parse(value: &str) -> Result<Self> {
        if !value.trim_start().starts_with('{') || value.trim_start().starts_with(BROKER_ID) {
            return Ok(Self { paths: parts(value) });
        }
        let by_broker: BTreeMap<u32, String> = serde_json::from_str(value).map_err(|_| {
            PlanError::Invalid(format!(
                "path: {} is no JSON like {{\"1\": \"/data/a,/data/b\"}}; write it so, or the directories \
                 without braces",
                quoted(value)
            ))
        })?;
        let paths = by_broker.values().flat_map(|value| parts(value)).collect();
        Ok(Self { paths })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether only a broker can tell which directories are meant.
    pub(super) fn has_template(&self) -> bool {
        self.paths.iter().any(|path| path.contains(BROKER_ID))
    }

    /// The directories of a cluster of these brokers, each once.
    pub(super) fn of_brokers(&self, nodes: &[i32]) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        for path in &self.paths {
            let expanded: Vec<PathBuf> = if path.contains(BROKER_ID) {
                let of = |node: &i32| path.replace(BROKER_ID, &node.to_string()).into();
                nodes.iter().map(of).collect()
            } else {
                vec![path.into()]
            };
            for path in expanded {
                if !found.contains(&path) {
                    found.push(path);
                }
            }
        }
        found
    }

    /// As sentences name them.
    pub(super) fn sentence(&self) -> String {
        self.paths.join(", ")
    }
}

fn parts(value: &str) -> Vec<String> {
    let named = value.split(',').map(str::trim).filter(|part| !part.is_empty());
    named
        .map(|part| part.strip_prefix("file://").unwrap_or(part).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    //! How `path` is read.

    use super::LogDirs;

    fn dirs(value: &str) -> Vec<String> {
        let found = LogDirs::parse(value).unwrap().of_brokers(&[1, 7]);
        found.into_iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn directories_are_listed_made_for_each_broker_or_given_by_broker() {
        assert_eq!(dirs("/a, file:///b,/a"), ["/a", "/b"]);
        assert_eq!(dirs("/k/{broker.id}/d,/x"), ["/k/1/d", "/k/7/d", "/x"]);
        assert_eq!(dirs("{broker.id}/d"), ["1/d", "7/d"]);
        assert_eq!(dirs(r#"{"1": "/a,/b", "7": "/c"}"#), ["/a", "/b", "/c"]);
        assert!(dirs(" , ").is_empty());
    }

    #[test]
    fn a_map_that_is_no_json_is_named() {
        assert_eq!(
            LogDirs::parse("{1: /a}").err().unwrap().to_string(),
            "path: '{1: /a}' is no JSON like {\"1\": \"/data/a,/data/b\"}; write it so, or the directories \
             without braces"
        );
    }
}
