//! The feature levels that the cluster has agreed on (KIP-584).

use protocol::FinalizedFeature;

/// See the module.
#[derive(Debug)]
pub struct FinalizedFeatures {
    /// Grows with each change; -1 before the features are published.
    pub epoch: i64,
    /// The features.
    pub levels: Vec<FinalizedFeature>,
}

impl Default for FinalizedFeatures {
    fn default() -> Self {
        Self {
            epoch: -1,
            levels: Vec::new(),
        }
    }
}

impl FinalizedFeatures {
    /// The level of a feature.
    pub fn level(&self, name: &str) -> Option<i16> {
        let found = self.levels.iter().find(|feature| feature.name == name);
        found.map(|feature| feature.level)
    }
}
