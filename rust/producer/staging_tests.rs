//! What a task does before it asks a broker. That it stages what brokers adopt is proven by `tests/spark`.

use super::*;

const CLUSTER: &str = "cluster-of-the-test";

fn topic(dir: &Path, node: i32) -> Topic {
    Topic {
        name: "topic".to_owned(),
        cluster_id: CLUSTER.to_owned(),
        leaders: vec![Leader {
            node,
            host: "elsewhere".to_owned(),
            dir: dir.to_path_buf(),
        }],
    }
}

fn load(epoch: i16) -> Load {
    Load {
        id: "backfill".to_owned(),
        driver: Identity { producer_id: 9, epoch },
    }
}

fn write_meta(dir: &Path, cluster_id: &str, node_id: i32) {
    let meta = MetaProperties {
        cluster_id: Some(cluster_id.to_owned()),
        node_id: Some(node_id),
        directory_id: None,
    };
    meta.write(&OsFileSystem, dir, 0).unwrap();
}

#[test]
fn directory_of_another_cluster_node_or_machine_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let refused = |dir: &Path| topic(dir, 1).check_is_here(&OsFileSystem).unwrap_err().to_string();
    let sentence = "the log directory of topic-0 is on broker 1 at elsewhere, not on this machine; load there, or use \
                    a producer";
    assert_eq!(refused(&temp.path().join("nowhere")), sentence);
    assert_eq!(refused(temp.path()), sentence);
    for (cluster_id, node_id) in [("another", 1), (CLUSTER, 2)] {
        write_meta(temp.path(), cluster_id, node_id);
        assert_eq!(refused(temp.path()), sentence);
    }
    write_meta(temp.path(), CLUSTER, 1);
    topic(temp.path(), 1).check_is_here(&OsFileSystem).unwrap();
}

#[test]
fn only_what_earlier_drivers_of_the_load_have_staged_is_removed() {
    let temp = tempfile::tempdir().unwrap();
    let stage = |name: &str, mark: Option<(&str, i16)>| {
        let dir = temp.path().join(name);
        std::fs::create_dir(&dir).unwrap();
        if let Some((load_id, driver_epoch)) = mark {
            let load_id = load_id.to_owned();
            let text = serde_json::to_vec(&Mark { load_id, driver_epoch }).unwrap();
            std::fs::write(dir.join(MARK), text).unwrap();
        }
        name.to_owned()
    };
    let kept = [
        stage("topic-0.load-2-0-delete", Some(("backfill", 4))),
        stage("topic-0.load-3-0-delete", Some(("another", 0))),
        stage("topic-0.load-4-0-delete", None),
        stage("topic-0", Some(("backfill", 0))),
    ];
    stage("topic-0.load-1-0-delete", Some(("backfill", 3)));
    topic(temp.path(), 1).sweep(&OsFileSystem, &load(4));
    let mut left: Vec<String> = OsFileSystem
        .read_dir(temp.path())
        .unwrap()
        .into_iter()
        .map(|one| one.name)
        .collect();
    left.sort();
    let mut kept = kept.to_vec();
    kept.sort();
    assert_eq!(left, kept);
}
