//! The files of this crate import each other in one direction, and none of them names a dialect.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// Lowest first: a file may import what stands before it.
const ORDER: [&str; 23] = [
    "guide",
    "vocabulary",
    "read",
    "fault",
    "frame",
    "scan",
    "correlate",
    "negotiate",
    "panics",
    "resources",
    "signals",
    "reply",
    "event",
    "dialect",
    "work",
    "context",
    "operation",
    "registry",
    "connection",
    "schema",
    "transport",
    "writer",
    "serve",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Every source of the crate: the room it belongs to, where it is, its text without the comments.
fn rooms() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let room = |path: PathBuf| {
        let below = path.strip_prefix(&root).unwrap().with_extension("");
        let room = below.components().next().unwrap().as_os_str();
        let text = fs::read_to_string(&path).unwrap();
        let code: Vec<_> = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        (
            room.to_str().unwrap().to_owned(),
            path.clone(),
            code.join("\n"),
        )
    };
    files
        .into_iter()
        .map(room)
        .filter(|(room, ..)| room != "lib")
        .collect()
}

#[test]
fn imports_point_down() {
    let place = |room: &str| ORDER.iter().position(|name| *name == room);
    let mut imports = 0;
    for (room, path, code) in rooms() {
        let own = place(&room).unwrap_or_else(|| panic!("{room} has no place in the order"));
        // The macros' own paths are the crate's public ones, and lead where the macro is used.
        for part in code
            .split("crate::")
            .skip(1)
            .filter(|part| !part.is_empty())
        {
            let name: String = part
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let Some(other) = place(&name) else { continue };
            imports += 1;
            assert!(other <= own, "{}: {room} imports {name}", path.display());
        }
    }
    assert!(imports > 30, "{imports} imports were found");
}

#[test]
fn no_dialect_is_named() {
    for (_, path, code) in rooms() {
        for name in [
            "local_agent",
            "local-agent",
            "application_service",
            "application-service",
            "mty_agent",
            "mty-agent",
        ] {
            assert!(!code.contains(name), "{} names {name}", path.display());
        }
    }
}
