//! `cargo bench -p store --bench sessions`: the first and the last page of a list over 20,000 entries, and the recent window of a long session.
//! The window is read again each time here; of an unchanged file it need not be.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use store::sessions::{Body, Flush, LocalSessions, MAX_SCAN_ENTRIES, SessionStore as _};
use store::{LocalHome, Redactor};

fn input(text: &str) -> Vec<Body> {
    vec![Body::UserInput {
        message_id: "m".into(),
        text: text.into(),
    }]
}

fn sessions(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let home = LocalHome::prepare(dir.path()).unwrap();
    let sessions = LocalSessions::new(&home);
    for n in 0..MAX_SCAN_ENTRIES - 1 {
        let id = format!("session-{n:05}");
        let line = format!(
            r#"{{"v":1,"n":1,"session":"{id}","at":1,"body":{{"type":"user_input","message_id":"m","text":"Question {n}"}}}}"#
        );
        let path = dir.path().join(format!("sessions/{id}.jsonl"));
        std::fs::write(path, line + "\n").unwrap();
    }
    let redactor = Redactor::default();
    let late = "session-19960".parse().unwrap();
    for (name, after) in [("list first page", None), ("list last page", Some(&late))] {
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| black_box(sessions.list(after, 32, &redactor).unwrap()));
        });
    }

    for (name, records) in [("window of 4 MiB", 4_000), ("window of 40 MiB", 40_000)] {
        let dir = tempfile::tempdir().unwrap();
        let sessions = LocalSessions::new(&LocalHome::prepare(dir.path()).unwrap());
        let mut writer = sessions.create().unwrap();
        let text = "word ".repeat(190);
        for _ in 0..records {
            writer.append(None, input(&text), Flush::Written).unwrap();
        }
        let id = writer.lease().id().clone();
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| black_box(sessions.window(&id, None).unwrap()));
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = sessions
}
criterion_main!(benches);
