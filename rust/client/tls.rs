//! TLS of connections: the `ssl.*` keys, stores of certificates and keys, what is trusted, and the client's end.

pub mod anchors;
pub mod certificate;
pub mod material;
pub mod outgoing;
mod pkcs12;
pub mod principal;
pub mod rules;
pub mod settings;
