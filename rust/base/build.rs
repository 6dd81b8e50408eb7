//! Makes a Rust table out of `errors.txt`, so that nothing is parsed when a broker starts. The grammar is in
//! `build/codes.rs`; a mistake fails the build with the line.

use std::path::PathBuf;
use std::{env, fs};

#[path = "build/codes.rs"]
mod codes;

fn main() -> Result<(), String> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed=errors.txt");
    let text = fs::read_to_string("errors.txt").map_err(|error| format!("errors.txt: {error}"))?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?).join("codes.rs");
    fs::write(&out, codes::emit(&text)?).map_err(|error| format!("{}: {error}", out.display()))
}
