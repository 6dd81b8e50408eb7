//! Which log directories this machine sees, and in which of them a partition is best read.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::super::brokers::LivePartition;
use super::super::{PlanError, Result};
use ::io::FileSystem;
use scan::ScanError;
use storage::TopicPartition;
use storage::log_dir::Listing;
use storage::meta_properties::MetaProperties;

/// Log directories of a cluster on this machine.
#[derive(Debug, Default)]
pub(in super::super) struct LocalLogDirs {
    dirs: Vec<LocalLogDir>,
    /// Those that are not there.
    pub(in super::super) missing: Vec<PathBuf>,
}

#[derive(Debug)]
struct LocalLogDir {
    path: PathBuf,
    /// The broker that writes it; `None` in a copy without `meta.properties`.
    node: Option<i32>,
    name: Option<String>,
    partitions: HashSet<TopicPartition>,
}

impl LocalLogDirs {
    /// Looks at each of the directories; one of another cluster is a mistake.
    pub(in super::super) fn of(fs: &dyn FileSystem, log_dirs: &[PathBuf], cluster_id: &str) -> Result<Self> {
        let mut seen = Self::default();
        for path in log_dirs {
            if !fs.exists(path) {
                seen.missing.push(path.clone());
                continue;
            }
            let listing = Listing::of(fs, path).map_err(ScanError::from)?;
            let meta = meta_of(fs, path)?;
            if let Some(stored) = &meta.cluster_id
                && stored != cluster_id
            {
                return Err(of_another(path, stored, cluster_id));
            }
            seen.dirs.push(LocalLogDir {
                path: path.clone(),
                node: meta.node_id,
                name: name_of(&meta),
                partitions: listing.partitions.into_iter().map(|(partition, _)| partition).collect(),
            });
        }
        Ok(seen)
    }

    /// The directory to read a partition in: the leader's, else that of a replica that has every committed record. A
    /// directory whose broker is not known counts as one of those.
    pub(in super::super) fn dir_of(&self, partition: &TopicPartition, leader: i32, in_sync: &[i32]) -> Option<&Path> {
        let rank = |dir: &&LocalLogDir| match dir.node {
            Some(node) if node == leader => Some(0),
            Some(node) => in_sync.contains(&node).then_some(1),
            None => Some(2),
        };
        let having = self.dirs.iter().filter(|dir| dir.partitions.contains(partition));
        let ranked = having.filter_map(|dir| Some((rank(&dir)?, dir)));
        ranked.min_by_key(|(rank, _)| *rank).map(|(_, dir)| dir.path.as_path())
    }

    /// The name of a directory that is seen, as [`dir_name`].
    pub(super) fn name_of(&self, dir: &Path) -> Option<String> {
        self.dirs.iter().find(|seen| seen.path == dir)?.name.clone()
    }

    /// [`Self::dir_of`] for a partition as its leader describes it.
    pub(super) fn dir_of_live(&self, partition: &TopicPartition, live: &LivePartition) -> Option<&Path> {
        self.dir_of(partition, live.leader, &live.in_sync)
    }
}

/// A name of a log directory that no other directory on any machine has, out of its `meta.properties`; nothing for a
/// copy without that file. Before KIP-858 directories have no ids, and their broker's stands for them.
pub(in super::super) fn dir_name(fs: &dyn FileSystem, dir: &Path) -> Option<String> {
    name_of(&meta_of(fs, dir).ok()?)
}

fn meta_of(fs: &dyn FileSystem, dir: &Path) -> Result<MetaProperties> {
    let meta = MetaProperties::read(fs, dir).map_err(ScanError::from)?;
    Ok(meta.unwrap_or_default())
}

fn name_of(meta: &MetaProperties) -> Option<String> {
    let node = meta.node_id?;
    let cluster = meta.cluster_id.as_deref().unwrap_or_default();
    let directory = meta.directory_id.map(|id| id.to_string()).unwrap_or_default();
    Some(format!("{cluster}/{node}/{directory}"))
}

fn of_another(path: &Path, stored: &str, cluster_id: &str) -> PlanError {
    PlanError::Invalid(format!(
        "path: {} belongs to cluster {stored}, kafka.bootstrap.servers to {}; name directories and brokers of one \
         cluster",
        path.display(),
        cluster_id
    ))
}
