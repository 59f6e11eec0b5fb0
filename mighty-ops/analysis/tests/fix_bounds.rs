//! The fix engine on reports that make no sense: any code at any place of any text, with facts of another text.
//! It must never panic, and whatever it offers must apply.
#![allow(clippy::unwrap_used)]

#[path = "fixes/cases.rs"]
#[allow(dead_code)]
mod cases;
#[path = "fixes/effects.rs"]
mod effects;
#[path = "fixes/names.rs"]
mod names;
#[path = "fixes/ownership.rs"]
mod ownership;
#[path = "fixes/syntax.rs"]
mod syntax_band;
#[path = "fixes/types.rs"]
mod types;

use analysis::fix::{Fixer, apply};
use analysis::{Diagnostic, FileId, FixHint, Package, catalogue};
use proptest::prelude::*;
use syntax::TextRange;

fn texts() -> Vec<String> {
    let all = [
        syntax_band::cases(),
        names::cases(),
        types::cases(),
        ownership::cases(),
        effects::cases(),
    ];
    all.iter().flatten().map(cases::Case::text).collect()
}

fn boundary(text: &str, at: usize) -> u32 {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at as u32
}

fn hints(a: u32, b: u32) -> Vec<FixHint> {
    let (range, word) = (TextRange::new(a, b), || "I32".to_owned());
    vec![
        FixHint::None,
        FixHint::Rename {
            to: word(),
            distance: 1,
        },
        FixHint::Import { path: word() },
        FixHint::ExpectedFound {
            expected: "Str".into(),
            found: word(),
        },
        FixHint::MissingArms {
            patterns: vec![word()],
            insert_at: a,
        },
        FixHint::Delete { range },
        FixHint::Replace {
            range,
            text: word(),
        },
        FixHint::MakeMut { binding: range },
        FixHint::MissingFields {
            fields: vec![(word(), word())],
            insert_at: b,
        },
        FixHint::Arguments {
            expected: vec![word(), word()],
            found: 1,
            args: range,
        },
        FixHint::Annotate { at: a, ty: word() },
        FixHint::Question {
            ret: None,
            error: "Str".into(),
            ok: word(),
        },
        FixHint::CloneOrBorrow { range },
        FixHint::AddEffects {
            effects: vec!["fs".into()],
            clause: None,
            at: b,
        },
        FixHint::Declare {
            at: a,
            text: word(),
        },
        FixHint::Taint {
            statement: range,
            argument: range,
            sink: "fs.write".into(),
        },
        FixHint::Facts(vec![("expected", "3".into())]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn any_code_anywhere_gives_what_applies(
        which in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        junk in "[(){}\\[\\],;:=>&.\"'?!a-c0é\n ]{0,6}",
        (at, len) in (0usize..400, 0usize..40),
        far in any::<bool>(),
    ) {
        let texts = texts();
        let mut text = which.get(&texts).clone();
        let place = boundary(&text, cut.index(text.len() + 1)) as usize;
        text.insert_str(place, &junk);
        let start = boundary(&text, at % (text.len() + 1));
        let end = boundary(&text, start as usize + len);
        let package = Package::single("é b.mty", &text);
        let fixer = Fixer::new(&package);
        let shift = if far { 1_000_000 } else { 0 };
        for entry in catalogue() {
            for hint in hints(start + shift, end + shift) {
                let report = Diagnostic::error(
                    entry.number,
                    FileId(0),
                    TextRange::new(start, end),
                    "`Go` has the effect `net`",
                );
                let Some(fix) = fixer.fix(&report.hint(hint)) else { continue };
                prop_assert!(!fix.alternatives.is_empty());
                for alternative in &fix.alternatives {
                    let out = apply(&alternative.diff, &text);
                    prop_assert!(out.is_ok(), "{out:?}\n{text}\n{}", alternative.diff);
                    prop_assert!(alternative.confidence.value() >= 0.5);
                }
            }
        }
    }
}
