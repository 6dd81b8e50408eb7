//! Questions to a registry that is not there, or answers wrongly.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::Registry;
use crate::spec::Framing;

/// A server that gives one answer to one question; its address, and the question.
fn server(answer: &'static str) -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let thread = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut question = [0; 4096];
        let len = stream.read(&mut question).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8_lossy(&question[..len])
            .lines()
            .next()
            .unwrap()
            .to_owned()
    });
    (url, thread)
}

fn plain(url: &str) -> Registry {
    Registry::new(url, None, None).unwrap()
}

#[test]
fn mistakes_in_options_are_named_and_no_text_has_the_password() {
    let temp = tempfile::tempdir().unwrap();
    let empty = temp.path().join("empty.pem");
    std::fs::write(&empty, "no certificate").unwrap();
    let (empty, missing) = (
        empty.display().to_string(),
        temp.path().join("none").display().to_string(),
    );
    let cases: [(&str, Option<&str>, Option<&str>, &str); 6] = [
        (
            "ftp://registry",
            None,
            None,
            "schemaRegistryUrl: ftp://registry does not begin with http:// or https://",
        ),
        (
            "registry:8081",
            None,
            None,
            "schemaRegistryUrl: registry:8081 does not begin",
        ),
        (
            "https://me:secret@registry/x",
            None,
            None,
            "schemaRegistryUrl: a name and a password do not belong",
        ),
        (
            "https://registry",
            Some("secret"),
            None,
            "schemaRegistryBasicAuthUserInfo: there is no colon in it",
        ),
        (
            "https://registry",
            None,
            Some(&missing),
            "schemaRegistrySslCaLocation: ",
        ),
        ("https://registry", None, Some(&empty), "has no certificate"),
    ];
    for (url, user_info, authorities, told) in cases {
        let error = Registry::new(url, user_info, authorities).unwrap_err().to_string();
        assert!(error.contains(told) && !error.contains("secret"), "{error}");
    }
    let registry = Registry::new("https://registry", Some("me:secret"), None).unwrap();
    assert_eq!(format!("{registry:?}"), "Registry { url: \"https://registry\", .. }");
}

#[test]
fn a_schema_is_asked_for_by_its_id_or_its_subject() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\nConnection: close\r\n\r\n{\"schema\":\"\\\"string\\\"\"}";
    let answer: &'static str = answer.replace("Length: 21", "Length: 23").leak();
    let (url, asked) = server(answer);
    assert_eq!(
        plain(&format!("{url}/")).schema(Framing::Confluent, 7).unwrap(),
        "\"string\""
    );
    assert_eq!(asked.join().unwrap(), "GET /schemas/ids/7 HTTP/1.1");
    let (url, asked) = server(answer);
    assert_eq!(plain(&url).latest("a b/c-value").unwrap(), "\"string\"");
    assert_eq!(
        asked.join().unwrap(),
        "GET /subjects/a%20b%2Fc-value/versions/latest HTTP/1.1"
    );
    let (url, asked) = server(answer);
    assert!(plain(&url).schema(Framing::Apicurio, 1 << 40).unwrap().starts_with('{'));
    assert_eq!(
        asked.join().unwrap(),
        "GET /apis/registry/v2/ids/globalIds/1099511627776 HTTP/1.1"
    );
}

#[test]
fn errors_name_the_option_and_the_registry() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let cases = [
        (format!("http://{closed}"), "cannot be asked for schema id 7"),
        (
            server("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").0,
            "has no schema id 7",
        ),
        (
            server("HTTP/1.1 401 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").0,
            "set schemaRegistryBasicAuthUserInfo",
        ),
        (
            server("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").0,
            "status 500",
        ),
        (
            server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi").0,
            "without a schema",
        ),
        (server("nonsense\r\n\r\n").0, "cannot be asked"),
    ];
    for (url, reason) in cases {
        let error = plain(&url).schema(Framing::Confluent, 7).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("schemaRegistryUrl: {url}")) && error.contains(reason),
            "{error}"
        );
    }
}
