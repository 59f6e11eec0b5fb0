//! What a build links is what it advertises, no more and no less; what it does not link it does not pull in.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::process::Command;

/// The methods of a dialect that this build links, as its own schema command tells them.
#[allow(dead_code)]
fn linked(program: &str, args: &[&str]) -> BTreeSet<String> {
    let out = Command::new(program).args(args).output().unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let document: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    document["operations"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect()
}

#[allow(dead_code)]
fn set(names: &[(&str, bool)]) -> BTreeSet<String> {
    names
        .iter()
        .filter(|(_, on)| *on)
        .map(|(name, _)| (*name).to_owned())
        .collect()
}

#[cfg(feature = "local-agent")]
#[test]
fn local_agent_links_its_features() {
    let lifecycle = cfg!(feature = "lifecycle");
    let expected = set(&[
        ("initialize", lifecycle),
        ("status", lifecycle),
        ("shutdown", lifecycle),
        ("session.create", cfg!(feature = "session")),
        ("session.open", cfg!(feature = "session")),
        ("history.page", cfg!(feature = "history")),
        ("turn.start", cfg!(feature = "turn")),
        ("turn.cancel", cfg!(feature = "turn")),
        ("approval.answer", cfg!(feature = "approval")),
    ]);
    assert_eq!(
        linked(env!("CARGO_BIN_EXE_magi-code"), &["schema", "local-agent"]),
        expected
    );
}

#[cfg(feature = "application-service")]
#[test]
fn application_service_links_its_features() {
    let lifecycle = cfg!(feature = "lifecycle");
    let expected = set(&[
        ("initialize", lifecycle),
        ("status", lifecycle),
        ("capabilities", lifecycle),
        ("session.list", cfg!(feature = "session")),
        ("session.create", cfg!(feature = "session")),
        ("session.open", cfg!(feature = "session")),
        ("session.replay", cfg!(feature = "session")),
        ("session.close", cfg!(feature = "session")),
        ("turn.start", cfg!(feature = "turn")),
        ("turn.cancel", cfg!(feature = "turn")),
    ]);
    assert_eq!(
        linked(
            env!("CARGO_BIN_EXE_magi-code"),
            &["schema", "application-service"]
        ),
        expected
    );
}

#[cfg(feature = "mty-agent")]
#[test]
fn mty_agent_links_its_features() {
    let expected = set(&[
        ("check", cfg!(feature = "check")),
        ("explain", cfg!(feature = "explain")),
        ("find", cfg!(feature = "find")),
        ("fix", cfg!(feature = "fix")),
        ("fmt", cfg!(feature = "fmt")),
        ("halt", cfg!(feature = "halt")),
    ]);
    assert_eq!(linked(env!("CARGO_BIN_EXE_mty"), &["schema"]), expected);
}

/// The reference pages are what the registry says; regenerate them with the command in each comparison.
#[cfg(feature = "full")]
#[test]
fn reference_pages_have_not_drifted() {
    let pages = [
        (
            env!("CARGO_BIN_EXE_magi-code"),
            &["schema", "local-agent", "--markdown"][..],
            "local-agent",
        ),
        (
            env!("CARGO_BIN_EXE_magi-code"),
            &["schema", "application-service", "--markdown"][..],
            "application-service",
        ),
        (
            env!("CARGO_BIN_EXE_mty"),
            &["schema", "--markdown"][..],
            "mty-agent",
        ),
    ];
    for (program, args, dialect) in pages {
        let out = Command::new(program).args(args).output().unwrap();
        let path = format!("{}/docs/protocols/{dialect}.md", env!("CARGO_MANIFEST_DIR"));
        let page = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            page,
            String::from_utf8(out.stdout).unwrap(),
            "regenerate {path} with {args:?}"
        );
    }
}

/// `cargo tree` of a mty-only build names no TLS, no HTTP client, no MCP and no magi engine.
#[test]
fn a_mty_only_build_pulls_in_nothing_heavy() {
    let out = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--quiet",
            "--offline",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--no-default-features",
        ])
        .args(["--features", "mty-agent,explain,find,halt,http,unix"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let tree = String::from_utf8(out.stdout).unwrap();
    let names: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(
        names.contains("host") && names.contains("toolchain"),
        "{names:?}"
    );
    for heavy in [
        "rustls",
        "native-tls",
        "openssl",
        "ring",
        "reqwest",
        "ureq",
        "genai",
        "rmcp",
        "agent",
        "store",
        "provider",
        "tools",
    ] {
        assert!(!names.contains(heavy), "{heavy} is linked");
    }
}
