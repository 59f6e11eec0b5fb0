//! The crate that docs/adding-an-operation.md shows, built outside of this workspace and talked to. What such a crate
//! can do is tests/extension's matter.
#![cfg(all(feature = "full", unix))]
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

mod support;

use support::{Launch, Server};

/// The block of the page behind "`file`:".
fn block<'p>(page: &'p str, file: &str) -> &'p str {
    let (_, rest) = page.split_once(&format!("\n`{file}`:\n")).unwrap();
    let (_, rest) = rest.split_once("```").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    rest.split_once("\n```").unwrap().0
}

/// Builds the page's crate; the program's path.
fn build() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/adding-an-operation.md")).unwrap();
    // Always at one place, so that what is built once is built for later runs too.
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
    let krate = scratch.join("greeting");
    std::fs::create_dir_all(krate.join("src")).unwrap();
    let checkout = scratch.join("magi-code");
    if std::fs::read_link(&checkout).ok().as_deref() != Some(root) {
        let _ = std::fs::remove_file(&checkout);
        std::os::unix::fs::symlink(root, &checkout).unwrap();
    }
    // Below this workspace's own folder, a crate has to say that it is none of its members.
    let manifest = format!("{}\n\n[workspace]\n", block(&page, "Cargo.toml"));
    write(&krate.join("Cargo.toml"), &manifest);
    write(&krate.join("src/main.rs"), block(&page, "src/main.rs"));
    std::fs::copy(root.join("Cargo.lock"), krate.join("Cargo.lock")).unwrap();
    // This workspace's folder and profile: what other crates need is built there already.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let debug = std::env::var("CARGO_PROFILE_DEV_DEBUG");
    let out = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet", "--target-dir"])
        .arg(target)
        .env(
            "CARGO_PROFILE_DEV_DEBUG",
            debug.as_deref().unwrap_or("line-tables-only"),
        )
        .current_dir(&krate)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    assert!(!said.contains("warning"), "{said}");
    target.join("debug/greeting")
}

/// Writes a file only if it says something else, so that nothing is built again for nothing.
fn write(path: &Path, text: &str) {
    if std::fs::read_to_string(path).ok().as_deref() != Some(text) {
        std::fs::write(path, text).unwrap();
    }
}

#[test]
fn the_crate_of_the_page_is_built_outside_and_serves() {
    let program = build();
    let mut server = Server::spawn(Launch::new(program.to_str().unwrap(), &[]));
    let mut ask = |id: &str, method: &str, params: Value| {
        server.send_json(&json!({
            "protocol": "magi-code.local-agent", "version": 1, "id": id, "method": method, "params": params,
        }));
        server.recv_until(|frame| frame["id"] == id).pop().unwrap()
    };
    let needs = json!({"required_capabilities": ["greeting.hello"]});
    let ready = ask("1", "initialize", needs);
    assert_eq!(
        ready["result"]["capabilities"],
        json!(["initialize", "status", "shutdown", "greeting.hello"])
    );
    let hello = ask("2", "greeting.hello", json!({"name": "Ada"}));
    assert_eq!(hello["result"], json!({"text": "Hello, Ada."}));
    let long = ask("3", "greeting.hello", json!({"name": "a".repeat(101)}));
    assert_eq!(long["error"]["code"], "invalid_params");
    server.close_stdin();
    assert_eq!(server.wait_exit().code, Some(0));
}

/// Paths of this repository that a page names.
fn paths(page: &str) -> impl Iterator<Item = &str> {
    page.split('`')
        .skip(1)
        .step_by(2)
        .filter(|text| text.contains('/') && !text.contains([' ', '<', '"', '\n', '(']))
        .filter(|text| !text.starts_with("../"))
}

#[test]
fn the_pages_about_additions_name_what_there_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for page in ["adding-an-operation", "adding-a-tool"] {
        let text = std::fs::read_to_string(root.join(format!("docs/{page}.md"))).unwrap();
        // Code of more than one line is not a path.
        let prose: String = text.split("```").step_by(2).collect();
        let named: Vec<_> = paths(&prose).collect();
        assert!(named.len() > 1, "{page}: {named:?}");
        for path in named {
            // Of this repository, of its third party's crate, or shown on the page itself.
            let there = root.join(path).exists()
                || root.join("tests/extension").join(path).exists()
                || text.contains(&format!("\n`{path}`:\n"));
            assert!(there, "{page}: {path}");
        }
    }
}
