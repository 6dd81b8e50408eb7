//! Questions to a registry that is not there, or answers wrongly. spec: R5.3

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::{check, latest, schema};
use crate::values::spec::Framing;

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

#[test]
fn a_schema_is_asked_for_by_its_id_or_its_subject() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\nConnection: close\r\n\r\n{\"schema\":\"\\\"string\\\"\"}";
    let answer: &'static str = answer.replace("Length: 21", "Length: 23").leak();
    let (url, asked) = server(answer);
    assert_eq!(schema(&format!("{url}/"), Framing::Confluent, 7).unwrap(), "\"string\"");
    assert_eq!(asked.join().unwrap(), "GET /schemas/ids/7 HTTP/1.1");
    let (url, asked) = server(answer);
    assert_eq!(latest(&url, "a b/c-value").unwrap(), "\"string\"");
    assert_eq!(
        asked.join().unwrap(),
        "GET /subjects/a%20b%2Fc-value/versions/latest HTTP/1.1"
    );
    let (url, asked) = server(answer);
    assert!(schema(&url, Framing::Apicurio, 1 << 40).unwrap().starts_with('{'));
    assert_eq!(
        asked.join().unwrap(),
        "GET /apis/registry/v2/ids/globalIds/1099511627776 HTTP/1.1"
    );
}

#[test]
fn errors_name_the_option_and_the_registry() {
    assert!(check("https://registry").unwrap_err().to_string().contains("http://"));
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let cases = [
        (format!("http://{closed}"), "cannot be asked for schema id 7"),
        (
            server("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").0,
            "has no schema id 7",
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
        let error = schema(&url, Framing::Confluent, 7).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("schemaRegistryUrl: {url}")) && error.contains(reason),
            "{error}"
        );
    }
}
