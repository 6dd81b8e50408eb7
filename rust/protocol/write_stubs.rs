//! Writes the types of messages for mypy into a folder, and removes the stubs there that no message has: `make schema`.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = env::args()
        .nth(1)
        .unwrap_or_else(|| "python/kafkastore/protocol".to_owned());
    let stubs = protocol::codec::stubs::stubs();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let is_stub = path.extension().is_some_and(|extension| extension == "pyi");
        let is_made = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| stubs.contains_key(name));
        if is_stub && !is_made {
            fs::remove_file(path)?;
        }
    }
    for (name, text) in stubs {
        fs::write(Path::new(&folder).join(name), text)?;
    }
    Ok(())
}
