//! A backend on a temporary home and workspace, with a script for the offline provider.
//! Shared by the integration tests; nothing here asserts what a single test is about.
#![allow(dead_code, clippy::unwrap_used)]

pub(crate) mod service;

use std::path::PathBuf;
use std::sync::Arc;

use agent::{
    EngineError, Environment, HistoryEntry, MayDrop, MustArrive, Outcome, Persistence, Run,
    RunErrorCode, RunEvent, RunSpec,
};
use magi::local_agent::Agent;
use magi::{application_service, local_agent};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["home", "work"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { dir }
    }

    /// A script with these turns, each a list of steps.
    pub(crate) fn scripted(turns: &[Value]) -> Self {
        Self::with(turns, json!({}))
    }

    /// The same, with more settings.
    pub(crate) fn with(turns: &[Value], mut settings: Value) -> Self {
        let place = Self::new();
        let turns: Vec<_> = turns.iter().map(|steps| json!({"steps": steps})).collect();
        let script = place.dir.path().join("script.json");
        std::fs::write(&script, json!({"turns": turns}).to_string()).unwrap();
        settings["providers"] = json!({"fixture": {"script": script}});
        place.settings(&settings.to_string());
        place
    }

    pub(crate) fn settings(&self, text: &str) {
        std::fs::write(self.home().join("settings.json"), text).unwrap();
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn file(&self, session: &str) -> PathBuf {
        self.home()
            .join("sessions")
            .join(format!("{session}.jsonl"))
    }

    pub(crate) fn environment(&self) -> Environment {
        Environment {
            cwd: self.work(),
            mc_home: Some(self.home()),
            user_home: None,
            vars: Vec::new(),
            insists: false,
            redactor: None,
        }
    }

    pub(crate) async fn backend(&self) -> Arc<Agent> {
        let backend = Agent::new(self.environment());
        backend.initialize(never()).await.unwrap();
        backend
    }
}

/// A cancellation that does not come.
pub(crate) fn never() -> CancellationToken {
    CancellationToken::new()
}

pub(crate) async fn create(backend: &Arc<Agent>) -> String {
    backend.attach(None, never()).await.unwrap().session_id
}

/// Takes the run's events to the end.
pub(crate) async fn finish(run: &mut Run) -> Vec<RunEvent> {
    let mut events = Vec::new();
    while let Some(event) = run.events.recv().await {
        events.push(event);
    }
    assert!(matches!(
        events.last(),
        Some(RunEvent::MustArrive(MustArrive::Finished { .. }))
    ));
    events
}

/// Takes events up to the first that `wanted` accepts.
pub(crate) async fn until(run: &mut Run, wanted: impl Fn(&RunEvent) -> bool) -> Vec<RunEvent> {
    let mut events = Vec::new();
    loop {
        events.push(run.events.recv().await.expect("the event before the end"));
        if wanted(events.last().unwrap()) {
            return events;
        }
    }
}

pub(crate) async fn turn(backend: &Arc<Agent>, session: &str, prompt: &str) -> Vec<RunEvent> {
    let mut run = backend.start_turn(session, reconciled_run(prompt)).unwrap();
    finish(&mut run).await
}

/// The texts of the messages, as reconciled.
pub(crate) fn reconciled(events: &[RunEvent]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut next = 0;
    for event in events {
        if let RunEvent::MustArrive(MustArrive::Reconcile {
            part,
            text,
            last_part,
            ..
        }) = event
        {
            assert_eq!(*part, next);
            assert!(text.len() <= 4000);
            if *part == 0 {
                texts.push(String::new());
            }
            texts.last_mut().unwrap().push_str(text.as_str());
            next = if *last_part { 0 } else { part + 1 };
        }
    }
    assert_eq!(next, 0, "an unfinished reconciliation");
    texts
}

pub(crate) fn deltas(events: &[RunEvent]) -> String {
    events
        .iter()
        .filter_map(|event| match event {
            RunEvent::MayDrop {
                event: MayDrop::Delta { text, .. },
                ..
            } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

pub(crate) fn revision(events: &[RunEvent]) -> String {
    match events.last() {
        Some(RunEvent::MustArrive(MustArrive::Finished {
            revision: Some(revision),
            ..
        })) => revision.clone(),
        other => panic!("{other:?}"),
    }
}

/// Every entry of the history, and whether it is complete.
pub(crate) async fn history(
    backend: &Arc<Agent>,
    session: &str,
    revision: &str,
) -> Result<(Vec<HistoryEntry>, bool), EngineError> {
    let mut entries = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = backend
            .history_page(session, revision, cursor.as_deref(), never())
            .await?;
        entries.extend(page.entries);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok((entries, page.complete));
        }
    }
}

/// A run by local-agent's rules.
pub(crate) fn reconciled_run(prompt: &str) -> RunSpec {
    local_agent::run(prompt.to_owned())
}

/// A turn by application-service's rules.
pub(crate) fn collected_run(prompt: &str) -> RunSpec {
    application_service::turn(prompt.to_owned())
}

/// How a run ended; once.
pub(crate) fn assert_finished(
    events: &[RunEvent],
    want: Outcome,
    stored: Persistence,
    code: Option<RunErrorCode>,
) {
    let Some(RunEvent::MustArrive(MustArrive::Finished {
        outcome,
        persistence,
        error_code,
        ..
    })) = events.last()
    else {
        panic!("{events:?}");
    };
    assert_eq!((*outcome, *persistence, *error_code), (want, stored, code));
    let terminals = events
        .iter()
        .filter(|event| matches!(event, RunEvent::MustArrive(MustArrive::Finished { .. })));
    assert_eq!(terminals.count(), 1);
}
