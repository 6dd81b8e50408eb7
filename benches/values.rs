//! Values to typed columns on one thread: events of about 1 KB with fifteen fields, of which two or all are wanted.
//! Rates are bytes of values per second; `utf8` is the floor, a check of the bytes that does nothing else.
#![expect(
    clippy::expect_used,
    reason = "a bench of its own good input stops at the first surprise"
)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;

use arrow_array::{Array, BinaryArray};
use arrow_schema::Fields;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use values::{ValueDecoder, ValueSpec};

/// Values of a batch: 1 MiB, as a scan gives them.
const VALUES: usize = 1024;
const SCHEMA: &str = "id BIGINT, ts BIGINT, user BIGINT, event STRING, country STRING, amount DOUBLE, session STRING, \
                      ip STRING, ua STRING, url STRING, referrer STRING, items ARRAY<STRUCT<sku: STRING, qty: INT, \
                      price: DOUBLE>>, flags STRUCT<ab: STRING, beta: BOOLEAN, consent: BOOLEAN>, note STRING, k INT";
const WANTED: [&str; 2] = ["country", "amount"];

fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

fn event(number: usize, seed: &mut u64) -> String {
    let mut text = format!(
        r#"{{"id":{number},"ts":179000000000{},"user":{},"event":"page_view","country":"{}","amount":{}.{:02},"#,
        number % 10,
        next(seed) % 100_000,
        ["DE", "US", "FR", "JP"][number % 4],
        next(seed) % 1000,
        next(seed) % 100
    );
    write!(
        text,
        r#""session":"{:016x}{:016x}","ip":"10.2.3.4","ua":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36","#,
        next(seed),
        next(seed)
    )
    .expect("memory");
    let (path, referrer) = (next(seed), next(seed));
    write!(
        text,
        r#""url":"https://shop.example.com/{path:x}?ref=home","referrer":"https://example.org/{referrer:x}","items":["#
    )
    .expect("memory");
    for item in 0..=number % 5 {
        let comma = if item == 0 { "" } else { "," };
        let (sku, price) = (next(seed) as u32, next(seed) % 5000);
        write!(text, r#"{comma}{{"sku":"{sku:08x}","qty":{item},"price":{price}.5}}"#).expect("memory");
    }
    text.push_str(r#"],"flags":{"ab":"A","beta":false,"consent":true},"note":""#);
    while text.len() < 985 {
        write!(text, "{:x} ", next(seed) as u32).expect("memory");
    }
    text.push_str("\"}");
    text
}

fn decoder(options: &[(&str, &str)], wanted: &[&str]) -> ValueDecoder {
    let options: BTreeMap<_, _> = options
        .iter()
        .map(|(name, it)| ((*name).to_owned(), (*it).to_owned()))
        .collect();
    let spec = ValueSpec::parse(&options).expect("good options").expect("a format");
    let all = spec.fields().expect("a good schema");
    let is_wanted = |name: &String| wanted.is_empty() || wanted.contains(&name.as_str());
    let fields: Fields = all.iter().filter(|field| is_wanted(field.name())).cloned().collect();
    ValueDecoder::new(&spec, &fields).expect("a decoder")
}

fn values(criterion: &mut Criterion) {
    let seed = &mut 7;
    let json: BinaryArray = (0..VALUES)
        .map(|number| Some(event(number, seed).into_bytes()))
        .collect();
    let csv: BinaryArray = (0..VALUES)
        .map(|number| {
            Some(
                format!(
                    "{number},DE,1.5,{},2024-02-29 10:11:12,{}",
                    "x".repeat(400),
                    "y".repeat(500)
                )
                .into_bytes(),
            )
        })
        .collect();
    let csv_schema = "id BIGINT, country STRING, amount DOUBLE, a STRING, at TIMESTAMP, b STRING";
    let cases = [
        ("json, 2 of 15 fields", &json, ("json", SCHEMA), &WANTED[..]),
        ("json, all fields", &json, ("json", SCHEMA), &[]),
        ("csv, 2 of 6 fields", &csv, ("csv", csv_schema), &WANTED[..]),
    ];
    let mut group = criterion.benchmark_group("values");
    for (name, array, (format, schema), wanted) in cases {
        group.throughput(Throughput::Bytes(array.value_data().len() as u64));
        let mut decoder = decoder(&[("valueFormat", format), ("valueSchema", schema)], wanted);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let found = decoder.decode(black_box(array)).expect("good values");
                assert!(found.values.len() == VALUES && found.bad.is_empty());
                found.values
            });
        });
    }
    group.throughput(Throughput::Bytes(json.value_data().len() as u64));
    group.bench_function("utf8", |bencher| {
        bencher.iter(|| {
            json.iter()
                .flatten()
                .all(|value| std::str::from_utf8(black_box(value)).is_ok())
        });
    });
    group.finish();
}

criterion_group!(benches, values);
criterion_main!(benches);
