//! Faults against the built `magi-code`: death at any moment, full and read-only disks, meddling with
//! files, races, stalled frontends, failing providers. What a healthy child does is in local_agent.rs.
#![cfg(all(
    feature = "local-agent",
    feature = "lifecycle",
    feature = "session",
    feature = "history",
    feature = "turn",
    feature = "approval",
    unix
))]
#![allow(clippy::unwrap_used)]

mod support;

#[path = "local_agent/client.rs"]
#[allow(dead_code)] // the strict client of local_agent.rs, of which this crate uses its own share
mod client;
#[path = "local_agent/run.rs"]
#[allow(dead_code)]
mod run;

#[cfg(feature = "application-service")]
#[path = "application_service/client.rs"]
#[allow(dead_code)]
mod service_client;

#[path = "faults/driver.rs"]
mod driver;
#[path = "faults/local_agent.rs"]
mod local_agent;
#[path = "faults/seeded.rs"]
mod seeded;
#[cfg(feature = "application-service")]
#[path = "faults/service.rs"]
mod service;

#[path = "faults/approvals.rs"]
mod approvals;
#[path = "faults/compaction.rs"]
mod compaction;
#[cfg(target_os = "linux")]
#[path = "faults/disk.rs"]
mod disk;
#[path = "faults/either.rs"]
mod either;
#[path = "faults/files.rs"]
mod files;
#[path = "faults/frontend.rs"]
mod frontend;
#[path = "faults/kills.rs"]
mod kills;
#[cfg(feature = "providers")]
#[path = "faults/models.rs"]
mod models;
#[path = "faults/plans.rs"]
mod plans;
#[path = "faults/processes.rs"]
mod processes;
#[path = "faults/providers.rs"]
mod providers;
#[cfg(feature = "providers")]
#[path = "providers/server.rs"]
#[allow(dead_code)] // the tests of the wires use the rest
mod server;
#[cfg(feature = "mcp")]
#[path = "mcp/setting.rs"]
#[allow(dead_code)] // the tests of servers use the rest
mod setting;
#[path = "faults/writes.rs"]
mod writes;
