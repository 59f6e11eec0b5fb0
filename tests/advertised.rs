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

/// The methods of a dialect, by its type's name, that the sources of the families in this build register. A
/// family is a folder below `handlers` with a feature of its name.
#[allow(dead_code)]
fn registered(dialect: &str) -> BTreeSet<String> {
    let features: BTreeSet<&str> = env!("FEATURES").split(',').collect();
    let handlers = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("handlers");
    let mut methods = BTreeSet::new();
    for family in std::fs::read_dir(handlers).unwrap() {
        let family = family.unwrap();
        if features.contains(family.file_name().to_str().unwrap()) {
            collect(&family.path().join("src"), dialect, &mut methods);
        }
    }
    methods
}

fn collect(folder: &std::path::Path, dialect: &str, methods: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, dialect, methods);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for registration in text.split("host::operation!").skip(1) {
            let (_, named) = registration.split_once("dialect: ").unwrap();
            let (named, rest) = named.split_once(',').unwrap();
            let method = rest.split('"').nth(1).unwrap();
            if named.ends_with(dialect) {
                methods.insert(method.to_owned());
            }
        }
    }
}

#[cfg(feature = "local-agent")]
#[test]
fn local_agent_links_its_features() {
    let linked = linked(env!("CARGO_BIN_EXE_magi-code"), &["schema", "local-agent"]);
    assert_eq!(linked, registered("::LocalAgent"));
    assert_eq!(linked.contains("initialize"), cfg!(feature = "lifecycle"));
}

#[cfg(feature = "application-service")]
#[test]
fn application_service_links_its_features() {
    let args = ["schema", "application-service"];
    let linked = linked(env!("CARGO_BIN_EXE_magi-code"), &args);
    assert_eq!(linked, registered("::ApplicationService"));
    assert_eq!(linked.contains("turn.start"), cfg!(feature = "turn"));
}

#[cfg(feature = "mty-agent")]
#[test]
fn mty_agent_links_its_features() {
    let linked = linked(env!("CARGO_BIN_EXE_mty"), &["schema"]);
    assert_eq!(linked, registered("::MtyAgent"));
    assert_eq!(linked.contains("find"), cfg!(feature = "find"));
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
