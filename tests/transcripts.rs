//! What the reference pages promise, held against the built binaries: annotated conversations that are played and
//! compared, guesses and their answers, a client written from a page alone.
#![cfg(all(feature = "full", unix))]
#![allow(clippy::unwrap_used)]

mod support;

#[path = "transcripts/application_service.rs"]
mod application_service;
#[path = "transcripts/from_the_page.rs"]
mod from_the_page;
#[path = "transcripts/guesses.rs"]
mod guesses;
#[path = "transcripts/local_agent.rs"]
mod local_agent;
#[path = "transcripts/mty_agent.rs"]
mod mty_agent;
#[path = "transcripts/stage.rs"]
mod stage;

const MAGI_CODE: &str = env!("CARGO_BIN_EXE_magi-code");
const MTY: &str = env!("CARGO_BIN_EXE_mty");
