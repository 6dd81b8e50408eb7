//! The files under `tests/fixtures/state`, which Apache Kafka wrote; their README has the recipe.

use std::path::PathBuf;

pub fn fixture_path(name: &str) -> PathBuf {
    [
        env!("CARGO_MANIFEST_DIR"),
        "..",
        "..",
        "tests",
        "fixtures",
        "state",
        name,
    ]
    .iter()
    .collect()
}

pub fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(fixture_path(name)).unwrap()
}

pub fn fixture_text(name: &str) -> String {
    String::from_utf8(fixture(name)).unwrap()
}
