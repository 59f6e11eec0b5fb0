//! `cargo bench -p agent --bench replay`: a page of a long session's replay, and a poll at its end.
//! "cold" reads and projects the window; the others find the file unchanged.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;

use agent::{Outcome, Replays};
use criterion::{Criterion, criterion_group, criterion_main};
use store::sessions::{Body, Flush, LocalSessions, SessionStore};
use store::{LocalHome, Redactor};

fn turn(n: usize) -> Vec<Body> {
    let answer = "An answer of some words, and then some more of them. ".repeat(40);
    vec![
        Body::UserInput {
            message_id: format!("u{n}"),
            text: format!("Question {n}"),
        },
        Body::AssistantMessage {
            message_id: format!("a{n}"),
            response: 0,
            text: Some(answer),
            partial: false,
        },
        Body::TurnFinished {
            outcome: Outcome::Completed,
            error_code: None,
        },
    ]
}

fn replay(criterion: &mut Criterion) {
    for (name, turns) in [("1 MiB", 400), ("16 MiB", 6_400)] {
        let dir = tempfile::tempdir().unwrap();
        let sessions: Arc<dyn SessionStore> =
            Arc::new(LocalSessions::new(&LocalHome::prepare(dir.path()).unwrap()));
        let mut writer = sessions.create().unwrap();
        for n in 0..turns {
            writer.append(Some("t"), turn(n), Flush::Written).unwrap();
        }
        let id = writer.lease().id().clone();
        let replays = || Replays::new(Arc::clone(&sessions), Redactor::default());
        let mut group = criterion.benchmark_group(name);
        group.bench_function("cold page", |bencher| {
            bencher.iter(|| black_box(replays().page(&id, None, 32).unwrap()));
        });
        let warm = replays();
        let end = warm.page(&id, None, 1).unwrap().snapshot_cursor;
        for (name, after) in [("page", None), ("poll at the end", Some(end.as_str()))] {
            group.bench_function(name, |bencher| {
                bencher.iter(|| black_box(warm.page(&id, after, 32).unwrap()));
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = replay
}
criterion_main!(benches);
