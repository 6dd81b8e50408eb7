//! `storage`.
