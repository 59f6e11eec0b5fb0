//! Whatever the input: no panic, nothing lost, a sound tree, errors within the text.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use syntax::{MAX_DEPTH, parse};

fn check(text: &str) {
    let p = parse(text);
    let normal = text.replace("\r\n", "\n");
    assert_eq!(p.tree.text(), normal);
    let joined: String = p.tree.tokens().map(|t| t.text()).collect();
    assert_eq!(joined, normal);
    assert!(p.tree.max_depth() <= MAX_DEPTH);
    for n in p.tree.nodes().skip(1) {
        assert!(!n.range().is_empty());
        assert!(n.parent().unwrap().range().covers(n.range()));
        assert!(!n.first_token().unwrap().kind().is_trivia());
        assert!(!n.last_token().unwrap().kind().is_trivia());
        let mut end = n.range().start;
        for c in n.children() {
            assert!(c.range().start >= end);
            end = c.range().end;
        }
    }
    for e in &p.errors {
        assert!(e.range.start <= e.range.end && e.range.end as usize <= normal.len());
        assert!(normal.is_char_boundary(e.range.start as usize));
        assert!(normal.is_char_boundary(e.range.end as usize));
        assert_eq!(
            text.get(std::ops::Range::from(p.file_range(e.range)))
                .map(|s| s.replace("\r\n", "\n")),
            normal
                .get(std::ops::Range::from(e.range))
                .map(str::to_owned)
        );
    }
    assert!(p.errors.is_sorted_by_key(|e| e.range.start));
    // The same text gives the same tree and the same reports.
    let again = parse(text);
    assert_eq!(again.errors, p.errors);
    assert_eq!(again.tree.sketch(), p.tree.sketch());
}

/// Words that meet in programs and in broken ones.
const WORDS: &[&str] = &[
    "agent",
    "arena",
    "as",
    "async",
    "await",
    "backoff",
    "break",
    "budget",
    "cap",
    "child",
    "const",
    "continue",
    "derive",
    "detach",
    "dyn",
    "effect",
    "else",
    "enum",
    "export",
    "extern",
    "false",
    "fn",
    "for",
    "if",
    "impl",
    "import",
    "in",
    "join",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "on",
    "on_fail",
    "package",
    "protocol",
    "pub",
    "ref",
    "requires",
    "restart",
    "return",
    "run",
    "sandbox",
    "scope",
    "self",
    "spawn",
    "state",
    "struct",
    "sup",
    "task",
    "trait",
    "true",
    "type",
    "unsafe",
    "up_to",
    "use",
    "where",
    "while",
    "with",
    "yield",
    "supervisor",
    "proc",
    "msg",
    "strategy",
    "escalate",
    "init",
    "c",
    "js",
    "crate",
    "component",
    "v1",
    "in_allowlist",
    "x",
    "Foo",
    "_",
    "é",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "&",
    "|",
    "!",
    "=",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "&&",
    "||",
    "<<",
    ">>",
    "+=",
    "<<=",
    "..",
    "..=",
    ".",
    ",",
    ";",
    ":",
    "::",
    "->",
    "=>",
    "?",
    "@",
    "#",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "{",
    "}",
    "1",
    "0x1F",
    "7u8",
    "1.5",
    "2s",
    "64MiB",
    "7sec",
    "9_",
    "\"s\"",
    "\"open",
    "'c'",
    "'",
    "r#\"raw\"#",
    "b\"b\"",
    "html\"{x}\"",
    "html\"{",
    "// line\n",
    "/// doc\n",
    "/* block */",
    "/* open",
    "\n",
    "\n",
    "\n",
    "\r\n",
    "\r",
    "$",
    "\u{FEFF}",
    "!{",
    "x!(",
    "?M(",
    "#[",
    "\\",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(
        (prop::sample::select(WORDS), prop::bool::weighted(0.8)),
        0..120,
    )
    .prop_map(|words| {
        words
            .iter()
            .map(|(w, space)| {
                if *space {
                    format!("{w} ")
                } else {
                    (*w).to_owned()
                }
            })
            .collect()
    })
}

/// A generated program with some of its characters cut, doubled, swapped or replaced.
fn mutated() -> impl Strategy<Value = String> {
    let edit = (
        any::<prop::sample::Index>(),
        0..30usize,
        prop::sample::select(WORDS),
    );
    (1..40u64, prop::collection::vec(edit, 0..6)).prop_map(|(seed, edits)| {
        let mut chars: Vec<char> = corpus::program(60, seed).chars().collect();
        for (at, cut, word) in edits {
            let at = at.index(chars.len());
            let end = (at + cut).min(chars.len());
            if cut % 3 == 0 {
                chars.drain(at..end);
            } else if cut % 3 == 1 {
                chars.splice(at..at, word.chars());
            } else {
                let piece: Vec<char> = chars[at..end].to_vec();
                chars.splice(at..at, piece);
            }
        }
        chars.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in "\\PC*|(?s).{0,200}") {
        check(&text);
    }

    #[test]
    fn any_bytes_read_lossily(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn token_soups(text in soup()) {
        check(&text);
    }

    #[test]
    fn token_soups_in_a_body(text in soup()) {
        check(&format!("fn f() {{ {text} }}\nagent A {{ on M() -> {text} }}"));
    }

    #[test]
    fn mutated_programs(text in mutated()) {
        check(&text);
    }

    /// A clean program stays clean when comments and blanks grow between its tokens; line breaks only
    /// where one stood already, since elsewhere they may end a statement.
    #[test]
    fn trivia_changes_nothing(seed in 1..40u64, picks in prop::collection::vec(0..5usize, 40)) {
        let text = corpus::program(80, seed);
        let p = parse(text.as_str());
        let mut out = String::new();
        let mut picks = picks.into_iter().cycle();
        for t in p.tree.tokens() {
            out.push_str(match (t.kind(), picks.next()) {
                (syntax::SyntaxKind::Whitespace, Some(0)) => " /* a */ ",
                (syntax::SyntaxKind::Whitespace, Some(1)) => "\t ",
                (syntax::SyntaxKind::Newline, Some(2)) => "\n// b\n\n",
                (syntax::SyntaxKind::Newline, Some(3)) => "\n /* c\n */ ",
                _ => t.text(),
            });
        }
        let q = parse(out.as_str());
        prop_assert!(q.errors.is_empty(), "{:?}\n{out}", q.errors);
        prop_assert_eq!(p.tree.sketch(), q.tree.sketch());
    }
}
