use std::fs;
use std::path::Path;

use crate::codec::stubs::stubs;

#[test]
fn stubs_in_the_tree_are_what_make_schema_writes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/kafkastore/protocol");
    let stubs = stubs();
    for (name, text) in &stubs {
        let found = fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert!(found == *text, "{name} is out of date: make schema");
    }
    let count = fs::read_dir(folder)
        .unwrap()
        .filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .path()
                .extension()
                .is_some_and(|extension| extension == "pyi")
        })
        .count();
    assert_eq!(count, stubs.len());
}
