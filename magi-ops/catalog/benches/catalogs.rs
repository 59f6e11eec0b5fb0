//! `cargo bench -p catalog`: a catalog of 5,000 models read for a page, kept anew, and the process's memory after 10,000
//! refreshes. Asserts nothing of speed.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs;
use std::time::{Duration, Instant, SystemTime};

use catalog::{Catalog, Source, keep};
use provider::fuzzing::{Spoken, listed};
use provider::{Api, Discovered, DiscoveredModel, ModelLimits, ProviderConfig};
use redact::Redactor;
use store::{Home, LocalHome};

fn told(name: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    let at = |share: usize| took[(took.len() - 1) * share / 100];
    println!(
        "{name}: p50 {:?}, p99 {:?}, {} times",
        at(50),
        at(99),
        took.len()
    );
}

fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * 4
}

fn timed<T>(times: usize, mut work: impl FnMut() -> T) -> Vec<Duration> {
    let one = |_| {
        let begun = Instant::now();
        std::hint::black_box(work());
        begun.elapsed()
    };
    (0..times).map(one).collect()
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let home = LocalHome::prepare(&dir.path().join("home")).unwrap();
    let source = Source {
        config: ProviderConfig {
            id: "mine".to_owned(),
            api: Api::OpenaiChat,
            base_url: None,
            models: ModelLimits::default(),
        },
        key_variable: None,
    };
    let redactor = Redactor::default();
    let now = SystemTime::now();
    let answer = |count: usize| {
        let one = |n| {
            format!(
                r#"{{"id":"family/model-{n}","name":"Model {n}","context_length":131072,"description":"{}"}}"#,
                "d".repeat(400)
            )
        };
        let all: Vec<_> = (0..count).map(one).collect();
        format!(r#"{{"data":[{}]}}"#, all.join(","))
    };
    let body = answer(5_000);
    let read = || listed(Spoken::OpenaiChat, body.as_bytes()).unwrap().0;
    told("an answer of 5,000 models read", timed(50, read));
    let store = |models: Vec<DiscoveredModel>| {
        let said = Discovered::Models { models, etag: None };
        keep(home.catalogs(), &source, &redactor, now, said).unwrap();
    };
    let models = read();
    told(
        "5,000 models looked at and kept",
        timed(50, || store(models.clone())),
    );
    let page = || {
        let catalog = Catalog::read(home.catalogs(), &source, &redactor, now);
        catalog.models(0..32)
    };
    told("a page of 32 of 5,000 models", timed(500, page));
    let few = listed(Spoken::OpenaiChat, answer(100).as_bytes())
        .unwrap()
        .0;
    store(few.clone());
    told("a page of 32 of 100 models", timed(2_000, page));
    let before = resident();
    for _ in 0..10_000 {
        store(few.clone());
        std::hint::black_box(page());
    }
    println!(
        "10,000 refreshes of 100 models: {before} KiB before, {} KiB after",
        resident()
    );
}
