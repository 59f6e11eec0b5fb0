//! `cargo bench -p redact --bench redaction`: 1 MiB of one thing repeated beside 1 MiB of prose, whole and as a stream.
//! The ratios matter: no text may take much longer than another of its length.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use redact::Redactor;

const BYTES: usize = 1 << 20;

fn texts() -> Vec<(&'static str, String)> {
    [
        (
            "prose",
            "The quick brown fox reads the manual, then it asks for the token of a key. ",
        ),
        ("key=", "key="),
        ("sk-", "sk-"),
        ("bearer", "Bearer "),
        ("url", "https://a:"),
        ("pem", "-----BEGIN PRIVATE KEY-----"),
        ("jwt", "eyJ."),
        ("mixed", "key=1A"),
    ]
    .map(|(name, unit)| (name, unit.repeat(BYTES / unit.len())))
    .into()
}

fn redaction(criterion: &mut Criterion) {
    let redactor = Redactor::new([
        ("A_KEY", "one value of a variable"),
        ("B_TOKEN", "key=key=key=key=!"),
    ]);
    for (name, text) in texts() {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function("whole", |bencher| {
            bencher.iter(|| black_box(redactor.redact(black_box(&text))));
        });
        group.bench_function("stream of 32 bytes", |bencher| {
            bencher.iter(|| {
                let mut stream = redactor.stream();
                for piece in text.as_bytes().chunks(32) {
                    black_box(stream.push(std::str::from_utf8(piece).unwrap()));
                }
                black_box(stream.finish());
            });
        });
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = redaction
}
criterion_main!(benches);
