//! The invariants of docs/architecture.md, read from the sources: arrows between crates and files, who may name what,
//! where `unsafe` stands. What the code does is tested elsewhere.
#![allow(clippy::unwrap_used)]

#[path = "architecture/source.rs"]
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use source::{Source, Token, files_below, product, root};

/// What a crate may depend on, by the folders that crates stand in: the first line that fits a crate counts.
const ARROWS: &[(&str, &[&str])] = &[
    ("base/", &[]),
    ("magi-ops/store", &["base/"]),
    ("magi-ops/export", &["base/", "magi-ops/agent"]),
    ("magi-ops/agent", &["base/", "magi-ops/"]),
    ("magi-ops/provider", &["base/", "magi-ops/store"]),
    ("magi-ops/tools", &["base/", "magi-ops/store"]),
    ("magi-ops/code", &["base/", "magi-ops/tools"]),
    (
        "magi-ops/account",
        &["base/", "magi-ops/provider", "magi-ops/store"],
    ),
    (
        "magi-ops/catalog",
        &["base/", "magi-ops/provider", "magi-ops/store"],
    ),
    (
        "magi-ops/mcp",
        &["base/", "magi-ops/store", "magi-ops/tools"],
    ),
    ("mighty-ops/toolchain", &["base/", "mighty-ops/"]),
    ("mighty-ops/analysis", &["base/", "mighty-ops/syntax"]),
    ("mighty-ops/", &["base/"]),
    ("host/protocols/", &["host"]),
    ("host/consumer", &["host", "host/protocols/"]),
    ("host", &[]),
    (
        "handlers/magi",
        &["host", "host/protocols/", "magi-ops/agent"],
    ),
    ("handlers/output", &["host", "host/protocols/"]),
    (
        "handlers/mighty",
        &[
            "host",
            "host/protocols/",
            "mighty-ops/toolchain",
            "handlers/",
        ],
    ),
    // Families.
    (
        "handlers/",
        &[
            "host",
            "host/protocols/",
            "magi-ops/agent",
            "mighty-ops/toolchain",
            "handlers/magi",
            "handlers/output",
        ],
    ),
    (
        "handlers",
        &[
            "host",
            "host/protocols/",
            "magi-ops/agent",
            "magi-ops/export",
            "handlers/",
        ],
    ),
];

/// Where a crate's folder fits a line: a whole name, or what lies below a folder.
fn fits(folder: &str, line: &str) -> bool {
    folder == line || (line.ends_with('/') && folder.starts_with(line))
}

/// Every crate below the root package, by its folder, with its manifest.
fn crates() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for top in ["base", "host", "handlers", "magi-ops", "mighty-ops"] {
        for path in files_below(&root().join(top)) {
            if path.ends_with("Cargo.toml") {
                let folder = path.parent().unwrap().strip_prefix(root()).unwrap();
                let text = fs::read_to_string(&path).unwrap();
                found.insert(folder.to_str().unwrap().to_owned(), text);
            }
        }
    }
    assert!(found.len() > 25, "{found:?}");
    found
}

/// The names under `[dependencies]`.
fn dependencies(manifest: &str) -> Vec<&str> {
    let section = manifest
        .split("\n[")
        .find_map(|part| part.strip_prefix("dependencies]"));
    let lines = section.unwrap_or_default().lines();
    lines
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty() && !name.starts_with('#'))
        .collect()
}

#[test]
fn crates_depend_on_what_lies_below_them() {
    let crates = crates();
    let named = |manifest: &str| {
        let line = manifest.lines().find(|line| line.starts_with("name = "));
        line.unwrap().split('"').nth(1).unwrap().to_owned()
    };
    let folders: BTreeMap<_, _> = crates
        .iter()
        .map(|(folder, manifest)| (named(manifest), folder.as_str()))
        .collect();
    let mut arrows = 0;
    for (folder, manifest) in &crates {
        let line = ARROWS.iter().find(|(line, _)| fits(folder, line));
        let (_, allowed) = line.unwrap_or_else(|| panic!("{folder} has no place in the house"));
        for name in dependencies(manifest) {
            let Some(other) = folders.get(name) else {
                continue;
            };
            arrows += 1;
            assert!(
                allowed.iter().any(|line| fits(other, line)),
                "{folder} imports {other}"
            );
        }
    }
    assert!(arrows > 50, "{arrows}");
}

#[test]
fn neither_an_engine_nor_the_host_names_a_dialect() {
    for source in product(&["base", "magi-ops", "mighty-ops", "host/src"]) {
        for word in source.tokens.iter().filter_map(Token::word) {
            let word = word.replace('-', "_");
            for dialect in ["local_agent", "application_service", "mty_agent"] {
                assert!(!word.contains(dialect), "{} names {dialect}", source.name);
            }
        }
    }
}

/// Members of a dialect's messages that the agent engine writes all the same: of records and of what hooks are told.
const OWN_MEMBERS: [&str; 2] = ["run_id", "session_id"];

