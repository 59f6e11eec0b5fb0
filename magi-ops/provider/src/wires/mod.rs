//! The wires that reach a model over HTTP. Each wire's JSON stands in a module of its own; what they
//! share stands beside, from `wire` (what one is) at the bottom to `remote` (a provider) at the top.

mod anthropic;
mod body;
mod call_ids;
mod discover;
mod exchange;
mod failure_kind;
mod finish;
#[cfg(test)]
mod fixtures;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod gemini;
mod halves;
mod http;
mod images;
mod input;
mod json;
mod listing;
mod openai_chat;
mod openai_codex;
mod openai_responses;
mod quirks;
mod refusal;
mod remote;
mod retry;
mod sse;
mod turns;
mod wire;

pub(crate) use remote::{build, discovery};
