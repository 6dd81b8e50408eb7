//! Prints the types of messages for mypy.
fn main() {}
