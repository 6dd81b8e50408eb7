//! Links outlive their segments.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use super::super::testing::*;
use super::super::{PartitionPlan, ScanError};
use ::io::{Fault, FaultFileSystem, FileSystem};

fn linked(bench: &Bench, link_dir: &Path) -> super::Result<PartitionPlan> {
    linked_on(&os(), bench, link_dir)
}

fn linked_on(fs: &Arc<dyn FileSystem>, bench: &Bench, link_dir: &Path) -> super::Result<PartitionPlan> {
    let mut request = request(bench);
    request.link_dir = Some(link_dir.to_path_buf());
    plan_on(fs, &request)
}

/// The one sentence of a refusal, once nothing is left of the plan that was refused.
fn refusal(planned: super::Result<PartitionPlan>, link_dir: &Path) -> String {
    let error = planned.err().unwrap();
    assert!(matches!(&error, ScanError::Invalid(_)), "{error}");
    assert_eq!(fs::read_dir(link_dir).unwrap().count(), 0, "folders are left");
    error.to_string()
}

#[test]
fn a_link_dir_on_another_file_system_is_refused_in_one_sentence() {
    let bench = Bench::new(&[]);
    fill(&bench, &[START_MS; 4], 1, 2);
    let device = |path: &Path| fs::metadata(path).unwrap().dev();
    let mut others = ["/dev/shm", "/tmp", "/var/tmp"].iter().map(Path::new);
    let other = others.find(|dir| dir.is_dir() && device(dir) != device(&bench.path()));
    let links = tempfile::tempdir_in(other.expect("a directory on another file system")).unwrap();
    let said = refusal(linked(&bench, links.path()), links.path());
    let expected = format!(
        "link_dir: {} cannot hold a link to {}: it is on another file system; name a directory on the same file \
         system, or none",
        links.path().display(),
        bench.file(0, ".log").display()
    );
    assert_eq!(said, expected);
}

/// EPERM: what vfat and exFAT say, and Linux of files of another owner.
#[test]
fn where_hard_links_are_refused_the_plan_is_too_in_one_sentence() {
    let bench = Bench::new(&[]);
    fill(&bench, &[START_MS; 4], 1, 2);
    let links = tempfile::tempdir().unwrap();
    let faults = FaultFileSystem::new(os());
    // The first segment is tried twice, as its partition has no folder at first; the third try is the second segment's.
    for nth in [1, 3] {
        faults.arm("link:.log", nth, Fault::NotPermitted);
        let on: Arc<dyn FileSystem> = Arc::new(faults.clone());
        let said = refusal(linked_on(&on, &bench, links.path()), links.path());
        assert!(faults.has_fired());
        let base = if nth == 1 { 0 } else { 2 };
        let expected = format!(
            "link_dir: {} cannot hold a link to {}: its file system has no hard links, or the system refuses them to \
             files of \
             another owner (fs.protected_hardlinks); run as their owner, or name no directory",
            links.path().display(),
            bench.file(base, ".log").display()
        );
        assert_eq!(said, expected);
    }
}

#[test]
fn a_link_dir_within_a_log_directory_is_refused() {
    let bench = Bench::new(&[]);
    fill(&bench, &[START_MS; 4], 1, 2);
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("meta.properties"), "").unwrap();
    for dir in [bench.dir.path().join("links"), bench.path(), other.path().join("a")] {
        let error = linked(&bench, &dir).err().unwrap();
        assert!(
            matches!(&error, ScanError::Invalid(said) if said.starts_with("link_dir: ")),
            "{error}"
        );
        assert!(
            !fs::read_dir(bench.dir.path())
                .unwrap()
                .any(|it| { it.unwrap().file_name().to_str().unwrap().starts_with("kafkastore-scan") })
        );
    }
}

#[test]
fn links_have_the_names_of_their_segments() {
    let bench = Bench::new(&[]);
    fill(&bench, &[START_MS; 4], 1, 2);
    let links = tempfile::tempdir().unwrap();
    let _plan = linked(&bench, links.path()).unwrap();
    let folder = fs::read_dir(links.path()).unwrap().next().unwrap().unwrap().path();
    for base in [0, 2] {
        let link = folder.join("topic-0").join(format!("{base:020}.log"));
        assert_eq!(fs::read(link).unwrap(), fs::read(bench.file(base, ".log")).unwrap());
    }
}
