//! Links outlive their segments, and nothing but links is removed. spec: R5.3

use std::fs;
use std::time::Duration;

use super::super::testing::*;
use super::super::{ScanError, remove_links};

fn linked(bench: &Bench, link_dir: &std::path::Path) -> super::Result<super::super::PartitionPlan> {
    let mut request = request(bench);
    request.link_dir = Some(link_dir.to_path_buf());
    plan(&request)
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
    let plan = linked(&bench, links.path()).unwrap();
    let folder = plan.link_folder.clone().unwrap();
    assert_eq!(folder.parent().unwrap(), links.path());
    for base in [0, 2] {
        let link = folder.join("topic-0").join(format!("{base:020}.log"));
        assert_eq!(fs::read(link).unwrap(), fs::read(bench.file(base, ".log")).unwrap());
    }
}

#[test]
fn folders_are_removed_by_name_or_by_age_and_nothing_else_is() {
    let bench = Bench::new(&[]);
    fill(&bench, &[START_MS; 4], 1, 2);
    let links = tempfile::tempdir().unwrap();
    let foreign = links.path().join("kafkastore-scan-of-mine");
    fs::create_dir(&foreign).unwrap();
    let folder = linked(&bench, links.path()).unwrap().link_folder.unwrap();
    linked(&bench, links.path()).unwrap();
    assert_eq!(remove_links(links.path(), Duration::from_hours(1)).unwrap(), 0);
    assert_eq!(remove_links(&folder, Duration::ZERO).unwrap(), 1);
    assert_eq!(remove_links(&folder, Duration::ZERO).unwrap(), 0);
    assert_eq!(remove_links(links.path(), Duration::ZERO).unwrap(), 1);
    assert!(foreign.exists() && bench.file(0, ".log").exists());
    assert_eq!(remove_links(&links.path().join("none"), Duration::ZERO).unwrap(), 0);
}
