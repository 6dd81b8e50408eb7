//! The findings of a check, and how much it has read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Findings of one file that are listed; beyond them only their number is reported.
pub const MAX_FINDINGS_PER_FILE: usize = 100;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A file contradicts the log, or is damaged.
    Fault,
    /// A state that a crash may leave and that the next start repairs.
    Warning,
    /// A file or directory that the check does not judge.
    Note,
}

impl Severity {
    /// The severity's name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One sentence about one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad the finding is.
    pub severity: Severity,
    /// The file or directory.
    pub path: PathBuf,
    /// Byte position in the file; `None` when the finding is about the file as a whole.
    pub position: Option<u64>,
    /// The sentence.
    pub message: String,
}

impl Finding {
    /// A fault of a place in a file.
    pub fn fault(path: &Path, position: u64, message: impl Into<String>) -> Self {
        Self::new(Severity::Fault, path, Some(position), message)
    }

    /// A fault of a whole file or directory.
    pub fn whole(path: &Path, message: impl Into<String>) -> Self {
        Self::new(Severity::Fault, path, None, message)
    }

    /// A warning.
    pub fn warning(path: &Path, position: u64, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, path, Some(position), message)
    }

    /// A note.
    pub fn note(path: &Path, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, path, None, message)
    }

    fn new(severity: Severity, path: &Path, position: Option<u64>, message: impl Into<String>) -> Self {
        Self {
            severity,
            path: path.to_path_buf(),
            position,
            message: message.into(),
        }
    }
}

/// What the check has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Partition directories.
    pub partitions: u64,
    /// Segments.
    pub segments: u64,
    /// Batches, good and bad.
    pub batches: u64,
    /// Records, as the headers of good batches count them.
    pub records: u64,
    /// Bytes of segments and of the files beside them.
    pub bytes: u64,
}

/// The outcome of a check.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// By path and position.
    pub findings: Vec<Finding>,
    /// What the check has read.
    pub totals: Totals,
    /// Faults, including those beyond [`MAX_FINDINGS_PER_FILE`].
    pub faults: u64,
}

impl Report {
    /// Sorts the findings, keeps one for each place (the first finding tells the cause, the others follow from it) and
    /// at most [`MAX_FINDINGS_PER_FILE`] for each file.
    pub fn new(mut findings: Vec<Finding>, totals: Totals) -> Self {
        findings.sort_by(|a, b| (&a.path, a.position, a.severity).cmp(&(&b.path, b.position, b.severity)));
        findings.dedup_by(|later, first| {
            later.position.is_some() && later.path == first.path && later.position == first.position
        });
        let faults = findings.iter().filter(|it| it.severity == Severity::Fault).count() as u64;
        let mut counts: HashMap<PathBuf, usize> = HashMap::new();
        let mut kept: Vec<Finding> = Vec::with_capacity(findings.len());
        for finding in findings {
            let count = counts.entry(finding.path.clone()).or_default();
            *count += 1;
            if *count <= MAX_FINDINGS_PER_FILE {
                kept.push(finding);
            }
        }
        let cut = counts.into_iter().filter(|(_, count)| *count > MAX_FINDINGS_PER_FILE);
        for (path, count) in cut {
            let more = count - MAX_FINDINGS_PER_FILE;
            kept.push(Finding::note(
                &path,
                format!("{more} more findings of this file are not listed"),
            ));
        }
        Self {
            findings: kept,
            totals,
            faults,
        }
    }
}
