//! Diffs: what was diffed applies and gives the other text; any other diff applies as a whole or not at all,
//! without a panic. The fixes of a package are such diffs, of texts they fit.

use analysis::envelope::{Snippet, envelopes};
use analysis::fix::{LineEdit, Patch, apply, unified_diff};

use crate::input::Sizes;
use crate::mighty_check::package;
use crate::mighty_parse::text_of;

/// Stands between the parts of an input: two texts and a diff. Each may be left out.
pub const PART: &str = "//# ====\n";
/// Changed copies of a diff that are tried.
const CHANGED: u64 = 6;

/// Checks an input. Gives the codes for which there were fixes.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> Vec<u16> {
    let input = text_of(data);
    let mut parts = input.splitn(3, PART);
    let mut part = || parts.next().unwrap_or_default();
    let (old, new, diff) = (part(), part(), part());
    tried(diff, old);
    let made = unified_diff("x.mty", old, new);
    assert_eq!(made.is_none(), lf(old) == lf(new), "{old:?} {new:?}");
    if let Some(made) = made {
        // What is left of CRCRLF would be taken for a line end in its turn.
        if !old.contains("\r\r\n") && !new.contains("\r\r\n") {
            let out = apply(&made, old).unwrap_or_else(|e| panic!("{e}: {made:?} of {old:?}"));
            assert_eq!(lf(&out), lf(new), "{made:?} of {old:?}");
        }
        let mut sizes = Sizes::new(data, 1);
        for _ in 0..CHANGED {
            tried(&changed(&made, &mut sizes), old);
        }
    }
    fixes(old)
}

fn lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Applies any diff to any text. One that applies changes whole lines, from the first to the last.
fn tried(diff: &str, text: &str) {
    let out = apply(diff, text);
    assert_eq!(apply(diff, text), out, "the same, twice");
    let edits = Patch::parse(diff).and_then(|patch| patch.edits(text));
    let Ok(edits) = edits else {
        assert!(out.is_err());
        return;
    };
    assert_eq!(out.as_ref(), Ok(&LineEdit::perform(&edits, text)));
    let lines = text.split_inclusive('\n').count();
    let mut end = 0;
    for edit in &edits {
        assert!(edit.start >= end, "{edits:?} of {diff:?}");
        end = edit.start + edit.removed;
        assert!(end <= lines, "{edits:?} of {diff:?}");
        assert!(edit.removed > 0 || !edit.inserted.is_empty());
    }
}

/// A diff with a line left out, doubled or moved, or a character replaced.
fn changed(diff: &str, sizes: &mut Sizes) -> String {
    let mut lines: Vec<String> = diff.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..sizes.size(3) {
        let at = sizes.draw() as usize % lines.len().max(1);
        let to = sizes.draw() as usize % lines.len().max(1);
        match sizes.draw() % 5 {
            _ if lines.is_empty() => {}
            0 => drop(lines.remove(at)),
            1 => lines.insert(to, lines[at].clone()),
            2 => lines.swap(at, to),
            _ => {
                let chars: Vec<char> = lines[at].chars().collect();
                let place = sizes.draw() as usize % chars.len().max(1);
                let with = *b"0123456789-+ \\@,\r\nx"
                    .get(sizes.draw() as usize % 19)
                    .unwrap_or(&b'x');
                let keep = |(i, c): (usize, &char)| if i == place { char::from(with) } else { *c };
                lines[at] = chars.iter().enumerate().map(keep).collect();
            }
        }
    }
    lines.concat()
}

/// Every fix of a package changes the text it was made for.
fn fixes(written: &str) -> Vec<u16> {
    let (package, options) = package(written);
    let found = analysis::check(&package, &options).expect("the check ends");
    let told = envelopes(&package, &found.diagnostics);
    assert_eq!(told.len(), found.diagnostics.len());
    let mut codes = Vec::new();
    for (diagnostic, envelope) in found.diagnostics.iter().zip(&told) {
        let parse = &package.file(diagnostic.file).parse;
        let text = parse.tree.text();
        let span = &envelope.span;
        let source = Snippet::around(written, span);
        assert!(span.byte_start <= span.byte_end, "{span:?}");
        assert!(span.byte_end <= parse.file_offset(text.len() as u32) as usize);
        assert!((source.start_line..source.start_line + 3).contains(&span.line));
        assert!(source.lines.len() <= 3, "{source:?}");
        let Some(fix) = &envelope.fix else { continue };
        codes.push(diagnostic.code.number());
        assert!(!fix.alternatives.is_empty());
        assert!(
            fix.alternatives
                .is_sorted_by(|a, b| a.confidence >= b.confidence),
            "{fix:?}"
        );
        for one in &fix.alternatives {
            assert!(!one.label.is_empty() && !one.rationale.is_empty());
            if text.contains("\r\n") {
                continue;
            }
            let out = apply(&one.diff, text)
                .unwrap_or_else(|e| panic!("{e}: {one:?} of {diagnostic:?} in {text:?}"));
            assert_ne!(out, text, "{one:?}");
        }
    }
    codes
}