#[test]
fn the_agent_engine_names_no_member_of_a_message() {
    let mut members = BTreeSet::new();
    for source in product(&[
        "host/protocols/local-agent/src/messages",
        "host/protocols/application-service/src/messages",
    ]) {
        for window in source.tokens.windows(3) {
            // `pub name:`; words that are plain English say nothing of a wire.
            if let [Token::Ident(public), Token::Ident(name), Token::Punct(':')] = window
                && public == "pub"
                && name.contains('_')
            {
                members.insert(name.clone());
            }
        }
    }
    assert!(members.len() > 30, "{members:?}");
    for source in product(&["magi-ops/agent", "magi-ops/tools"]) {
        for text in source.tokens.iter().filter_map(Token::text) {
            let names = members.contains(text) && !OWN_MEMBERS.contains(&text);
            assert!(!names, "{} names the member {text:?}", source.name);
        }
    }
}

/// Sources that name tools for a reason of their own.
const NAME_TOOLS: &[(&str, &str)] = &[
    (
        "magi-ops/tools/src/policy/",
        "knows programs, one of which is a tool's name",
    ),
    (
        "magi-ops/tools/src/grep.rs",
        "has a member that is called as another tool is",
    ),
    (
        "magi-ops/provider/src/demonstration.rs",
        "plays with some of them",
    ),
    (
        "magi-ops/provider/src/wires/",
        "reads members of servers that have such names",
    ),
    (
        "magi-ops/store/src/settings/",
        "knows whose permissions take rules",
    ),
    (
        "magi-ops/account/src/callback.rs",
        "reads the member of OAuth that has such a name",
    ),
];

#[test]
fn a_tool_is_named_in_its_own_file_alone() {
    let sources = product(&["magi-ops", "handlers"]);
    let mut tools = BTreeMap::new();
    for source in sources
        .iter()
        .filter(|source| source.name.starts_with("magi-ops/"))
    {
        for (at, window) in source.tokens.windows(3).enumerate() {
            let [Token::Ident(register), Token::Punct('!'), Token::Punct(_)] = window else {
                continue;
            };
            if register != "register" {
                continue;
            }
            // The name stands there, or in the file's own constant.
            let given = source.tokens[at..]
                .iter()
                .skip_while(|token| !token.is("name"))
                .nth(2);
            let name = match given {
                Some(Token::Text(name)) => name.clone(),
                Some(Token::Ident(constant)) => source.constant(constant).unwrap(),
                other => panic!("{}: {other:?}", source.name),
            };
            let folder = source.name.trim_end_matches(".rs").trim_end_matches("/mod");
            tools.insert(name, folder.to_owned());
        }
    }
    assert!(tools.len() > 8, "{tools:?}");
    for source in &sources {
        let is_exempt = NAME_TOOLS
            .iter()
            .any(|(name, _)| source.name.starts_with(name));
        // The families of the other engine, whose words these are too.
        let is_mty = ["check", "explain", "find", "fix", "fmt", "bin/mty"]
            .iter()
            .any(|family| source.name.starts_with(&format!("handlers/{family}")));
        if is_exempt || is_mty {
            continue;
        }
        for text in source.tokens.iter().filter_map(Token::text) {
            if let Some(own) = tools.get(text) {
                assert!(
                    source.name.starts_with(own),
                    "{} names the tool {text:?}",
                    source.name
                );
            }
        }
    }
}

#[test]
fn what_a_home_holds_is_opened_in_the_store_alone() {
    for source in product(&["base", "magi-ops", "handlers", "host"]) {
        if source.name.starts_with("magi-ops/store/") {
            continue;
        }
        for text in source.tokens.iter().filter_map(Token::text) {
            let is_path = ["settings.json", "auth.json", "sessions"]
                .iter()
                .any(|name| text == *name || text.ends_with(&format!("/{name}")));
            // Logs are the mains' own files.
            let is_record =
                text.ends_with(".jsonl") && !source.name.starts_with("handlers/bin/log/");
            // A member of a message has the name of a folder; whoever opens one joins it to a path.
            let joins = |name: &str| source.joins(name);
            assert!(
                !is_record && (!is_path || !joins(text)),
                "{} opens {text:?}",
                source.name
            );
        }
    }
}

