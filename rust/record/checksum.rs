//! The checksums of batches, with the processor's carry-less multiplication where it has one: CRC-32C (Castagnoli) in
//! magic 2, CRC-32 (as in gzip) in magic 0 and 1.

/// The CRC-32C of `bytes`.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// The CRC-32 of `bytes`.
#[inline]
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}
