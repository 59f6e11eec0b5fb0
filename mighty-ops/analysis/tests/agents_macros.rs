//! Facts for fixes, tried on the case programs of macros, attributes, agents and protocols; and depth.
//! Must not judge reports; `cases.rs` does.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use analysis::{Diagnostic, FixHint, Options, Package, check};

const CODES: &[u16] = &[
    20, 1003, 1004, 2026, 4030, 4031, 4032, 4033, 6001, 6002, 6003, 6004, 6005, 6006, 6008, 6009,
    6010, 6011, 6012, 6013, 6014, 6015, 6016, 6017, 6018, 6019, 6020,
];

fn programs(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "mty"))
        .collect();
    found.sort();
    found
}

fn tests_dir(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

/// What a plain reading of the facts for a fix makes of a text.
fn mended(text: &str, d: &Diagnostic) -> Option<String> {
    let cut = |from: u32, to: u32, by: &str| {
        Some(format!(
            "{}{by}{}",
            &text[..from as usize],
            &text[to as usize..]
        ))
    };
    match &d.hint {
        FixHint::Rename { to, .. } => cut(d.range.start, d.range.end, to),
        FixHint::Replace { range, text } => cut(range.start, range.end, text),
        FixHint::Delete { range } => cut(range.start, range.end, ""),
        FixHint::Insert { at, text } | FixHint::Declare { at, text } => cut(*at, *at, text),
        FixHint::Annotate { at, ty } => cut(*at, *at, &format!(": {ty}")),
        FixHint::ExpectedFound { expected, .. } => cut(d.range.start, d.range.end, expected),
        _ => None,
    }
}

/// Every report of the codes below carries facts that mend it without doing harm.
#[test]
fn facts_for_fixes_remove_their_report() {
    let mut seen = BTreeSet::new();
    let mendable = [1003, 1004, 4030, 4031, 4032, 4033, 6013, 6016, 6017];
    for code in CODES {
        for path in programs(&tests_dir("cases").join(format!("MT{code:04}"))) {
            let text = fs::read_to_string(&path).unwrap();
            if text.contains("//# module") {
                continue;
            }
            let of = |text: &str| {
                let package = Package::single("t.mty", text);
                assert!(
                    !package.files[0].parse.has_hard_error(),
                    "{}\n{text}",
                    path.display()
                );
                check(&package, &Options::default()).unwrap().diagnostics
            };
            let before = of(&text);
            for d in &before {
                let Some(new) = mended(&text, d) else {
                    let open = mendable.contains(&d.code.number()) && d.hint == FixHint::None;
                    // Only names far from every known one have nothing to offer.
                    assert!(
                        !open || d.code.number() == 1003,
                        "{}: {}",
                        path.display(),
                        d.code
                    );
                    continue;
                };
                seen.insert(d.code.number());
                let count = |all: &[Diagnostic]| all.iter().filter(|x| x.code == d.code).count();
                let after = of(&new);
                assert!(
                    count(&after) < count(&before),
                    "{}: {}\n{new}",
                    path.display(),
                    d.code
                );
                assert!(
                    after.len() < before.len(),
                    "{}: {}\n{new}\n{after:#?}",
                    path.display(),
                    d.code
                );
            }
        }
    }
    for code in mendable.iter().chain(&[2026, 6001, 6009, 6010]) {
        assert!(seen.contains(code), "no case of MT{code:04} was mended");
    }
}

/// Depth that is hidden in raw arguments or made by templates does not reach the stack of a test's thread.
#[test]
fn deep_arguments_and_templates_are_survived() {
    let programs = [
        format!("fn main() {{ assert!({} > 0) }}", ["1"; 4000].join("+")),
        format!(
            "fn main() {{ {}1{} }}",
            "debug!(".repeat(230),
            ")".repeat(230)
        ),
        format!(
            "fn main() {{ {}1{} }}",
            "debug!(".repeat(20),
            format!("{})", "+1".repeat(90)).repeat(20)
        ),
        format!(
            "macro sum(v) => {{ {} }}\nfn main() {{ let x = sum!(1) }}",
            ["v"; 3000].join("+")
        ),
        format!(
            "macro id(v) => {{ v }}\nfn main() {{ let x = {}1{} }}",
            "id!(".repeat(30),
            ")".repeat(30)
        ),
        format!(
            "macro id(v) => {{ v }}\nfn main() {{ let x = id!({}) }}",
            ["1"; 3000].join("-")
        ),
    ];
    for text in &programs {
        let package = Package::single("t.mty", text);
        let found = check(&package, &Options::default()).unwrap().diagnostics;
        assert_eq!(found, [], "{}", &text[..60]);
    }
}
