//! What a formatted text must satisfy, whatever the input; shared by all tests here.

use std::fs;
use std::path::PathBuf;

use syntax::SyntaxKind::{self, *};
use syntax::format::{Refused, format};
use syntax::{Parse, Tree, parse, parse_interface};

/// One pair of `cases/*.txt`.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) input: String,
    pub(crate) expected: String,
}

fn dir(name: &str) -> Vec<PathBuf> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name);
    let mut found: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    found.sort();
    found
}

/// Cases begin with a line `==== name`; `----` separates input from output; without it the input is
/// canonical.
pub(crate) fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    for path in dir("format/cases") {
        let text = fs::read_to_string(&path).unwrap();
        let file = path.file_stem().unwrap().to_string_lossy().into_owned();
        for part in text.split("==== ").skip(1) {
            let (name, body) = part.split_once('\n').unwrap();
            let (input, expected) = body.split_once("----\n").unwrap_or((body, body));
            out.push(Case {
                name: format!("{file}: {name}"),
                input: input.to_owned(),
                expected: expected.to_owned(),
            });
        }
    }
    assert!(out.len() > 80);
    out
}

/// Programs of the parser's tests.
pub(crate) fn programs() -> Vec<(String, String)> {
    dir("clean")
        .into_iter()
        .map(|p| (p.display().to_string(), fs::read_to_string(p).unwrap()))
        .collect()
}

fn read(text: &str) -> Parse {
    let p = parse(text);
    if p.has_hard_error() {
        parse_interface(text)
    } else {
        p
    }
}

/// Comments in order, line comments without trailing blanks.
fn comments(tree: &Tree) -> Vec<&str> {
    tree.tokens()
        .filter(|t| t.kind().is_comment())
        .map(|t| match t.kind() {
            BlockComment => t.text(),
            _ => t.text().trim_end_matches([' ', '\t']),
        })
        .collect()
}

/// Significant tokens without the separators of formatting.md §6.
fn words(tree: &Tree) -> Vec<&str> {
    tree.tokens()
        .filter(|t| !t.kind().is_trivia() && !matches!(t.kind(), Comma | Semi))
        .map(|t| t.text())
        .collect()
}

/// Tokens whose inside may hold blanks at the end of a line.
fn opaque(kind: SyntaxKind) -> bool {
    matches!(kind, Str | RawStr | ByteStr | HtmlStr | BlockComment)
}

/// No blank at the end of a line outside literals, block comments and copied bodies.
fn assert_no_trailing_blanks(p: &Parse) {
    let text = p.tree.text();
    let copied: Vec<_> = p
        .tree
        .nodes()
        .filter(|n| matches!(n.kind(), TokenTree | Attr))
        .map(|n| n.range())
        .collect();
    for (at, _) in text.match_indices('\n') {
        if !text[..at].ends_with([' ', '\t']) {
            continue;
        }
        let at = at as u32 - 1;
        let inside = p.tree.token_at(at).is_some_and(|t| opaque(t.kind()))
            || copied.iter().any(|r| r.contains(at));
        assert!(inside, "blank at the end of a line, byte {at}:\n{text}");
    }
}

/// Formats and checks everything that holds for every program. `None` for a broken one.
pub(crate) fn checked(text: &str) -> Option<String> {
    let before = read(text);
    let out = match format(&before) {
        Ok(out) => out,
        Err(Refused::SyntaxErrors) => {
            assert!(before.has_hard_error());
            return None;
        }
        Err(Refused::Unfaithful) => panic!("unfaithful:\n{text}"),
    };
    let after = read(&out);
    assert_eq!(
        after.errors.iter().map(|e| e.code).collect::<Vec<_>>(),
        before.errors.iter().map(|e| e.code).collect::<Vec<_>>(),
        "{text}\n----\n{out}"
    );
    assert_eq!(
        words(&before.tree),
        words(&after.tree),
        "{text}\n----\n{out}"
    );
    assert_eq!(
        comments(&before.tree),
        comments(&after.tree),
        "{text}\n----\n{out}"
    );
    assert_no_trailing_blanks(&after);
    assert!(!out.contains('\r') || text.replace("\r\n", "\n").contains('\r'));
    if out.len() > 80 {
        assert!(out.ends_with('\n') && !out.ends_with("\n\n"), "{out:?}");
        assert!(!out.starts_with(['\n', ' ']), "{out:?}");
    }
    let again = format(&after).unwrap();
    assert!(
        again == out,
        "not stable; input:\n{text}\n---- once\n{out}\n---- twice\n{again}"
    );
    Some(out)
}
