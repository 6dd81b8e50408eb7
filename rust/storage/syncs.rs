//! What a flush must cover besides batches: the names of files that were made, and whether a truncation overtook it.
//!
//! Counters in memory. A flush takes a [`Mark`] when it begins and gives it back when it has synced everything.

/// See the module.
#[derive(Debug)]
pub struct Syncs {
    /// Files that were made; the directory is synced up to `synced_names`.
    names: u64,
    synced_names: u64,
    /// A flush that began before one says nothing about what was written after it.
    truncations: u64,
}

/// What a flush covers.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    names: u64,
    truncations: u64,
}

impl Syncs {
    /// Of a log without a directory.
    pub fn of_unmade() -> Self {
        Self {
            names: 0,
            ..Self::of_opened()
        }
    }

    /// Of a log whose directory stands there; whether its names are durable is not known.
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

    /// Everything that stands there was synced before the log was opened.
    pub fn trust_names(&mut self) {
        self.synced_names = self.names;
    }

    /// A truncation begins.
    pub fn note_truncation(&mut self) {
        self.truncations += 1;
    }

    /// Changes with each truncation.
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

    /// A flush has ended; whether the batches that it synced are still those of the log.
    pub fn complete(&mut self, mark: Mark) -> bool {
        self.synced_names = self.synced_names.max(mark.names);
        mark.truncations == self.truncations
    }
}
