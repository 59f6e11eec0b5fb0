//! The real wires against a local HTTP server that plays each of them.
//! One module a subject; the server and what every test needs stand in `support`.
#![allow(clippy::unwrap_used)]

mod anthropic;
mod anthropic_cut;
mod building;
mod cancelling;
mod discovery;
mod encryption;
mod faults;
mod gemini;
mod learning;
mod openai_chat;
mod openai_responses;
mod strays;
mod support;
