//! The canonical text of a Mighty text: the same words and comments, no new report, stable, with LF and one
//! final line feed; refused only where the parser says that the text is broken.

use syntax::SyntaxKind::{Attr, TokenTree};
use syntax::SyntaxKind::{BlockComment, ByteStr, Comma, HtmlStr, RawStr, Semi, Str};
use syntax::format::{Refused, format};
use syntax::{Parse, Tree, parse, parse_interface};

use crate::mighty_parse::text_of;

/// Checks an input. Says whether it was formatted.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> bool {
    let text = text_of(data);
    let before = read(&text);
    let out = match format(&before) {
        Ok(out) => out,
        Err(Refused::SyntaxErrors) => {
            assert!(before.has_hard_error(), "only what is broken is refused");
            return false;
        }
        Err(Refused::Unfaithful) => panic!("not the same program: {text:?}"),
    };
    assert!(!before.has_hard_error(), "what is broken is refused");
    let after = read(&out);
    let codes = |p: &Parse| p.errors.iter().map(|e| e.code).collect::<Vec<_>>();
    assert_eq!(codes(&after), codes(&before), "{text:?}\n{out:?}");
    assert_eq!(words(&after.tree), words(&before.tree), "{text:?}");
    assert_eq!(comments(&after.tree), comments(&before.tree), "{text:?}");
    // A CR that ends a line of a copied text is there twice, so that reading leaves one.
    assert_eq!(
        out.matches("\r\n").count(),
        out.matches("\r\r\n").count(),
        "{out:?}"
    );
    blanks(&after);
    let again = format(&after);
    assert_eq!(again.as_ref(), Ok(&out), "not stable: {text:?}");
    true
}

/// As a source, or as an interface if only that is none.
fn read(text: &str) -> Parse {
    let found = parse(text);
    if found.has_hard_error() {
        parse_interface(text)
    } else {
        found
    }
}

/// Words without the separators that may change.
fn words(tree: &Tree) -> Vec<&str> {
    tree.tokens()
        .filter(|t| !t.kind().is_trivia() && !matches!(t.kind(), Comma | Semi))
        .map(|t| t.text())
        .collect()
}

/// Comments in order, those of one line without trailing blanks.
fn comments(tree: &Tree) -> Vec<&str> {
    tree.tokens()
        .filter(|t| t.kind().is_comment())
        .map(|t| match t.kind() {
            BlockComment => t.text(),
            _ => t.text().trim_end_matches([' ', '\t', '\r']),
        })
        .collect()
}

/// One final line feed, none in front, no blank at the end of a line but inside what is copied.
fn blanks(after: &Parse) {
    let out = after.tree.text();
    assert!(out.is_empty() || out.ends_with('\n'), "{out:?}");
    assert!(!out.starts_with(['\n', ' ', '\t']), "{out:?}");
    assert!(!out.ends_with("\n\n"), "{out:?}");
    let copied: Vec<_> = after
        .tree
        .nodes()
        .filter(|n| matches!(n.kind(), TokenTree | Attr))
        .map(|n| n.range())
        .collect();
    for (at, _) in out.match_indices('\n') {
        if !out[..at].ends_with([' ', '\t']) {
            continue;
        }
        let at = at as u32 - 1;
        let opaque = after
            .tree
            .token_at(at)
            .is_some_and(|t| matches!(t.kind(), Str | RawStr | ByteStr | HtmlStr | BlockComment));
        assert!(
            opaque || copied.iter().any(|r| r.contains(at)),
            "a blank ends a line at {at}: {out:?}"
        );
    }
}
