//! Which log directories this machine sees, and in which of them a partition is best read.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::super::brokers::{Cluster, Live};
use super::super::{PlanError, Result};
use crate::io::FileSystem;
use crate::scan::ScanError;
use crate::storage::TopicPartition;
use crate::storage::log_dir::Listing;
use crate::storage::meta_properties::MetaProperties;

/// Log directories of a cluster on this machine.
#[derive(Debug, Default)]
pub(in super::super) struct Seen {
    dirs: Vec<SeenDir>,
    /// Those that are not there.
    pub(in super::super) missing: Vec<PathBuf>,
}

#[derive(Debug)]
struct SeenDir {
    path: PathBuf,
    /// The broker that writes it; `None` in a copy without `meta.properties`.
    node: Option<i32>,
    partitions: HashSet<TopicPartition>,
}

impl Seen {
    /// Looks at each of the directories; one of another cluster is a mistake.
    pub(in super::super) fn of(fs: &dyn FileSystem, log_dirs: &[PathBuf], cluster: Option<&Cluster>) -> Result<Self> {
        let mut seen = Self::default();
        for path in log_dirs {
            if !fs.exists(path) {
                seen.missing.push(path.clone());
                continue;
            }
            let listing = Listing::of(fs, path).map_err(ScanError::from)?;
            let meta = MetaProperties::read(fs, path)
                .map_err(ScanError::from)?
                .unwrap_or_default();
            if let (Some(cluster), Some(stored)) = (cluster, &meta.cluster_id)
                && *stored != cluster.id
            {
                return Err(of_another(path, stored, cluster));
            }
            seen.dirs.push(SeenDir {
                path: path.clone(),
                node: meta.node_id,
                partitions: listing.partitions.into_iter().map(|(partition, _)| partition).collect(),
            });
        }
        Ok(seen)
    }

    /// The directory to read a partition in: the leader's, else that of a replica that has every committed record. A
    /// directory whose broker is not known counts as one of those.
    pub(in super::super) fn dir_of(&self, partition: &TopicPartition, leader: i32, in_sync: &[i32]) -> Option<&Path> {
        let rank = |dir: &&SeenDir| match dir.node {
            Some(node) if node == leader => Some(0),
            Some(node) => in_sync.contains(&node).then_some(1),
            None => Some(2),
        };
        let having = self.dirs.iter().filter(|dir| dir.partitions.contains(partition));
        let ranked = having.filter_map(|dir| Some((rank(&dir)?, dir)));
        ranked.min_by_key(|(rank, _)| *rank).map(|(_, dir)| dir.path.as_path())
    }

    /// [`Self::dir_of`] for a partition as its leader describes it.
    pub(super) fn dir_of_live(&self, partition: &TopicPartition, live: &Live) -> Option<&Path> {
        self.dir_of(partition, live.leader, &live.in_sync)
    }
}

fn of_another(path: &Path, stored: &str, cluster: &Cluster) -> PlanError {
    PlanError::Invalid(format!(
        "path: {} belongs to cluster {stored}, kafka.bootstrap.servers to {}; name directories and brokers of one \
         cluster",
        path.display(),
        cluster.id
    ))
}
