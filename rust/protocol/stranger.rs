//! What stands where the size of a Kafka frame should.

/// The protocol of who does not speak Kafka's, by the first four bytes: a record of TLS, or HTTP.
pub fn stranger(size: [u8; 4]) -> Option<&'static str> {
    match &size {
        [20..=23, 3, ..] => Some("TLS"),
        b"GET " | b"HEAD" | b"POST" | b"PUT " | b"OPTI" | b"HTTP" => Some("HTTP"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::stranger;

    #[test]
    fn a_handshake_and_an_alert_of_tls_and_a_request_of_http_are_told_from_sizes() {
        assert_eq!(stranger(369_295_617_i32.to_be_bytes()), Some("TLS"));
        assert_eq!(stranger(352_518_912_i32.to_be_bytes()), Some("TLS"));
        assert_eq!(stranger(*b"GET "), Some("HTTP"));
        assert_eq!(stranger(104_857_600_i32.to_be_bytes()), None);
        assert_eq!(stranger((-1_i32).to_be_bytes()), None);
    }
}
