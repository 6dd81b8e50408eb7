//! Random bytes of salts and nonces, of the system.

use std::io;

use base::system::fill_random;

/// Random bytes of a salt and of a nonce.
const RANDOM_BYTES: usize = 18;

/// Random bytes.
pub fn random() -> io::Result<[u8; RANDOM_BYTES]> {
    let mut bytes = [0; RANDOM_BYTES];
    fill_random(&mut bytes)?;
    Ok(bytes)
}

/// Random letters and digits.
pub fn nonce() -> io::Result<String> {
    use std::fmt::Write;

    let mut text = String::with_capacity(2 * RANDOM_BYTES);
    for byte in random()? {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
