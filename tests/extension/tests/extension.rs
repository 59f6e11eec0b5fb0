//! A third party's operations over real pipes, dialect by dialect: advertised, negotiated, dispatched, bounded.
//! What our own families do is tested elsewhere.
#![allow(clippy::unwrap_used)]

#[path = "../../support/mod.rs"]
mod support;

#[path = "extension/application_service.rs"]
mod application_service;
#[path = "extension/documents.rs"]
mod documents;
#[path = "extension/local_agent.rs"]
mod local_agent;
#[path = "extension/mty_agent.rs"]
mod mty_agent;
#[path = "extension/rules.rs"]
mod rules;
#[path = "extension/tools.rs"]
mod tool;

// Links the operations into this test too, so that it can read their registrations.
use ::application_service::NAME as APPLICATION_SERVICE;
use ::local_agent::NAME as LOCAL_AGENT;
use ::mty_agent::NAME as MTY_AGENT;
use extension::{REPEATS, TEXT_BYTES};
use handlers as _;
use host::{Registry, Rules};
use serde_json::{Value, json};
use support::{Launch, Server};

const METHOD: &str = "thirdparty.echo";
const EVENT: &str = "thirdparty.echoed";

fn extended(dialect: &str) -> Server {
    Server::spawn(Launch::new(env!("CARGO_BIN_EXE_extended"), &[dialect]))
}

fn registry() -> Registry {
    Registry::collect().expect("no name is registered twice")
}

/// The registered example of an operation: params and answer.
fn example(dialect: &str, method: &str) -> (Value, Value) {
    let operation = registry()
        .find(dialect, method)
        .expect("a linked operation");
    let example = operation.examples.first().expect("an example");
    (
        serde_json::from_str(example.params).unwrap(),
        serde_json::from_str(example.answer).unwrap(),
    )
}

fn list(value: &Value) -> Vec<&str> {
    let items = value.as_array().expect("a list");
    items.iter().map(|item| item.as_str().unwrap()).collect()
}
