//! A service of many sessions, and how its turns end.

use std::sync::Arc;

use agent::{Detached, EngineError, MustArrive, Outcome, Persistence, Run, RunEvent, RunSpec};
use magi::application_service;

use super::{Place, collected_run};

/// A service whose sessions are named by text.
pub(crate) struct Service(pub(crate) Arc<application_service::Service>);

impl Service {
    pub(crate) fn start(place: &Place) -> Self {
        Self(application_service::Service::start(place.environment()).unwrap())
    }

    pub(crate) async fn create(&self) -> Result<String, EngineError> {
        Ok(self.0.attach(None).await?.to_string())
    }

    pub(crate) async fn open(&self, id: &str) -> Result<(), EngineError> {
        self.0.attach(Some(id.parse().unwrap())).await.map(drop)
    }

    pub(crate) async fn close(&self, id: &str) -> Result<Detached, EngineError> {
        self.0.engine().detach(&id.parse().unwrap()).await
    }

    pub(crate) async fn start_turn(
        &self,
        id: Option<&str>,
        spec: RunSpec,
    ) -> Result<Run, EngineError> {
        let id = id.map(|id| id.parse().unwrap());
        self.0.start_turn(id, spec).await
    }

    pub(crate) fn cancel_turn(&self, id: Option<&str>, turn: &str) -> Result<(), EngineError> {
        let id = id.map(|id| id.parse().unwrap());
        self.0.cancel_turn(id.as_ref(), turn)
    }
}

pub(crate) struct Terminal {
    pub(crate) sequence: u64,
    pub(crate) outcome: Outcome,
    pub(crate) persistence: Persistence,
    pub(crate) text: String,
    pub(crate) dropped: u64,
}

pub(crate) fn terminal(events: &[RunEvent]) -> Terminal {
    match events.last() {
        Some(RunEvent::MustArrive(MustArrive::Finished {
            sequence,
            outcome,
            persistence,
            text,
            activity_dropped,
            ..
        })) => Terminal {
            sequence: *sequence,
            outcome: *outcome,
            persistence: *persistence,
            text: text.to_string(),
            dropped: *activity_dropped,
        },
        other => panic!("{other:?}"),
    }
}

/// Waits until the session is free in the eyes of `backend`.
pub(crate) async fn closed(backend: &Service, session: &str) {
    while backend.close(session).await.unwrap() != Detached::Closed {
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn whole_turn(backend: &Service, session: Option<&str>) -> (Run, Vec<RunEvent>) {
    let mut run = backend
        .start_turn(session, collected_run("go"))
        .await
        .unwrap();
    let events = super::finish(&mut run).await;
    (run, events)
}
