//! Generated programs, and programs with random trivia between their tokens.

use std::sync::OnceLock;

use proptest::prelude::*;

use crate::support::{cases, checked, programs};

#[test]
fn generated_programs() {
    for seed in 0..20 {
        assert!(checked(&corpus::program(400, seed)).is_some(), "{seed}");
    }
}

/// Texts of every construct, cut into tokens; trivia between them are replaced.
fn sources() -> &'static [Vec<(bool, String)>] {
    static SOURCES: OnceLock<Vec<Vec<(bool, String)>>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        cases()
            .into_iter()
            .map(|c| c.input)
            .chain(programs().into_iter().map(|(_, t)| t))
            .chain((0..4).map(|seed| corpus::program(80, seed)))
            .map(|text| {
                let p = syntax::parse(text.as_str());
                p.tree
                    .tokens()
                    .map(|t| (t.kind().is_trivia(), t.text().to_owned()))
                    .collect()
            })
            .collect()
    })
}

fn trivia() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just(" "),
        2 => Just("\n"),
        1 => Just("\n\n"),
        1 => Just("  // x  \n"),
        1 => Just(" /* y */ "),
        1 => Just("\n  // own\n"),
        1 => Just("\n/* z */\n\n"),
        1 => Just("\t/* m\n\n  m */"),
    ]
}

/// A name whose spelling means nothing to the parser.
fn is_plain_name(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "c",
        "component",
        "crate",
        "escalate",
        "in_allowlist",
        "init",
        "js",
        "msg",
        "proc",
        "strategy",
        "supervisor",
        "tool",
        "derive",
    ];
    let p = syntax::parse(text);
    let name = p.tree.tokens().next().map(|t| t.kind()) == Some(syntax::SyntaxKind::Ident);
    let version = text
        .strip_prefix('v')
        .is_some_and(|d| d.parse::<u32>().is_ok());
    name && text != "_" && !version && !WORDS.contains(&text)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Few changes, so that most of the texts still are programs.
    #[test]
    fn a_few_changes_of_trivia(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), trivia()), 1..8),
    ) {
        let mut tokens = which.get(sources()).clone();
        for (at, text) in changes {
            if !tokens.is_empty() {
                let i = at.index(tokens.len());
                if tokens[i].0 && text.contains('\n') == tokens[i].1.contains('\n') {
                    tokens[i].1 = text.to_owned();
                } else {
                    tokens.insert(i, (true, text.to_owned()));
                }
            }
        }
        let text: String = tokens.into_iter().map(|t| t.1).collect();
        checked(&text);
    }

    /// Any blank may become a line break where a line break stood, and the other way round.
    #[test]
    fn all_trivia_anew(
        which in any::<prop::sample::Index>(),
        fill in prop::collection::vec(trivia(), 64),
    ) {
        let tokens = which.get(sources());
        let mut text = String::new();
        for (i, (is_trivia, t)) in tokens.iter().enumerate() {
            let new = fill[i % fill.len()];
            if *is_trivia && !t.contains("//") && t.contains('\n') == new.contains('\n') {
                text.push_str(new);
            } else {
                text.push_str(t);
            }
        }
        checked(&text);
    }

    /// Names of any length, so that every construct breaks somewhere; some trivia anew as well.
    #[test]
    fn stretched_names(
        which in any::<prop::sample::Index>(),
        lengths in prop::collection::vec(0_usize..60, 16),
        one in 0_usize..40,
        extra in trivia(),
    ) {
        let tokens = which.get(sources());
        let mut text = String::new();
        for (i, (is_trivia, t)) in tokens.iter().enumerate() {
            text.push_str(t);
            if !is_trivia && is_plain_name(t) {
                let n = lengths[i % lengths.len()];
                text.push_str(&"_".repeat(n.saturating_sub(30)));
            }
            if *is_trivia && i % 20 == one && (!extra.contains('\n') || t.contains('\n')) {
                text.push_str(extra);
            }
        }
        checked(&text);
    }

    /// Words, brackets and operators in any order: no panic, and what parses is stable.
    #[test]
    fn any_text(text in "[a-cF(){}\\[\\];,.:=|&*+?!@#\"'/ \n-]{0,60}|(fn f\\(\\) \\{[a-c(){};,.|+*! \n-]{0,30}\\})") {
        checked(&text);
    }
}
