//! What a task does before it asks a broker. That it stages what brokers adopt is proven by `tests/spark`.

use std::path::Path;

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
