//! Black-box tests of `magi-code serve --stdio`: the built binary on real pipes, one module per part
//! of the protocol text. What each test proves is listed in docs/conformance/local-agent.md.
#![cfg(all(feature = "local-agent", feature = "lifecycle", unix))]
#![allow(clippy::unwrap_used)]

mod support;

#[path = "local_agent/client.rs"]
// A slim build has no runs to look at.
#[cfg_attr(
    not(all(
        feature = "session",
        feature = "history",
        feature = "turn",
        feature = "approval"
    )),
    allow(dead_code)
)]
mod client;
#[path = "local_agent/run.rs"]
#[cfg_attr(
    not(all(
        feature = "session",
        feature = "history",
        feature = "turn",
        feature = "approval"
    )),
    allow(dead_code)
)]
mod run;

#[path = "local_agent/context.rs"]
mod context;
#[path = "local_agent/envelope.rs"]
mod envelope;
#[path = "local_agent/frames.rs"]
mod frames;
#[path = "local_agent/launch.rs"]
mod launch;
#[path = "local_agent/ledger.rs"]
mod ledger;
#[path = "local_agent/lifecycle.rs"]
mod lifecycle;
#[path = "local_agent/output.rs"]
mod output;
#[path = "local_agent/startup.rs"]
mod startup;

#[cfg(all(feature = "session", feature = "turn"))]
#[path = "local_agent/approvals.rs"]
mod approvals;
#[cfg(all(feature = "session", feature = "turn", feature = "approval"))]
#[path = "local_agent/policy.rs"]
mod policy;

// What needs a session, a run and its history.
#[cfg(all(feature = "session", feature = "history", feature = "turn"))]
#[path = "local_agent/compaction.rs"]
mod compaction;
#[cfg(all(feature = "session", feature = "history", feature = "turn"))]
#[path = "local_agent/faults.rs"]
mod faults;
#[cfg(all(feature = "session", feature = "history", feature = "turn"))]
#[path = "local_agent/history.rs"]
mod history;
#[cfg(all(feature = "session", feature = "turn"))]
#[path = "local_agent/hooks.rs"]
mod hooks;
#[cfg(all(feature = "session", feature = "history", feature = "turn"))]
#[path = "local_agent/pressure.rs"]
mod pressure;
#[cfg(all(feature = "session", feature = "history", feature = "turn"))]
#[path = "local_agent/secrets.rs"]
mod secrets;
#[cfg(all(feature = "session", feature = "history", feature = "turn"))]
#[path = "local_agent/sessions.rs"]
mod sessions;
#[cfg(all(
    feature = "session",
    feature = "history",
    feature = "turn",
    feature = "code-mode",
    target_os = "linux"
))]
#[path = "local_agent/snippets.rs"]
mod snippets;
#[cfg(all(feature = "session", feature = "history", feature = "turn"))]
#[path = "local_agent/stored.rs"]
mod stored;
#[cfg(all(feature = "session", feature = "history", feature = "turn"))]
#[path = "local_agent/subagents/mod.rs"]
mod subagents;
#[cfg(all(feature = "session", feature = "history", feature = "turn"))]
#[path = "local_agent/tools.rs"]
mod tools;
#[cfg(all(feature = "session", feature = "history", feature = "turn"))]
#[path = "local_agent/turns.rs"]
mod turns;
