//! Lists of servers.

use super::parse_servers;

#[test]
fn servers_are_host_and_port() {
    let found = parse_servers("a:1, b ,:3,[::1]:2,[::1]").unwrap();
    let expected = [("a", 1), ("b", 9092), ("localhost", 3), ("::1", 2), ("::1", 9092)];
    assert_eq!(found, expected.map(|(host, port)| (host.to_owned(), port)));
    for wrong in ["", "a:", "a:0", "a:65536", ":", "a:1,", "a:x"] {
        let error = parse_servers(wrong).err().unwrap();
        assert_eq!(error.fix, "give host:port, as localhost:9092", "{wrong}");
    }
    let error = parse_servers("::1:2").err().unwrap();
    assert_eq!(error.fix, "an IPv6 address stands in brackets, as [::1]:9092");
}
