use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::codec::stubs::stubs;

#[test]
fn stubs_in_the_tree_are_what_make_schema_writes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/kafkastore/protocol");
    let stubs = stubs();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension() == Some(OsStr::new("pyi")) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let found = fs::read_to_string(&path).unwrap();
            assert!(stubs.get(name) == Some(&found), "{name} is out of date: make schema");
        }
    }
}