#[test]
fn unsafe_code_stands_in_four_places() {
    let found: Vec<_> = product(&["."])
        .into_iter()
        .filter(|source| source.tokens.iter().any(|token| token.is("unsafe")))
        .map(|source| source.name)
        .collect();
    assert_eq!(
        found,
        [
            "host/src/transport/began.rs",
            "host/src/transport/stdio.rs",
            "magi-ops/agent/src/heap.rs",
            "magi-ops/tools/src/guard/entry.rs",
        ]
    );
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    for name in found {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn nothing_prints_and_no_reason_is_thrown_away() {
    for source in product(&["."]) {
        for window in source.tokens.windows(4) {
            if let [Token::Ident(name), Token::Punct('!'), ..] = window {
                let prints =
                    ["print", "println", "eprint", "eprintln", "dbg"].contains(&name.as_str());
                assert!(!prints, "{} calls {name}!", source.name);
            }
            if let [
                Token::Ident(name),
                Token::Punct('('),
                Token::Punct('|'),
                Token::Ident(taken),
            ] = window
            {
                let drops = name == "map_err" && taken.starts_with('_');
                assert!(!drops, "{} drops a reason", source.name);
            }
        }
    }
}

/// A field of an event or a span is an id, a closed word, a number or a text, never the form that Rust's `Debug` gives.
#[test]
fn the_log_has_words_and_no_debug_forms() {
    const MACROS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];
    for source in product(&["."]) {
        let mut depth = 0_usize;
        for window in source.tokens.windows(2) {
            match window {
                [Token::Ident(name), Token::Punct('!')]
                    if depth == 0 && MACROS.contains(&name.trim_end_matches("_span")) =>
                {
                    depth = 1;
                }
                // The first parenthesis is the macro's own.
                [Token::Punct('!'), Token::Punct('(')] if depth == 1 => {}
                [_, Token::Punct('(')] if depth > 0 => depth += 1,
                [_, Token::Punct(')')] if depth > 0 => depth -= 1,
                [Token::Punct('=' | ',' | '('), Token::Punct('?')] => {
                    assert!(depth == 0, "{} logs a debug form", source.name);
                }
                _ => {}
            }
        }
    }
}

/// Circles that there are, by the files in them: a grammar refers to itself, and so do declarations and their types.
const CIRCLES: &[&[&str]] = &[
    &[
        "mighty-ops/syntax/src/grammar/agents.rs",
        "mighty-ops/syntax/src/grammar/atoms.rs",
        "mighty-ops/syntax/src/grammar/exprs.rs",
        "mighty-ops/syntax/src/grammar/items.rs",
        "mighty-ops/syntax/src/grammar/patterns.rs",
        "mighty-ops/syntax/src/grammar/sigs.rs",
        "mighty-ops/syntax/src/grammar/stmts.rs",
        "mighty-ops/syntax/src/grammar/types.rs",
    ],
    &[
        "mighty-ops/analysis/src/hir/body.rs",
        "mighty-ops/analysis/src/hir/items.rs",
        "mighty-ops/analysis/src/hir/mod.rs",
        "mighty-ops/analysis/src/hir/pattern.rs",
        "mighty-ops/analysis/src/hir/words.rs",
        "mighty-ops/analysis/src/ty/mod.rs",
        "mighty-ops/analysis/src/ty/show.rs",
    ],
];

#[test]
fn files_import_each_other_in_one_direction() {
    let mut found = Vec::new();
    let mut files = 0;
    // The corpus is the language's test programs.
    for folder in crates().keys().filter(|name| !name.ends_with("/corpus")) {
        let sources = product(&[&format!("{folder}/src")]);
        files += sources.len();
        found.extend(source::circles(&format!("{folder}/src"), &sources));
    }
    assert!(files > 300, "{files}");
    let is_known = |circle: &[String]| {
        let within = |known: &&&[&str]| circle.iter().all(|file| known.contains(&file.as_str()));
        CIRCLES.iter().find(within)
    };
    let new: Vec<_> = found
        .iter()
        .filter(|circle| is_known(circle).is_none())
        .collect();
    assert!(new.is_empty(), "{new:#?}");
    let cut: Vec<_> = CIRCLES
        .iter()
        .filter(|known| !found.iter().any(|circle| is_known(circle) == Some(known)))
        .collect();
    assert!(cut.is_empty(), "no circles any more: {cut:#?}");
}

#[test]
fn no_file_is_longer_than_one_reads_in_one_go() {
    for source in product(&["."]) {
        assert!(
            source.lines <= 500,
            "{}: {} lines",
            source.name,
            source.lines
        );
    }
}

/// What the other tests read is read rightly.
#[test]
fn sources_are_read_as_the_compiler_reads_them() {
    let text = r##"
        //! "comment"
        /* unsafe { } */
        use super::{a::B, self};
        const NAME: &str = "na\"me";
        fn f<'a>(x: &'a str) -> char { crate::g::<u8>(r#"x " y"#); '"' }
        #[cfg(test)]
        mod tests { use crate::never::Seen; }
        fn last() {}
    "##;
    let source = Source::new(Path::new("x/src/m/n.rs"), text);
    assert_eq!(source.lines, 7);
    assert_eq!(source.constant("NAME").as_deref(), Some("na\"me"));
    let texts: Vec<_> = source.tokens.iter().filter_map(Token::text).collect();
    assert_eq!(texts, ["na\"me", "x \" y"]);
    assert!(source.tokens.iter().any(|token| token.is("last")));
    let paths = source.paths(&BTreeSet::new());
    let paths: Vec<_> = paths.iter().map(|path| path.join("::")).collect();
    assert_eq!(paths, ["super::a::B", "super::self", "crate::g"]);
}
