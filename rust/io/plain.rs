//! Opening regular files only: a directory, a named pipe, a device or a dangling link in the place of a file is an
//! error.
//!
//! Opening a pipe could wait for ever, an empty pipe reads like an empty file, and a link whose target is not mounted
//! looks like a file that never existed. The error names the kind of the entry and the remedy; the entry is not
//! written, and the call never waits for it.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Most state files are small: one read that comes back short has met the end.
const SMALL_FILE: usize = 4096;

/// Opens a file with `options`; an error when `path` is not a regular file.
pub fn open_plain(options: &mut fs::OpenOptions, path: &Path) -> io::Result<fs::File> {
    let file = open_unseen(options, path)?;
    refuse_other(&file)?;
    Ok(file)
}

/// Reads a whole file; an error when `path` is not a regular file. Asks the system for the kind of the opened entry
/// only when the first bytes do not show it: a start reads five small files of each partition.
pub fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open_unseen(fs::OpenOptions::new().read(true), path)?;
    let mut small = [0; SMALL_FILE];
    let read = loop {
        match file.read(&mut small) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other,
        }
    };
    if !matches!(read, Ok(1..SMALL_FILE)) {
        refuse_other(&file)?; // a pipe reads as empty, a directory fails, a device may never end
    }
    let mut bytes = small[..read?].to_vec();
    if bytes.len() == SMALL_FILE {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn open_unseen(options: &mut fs::OpenOptions, path: &Path) -> io::Result<fs::File> {
    options
        .custom_flags(libc::O_NONBLOCK) // of a pipe; it changes nothing for a file
        .open(path)
        .map_err(|error| explained(error, path))
}

fn refuse_other(file: &fs::File) -> io::Result<()> {
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        return Ok(());
    }
    Err(not_a_file(kind))
}

fn not_a_file(kind: fs::FileType) -> io::Error {
    let what = if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    io::Error::other(format!(
        "it is {what}, not a file; put the file back, or take away what stands there"
    ))
}

/// Adds to the system's error what it leaves out.
fn explained(error: io::Error, path: &Path) -> io::Error {
    let is_link = || fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_symlink());
    let target = || fs::read_link(path).map_or_else(|_| "itself".to_owned(), |to| to.display().to_string());
    match error.kind() {
        io::ErrorKind::NotFound if is_link() => io::Error::other(format!(
            "it is a link to {}, where nothing is; mount or put back what it leads to, or remove the link",
            target()
        )),
        io::ErrorKind::PermissionDenied => io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{error}; let the user that the broker runs as read and write it"),
        ),
        _ if error.raw_os_error() == Some(libc::ELOOP) => io::Error::other(format!(
            "it is a link to {} that leads back to itself; put the file back, or remove the link",
            target()
        )),
        _ => match fs::metadata(path).map(|found| found.file_type()) {
            Ok(kind) if !kind.is_file() => not_a_file(kind),
            _ => error,
        },
    }
}
