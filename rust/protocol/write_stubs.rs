//! Writes the types of messages for mypy anew: `make schema`. A stub is there for each module of the table that Python
//! imports; for another one, begin with an empty file of its name.

use std::ffi::OsStr;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = env::args()
        .nth(1)
        .unwrap_or_else(|| "python/kafkastore/protocol".to_owned());
    let stubs = protocol::codec::stubs::stubs();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension() != Some(OsStr::new("pyi")) {
            continue;
        }
        match path.file_name().and_then(|name| stubs.get(name.to_str()?)) {
            Some(text) => fs::write(path, text)?,
            None => fs::remove_file(path)?,
        }
    }
    Ok(())
}
