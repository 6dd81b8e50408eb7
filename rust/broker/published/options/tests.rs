use std::collections::HashMap;
use std::time::Duration;

use super::{Options, QuotaWindow};

fn options(pairs: &[(&str, &str)]) -> Options {
    let pairs: HashMap<String, String> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Options::from_pairs(&pairs).unwrap()
}

// KIP-73, KIP-113
#[test]
fn every_throttle_is_set_by_its_own_keys() {
    let window = |samples, seconds| QuotaWindow {
        samples,
        sample: Duration::from_secs(seconds),
    };
    let given = options(&[
        ("leader.replication.throttled.rate", "1"),
        ("follower.replication.throttled.rate", "2"),
        ("replica.alter.log.dirs.io.max.bytes.per.second", "3"),
        ("replication.quota.window.num", "4"),
        ("replication.quota.window.size.seconds", "5"),
        ("alter.log.dirs.replication.quota.window.num", "6"),
        ("alter.log.dirs.replication.quota.window.size.seconds", "7"),
    ]);
    let expected = Options {
        leader_throttled_rate: 1,
        follower_throttled_rate: 2,
        alter_log_dirs_rate: 3,
        replication_quota: window(4, 5),
        alter_log_dirs_quota: window(6, 7),
        ..Options::default()
    };
    assert_eq!(given, expected);
}
