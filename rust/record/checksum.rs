//! CRC-32C (Castagnoli), the checksum of batches, with the processor's carry-less multiplication where it has one.

/// The CRC-32C of `bytes`.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}
