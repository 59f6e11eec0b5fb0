//! `cargo bench --bench turns [-- PART…]`: turns and stored sessions of the built binary, both dialects, each beside the least that a
//! program could do in the same run. Parts: overhead, latency, cancel, memory, together, subagents, servers, snippets, compaction, open,
//! list. Asserts nothing of speed.
//! `MAGI_CODE_BIN` names another build of the program, for a pair in one run.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::Path;
use std::process::Command;

#[path = "../peer/mod.rs"]
mod peer;

mod agent;
mod compaction;
mod live;
mod model;
mod servers;
mod snippets;
mod stored;
mod subagents;
mod together;

fn main() {
    let program = peer::program("MAGI_CODE_BIN", env!("CARGO_BIN_EXE_magi-code"));
    let program = program.as_path();
    let dir = tempfile::tempdir().unwrap();
    let bare = dir.path().join("bare");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/bare.rs");
    let built = Command::new("rustc")
        .args(["--edition", "2024", "-O", "-o"])
        .arg(&bare)
        .arg(source)
        .status();
    assert!(built.unwrap().success());
    let parts: [(&str, &dyn Fn()); 11] = [
        ("overhead", &|| live::overhead(program)),
        ("latency", &|| live::latency(program, &bare)),
        ("cancel", &|| live::cancel(program)),
        ("memory", &|| live::memory(program)),
        ("together", &|| together::together(program)),
        ("subagents", &|| subagents::subagents(program)),
        ("servers", &|| servers::servers(program)),
        ("snippets", &|| snippets::snippets(program)),
        ("compaction", &|| compaction::compaction(program)),
        ("open", &|| stored::open(program)),
        ("list", &|| stored::list(program)),
    ];
    // `cargo bench` adds options of its own.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            part();
        }
    }
}
