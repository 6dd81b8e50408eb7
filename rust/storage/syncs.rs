//! Counters that tell a flush whether it must sync the directory, and whether a truncation overtook it.
//!
//! Counters in memory. A flush takes a [`Mark`] when it begins and returns it when it has synced everything.

/// See the module.
#[derive(Debug)]
pub struct Syncs {
    /// Counts the creations of files in the directory; the directory is synced up to the count `synced_names`.
    names: u64,
    synced_names: u64,
    /// Counts truncations. A flush that began before a truncation does not cover the batches that were written after
    /// it.
    truncations: u64,
}

/// The counters that a flush covers.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    names: u64,
    truncations: u64,
}

impl Syncs {
    /// The counters of a log without a directory.
    pub fn of_unmade() -> Self {
        Self {
            names: 0,
            ..Self::of_opened()
        }
    }

    /// The counters of a log whose directory exists, but whose names may not be durable.
    pub fn of_opened() -> Self {
        Self {
            names: 1,
            synced_names: 0,
            truncations: 0,
        }
    }

    /// The directory was made, with its first files.
    pub fn note_made(&mut self) {
        self.names = 1;
    }

    /// One more segment's files were made.
    pub fn note_name(&mut self) {
        self.names += 1;
    }

    /// All names in the directory were synced before the log was opened.
    pub fn trust_names(&mut self) {
        self.synced_names = self.names;
    }

    /// A truncation begins.
    pub fn note_truncation(&mut self) {
        self.truncations += 1;
    }

    /// A number that changes with each truncation.
    pub fn truncations(&self) -> u64 {
        self.truncations
    }

    /// Whether files were made since the directory was synced.
    pub fn needs_dir(&self) -> bool {
        self.names != self.synced_names
    }

    /// Whether the directory was never synced.
    pub fn is_new(&self) -> bool {
        self.synced_names == 0
    }

    /// A flush begins; with `names` it syncs the directory too.
    pub fn mark(&self, names: bool) -> Mark {
        Mark {
            names: if names { self.names } else { self.synced_names },
            truncations: self.truncations,
        }
    }

    /// Records the end of a flush; returns whether the batches that it synced are still those of the log.
    pub fn complete(&mut self, mark: Mark) -> bool {
        self.synced_names = self.synced_names.max(mark.names);
        mark.truncations == self.truncations
    }
}
