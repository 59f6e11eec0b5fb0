//! Writes the committed seeds anew: `cargo run --example seeds` in this directory.
//! Bytes by hand or from fixtures, so that no encoder of the product can hide a fault of its decoder.

use std::path::Path;
use std::{fs, io};

use checks::input::RUNS;
use serde_json::Value;

mod accounts;
mod application_service;
mod catalogs;
mod child;
mod command_line;
mod files;
mod local_agent;
mod mcp;
mod mighty;
mod mty_agent;
mod providers;
mod service;
mod settings;

/// Seeds by name.
pub type Seeds = Vec<(String, Vec<u8>)>;

fn main() -> io::Result<()> {
    for (target, seeds) in [
        ("local_agent", local_agent::seeds()),
        ("application_service", application_service::seeds()),
        ("mty_agent", mty_agent::seeds()),
        (
            "consumer_frames",
            [child::seeds(), service::seeds()].concat(),
        ),
        ("mighty_parse", mighty::parse()),
        ("mighty_format", mighty::format()),
        ("mighty_check", mighty::check()),
        ("mighty_patch", mighty::patch()),
        ("provider_wires", providers::wires()),
        ("fixture_script", providers::script()),
        ("session_file", files::session()),
        ("front_matter", files::front_matter()),
        ("settings_file", files::settings()),
        ("settings_writer", settings::seeds()),
        ("command_line", command_line::seeds()),
        ("mcp_results", mcp::seeds()),
        ("catalog_answers", catalogs::seeds()),
        ("accounts_file", accounts::seeds()),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("seeds")
            .join(target);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        assert!(seeds.len() < 60, "a small corpus: {target}");
        for (name, mut bytes) in seeds {
            if bytes.contains(&0) && target != "settings_writer" {
                bytes.insert(0, RUNS);
            }
            assert!(bytes.len() < 4096, "a small seed: {target}/{name}");
            fs::write(folder.join(name), bytes)?;
        }
    }
    Ok(())
}

/// `text` with its `@` made so long that the line has `total` bytes, written as runs (`checks::input`).
pub fn padded(text: &str, total: usize) -> Vec<u8> {
    padded_with(b'x', text, total)
}

fn padded_with(byte: u8, text: &str, total: usize) -> Vec<u8> {
    let (before, after) = text.split_once('@').expect("a place for the padding");
    let pad = total - before.len() - after.len();
    let mut out = before.as_bytes().to_vec();
    // At least one byte must stand before a run.
    let mut runs = (pad - 1) / 257;
    out.extend(std::iter::repeat_n(byte, pad - runs * 257));
    while runs > 0 {
        out.extend([0, runs.min(255) as u8]);
        runs -= runs.min(255);
    }
    out.extend_from_slice(after.as_bytes());
    out
}

fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

fn lines(named: &[(&str, String)]) -> Seeds {
    named
        .iter()
        .map(|(name, text)| ((*name).to_owned(), format!("{text}\n").into_bytes()))
        .collect()
}

/// A seed of one line each for `lines`.
fn stream(name: &str, lines: &[Value]) -> (String, Vec<u8>) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    (name.to_owned(), text.into_bytes())
}
