//! `cargo bench -p host --bench decode`: scan and decode of maximum-size frames beside `serde_json` parsing
//! the same bytes into `Value`.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;

use application_service::ApplicationService;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use host::Codec;
use local_agent::LocalAgent;

fn frame(params: &str) -> String {
    format!(
        r#"{{"protocol":"magi-code.local-agent","version":1,"id":"r1","method":"m","params":{params}}}"#
    )
}

/// The same bytes but for the envelope, as a record of the other dialect.
fn as_record(frame: &str) -> String {
    let (_, params) = frame.split_once(r#""params":"#).unwrap();
    let payload = params.strip_suffix('}').unwrap();
    format!(
        r#"{{"protocol_version":1,"kind":"request","request_id":"r1","method":"m","payload":{payload}}}"#
    )
}

fn frames() -> Vec<(&'static str, String)> {
    let filled = |unit: &str, open: &str, close: &str| {
        let count = (65_536 - 200) / (unit.len() + 1);
        frame(&format!("{open}{}{close}", vec![unit; count].join(",")))
    };
    vec![
        (
            "one long string",
            frame(&format!(r#"{{"prompt":"{}"}}"#, "word ".repeat(13_000))),
        ),
        (
            "escaped string",
            frame(&format!(
                r#"{{"prompt":"{}"}}"#,
                "line\\n\\\"q\\\" ".repeat(4_500)
            )),
        ),
        ("many numbers", filled("12345", r#"{"a":["#, "]}")),
        (
            "many objects",
            filled(r#"{"k":1,"name":"value"}"#, r#"{"a":["#, "]}"),
        ),
    ]
}

fn decode(c: &mut Criterion) {
    for (name, text) in frames() {
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function("serde_json::Value", |b| {
            b.iter(|| {
                serde_json::from_slice::<serde_json::Value>(black_box(text.as_bytes())).unwrap()
            });
        });
        let mut local = LocalAgent::new();
        group.bench_function("local-agent decode", |b| {
            b.iter(|| black_box(local.decode(black_box(text.as_bytes()))).is_request());
        });
        let mut service = ApplicationService::default();
        let record = as_record(&text);
        group.bench_function("application-service decode", |b| {
            b.iter(|| black_box(service.decode(black_box(record.as_bytes()))).is_request());
        });
        group.finish();
    }
}

criterion_group!(benches, decode);
criterion_main!(benches);
