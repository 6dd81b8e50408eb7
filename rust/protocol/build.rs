//! Makes Rust tables out of `messages/**/*.txt`, so that nothing is parsed when a broker starts.
//!
//! The grammar of the tables is in `build/grammar.rs`. A mistake in a table fails the build with the file and the line.
//! The results: `messages.rs`, which `codec/table.rs` includes, and `typed.rs`, which `messages.rs` includes.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

#[path = "build/checks.rs"]
mod checks;
#[path = "build/emit.rs"]
mod emit;
#[path = "build/grammar.rs"]
mod grammar;
#[path = "build/typed.rs"]
mod typed;

fn main() -> Result<(), String> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed=messages");
    let out = PathBuf::from(env::var("OUT_DIR").map_err(|error| error.to_string())?);
    let mut messages = Vec::new();
    for path in tables(Path::new("messages")).map_err(|error| format!("messages: {error}"))? {
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let found = grammar::parse(&text).map_err(|error| format!("{}:{error}", path.display()))?;
        for message in &found {
            checks::check(message).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let module = path
            .file_stem()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
            .to_owned();
        messages.extend(found.into_iter().map(|message| (module.clone(), message)));
    }
    write(&out.join("typed.rs"), &typed::modules(&messages))?;
    write(&out.join("messages.rs"), &emit::messages(&messages)?)
}

/// The files below a folder that end in `.txt`, in order.
fn tables(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(tables(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
