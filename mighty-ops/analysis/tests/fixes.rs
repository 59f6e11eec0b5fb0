//! Every fix of the catalogue, as data: a program, the code it fires, and the program after each alternative.
//! Cases stand in `fixes/`; nothing here knows how a fix is made.
//!
//! Each alternative must apply with our applier and with the system's `patch`, must add no syntax error, and
//! must take its diagnostic away. A code whose rule does not fire yet is listed in [`NOT_YET`]; its fix is
//! tested with a report made by hand, and the list must shrink as soon as the rule fires.
#![allow(clippy::unwrap_used)]

#[path = "fixes/cases.rs"]
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

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use analysis::fix::{Fix, Fixer, apply};
use analysis::{Analysis, Diagnostic, FileId, Options, Package, check};
use cases::Case;

/// Codes whose rule does not fire yet. Take a code out once it does.
const NOT_YET: &[u16] = &[];

/// Codes that the catalogue folds into others: their fixes are only ever asked for by hand.
const FOLDED: &[u16] = &[4010, 4021];

/// Every code that the catalogue gives a fix.
const FIXABLE: &[u16] = &[
    1, 2, 3, 4, 6, 10, 12, 20, 21, 1001, 1002, 1003, 1004, 1090, 2001, 2002, 2003, 2004, 2005,
    2006, 2007, 2008, 2009, 2010, 2011, 2012, 2013, 2014, 2015, 2016, 2017, 2018, 2019, 2020, 2021,
    2022, 2023, 2024, 2025, 2026, 2027, 2028, 2029, 2030, 3001, 3002, 3003, 3004, 3005, 3006, 3007,
    3008, 3009, 3010, 3011, 3013, 3014, 3015, 4001, 4010, 4020, 4021, 4022, 4030, 4031, 4032, 4033,
    4040, 4041, 4050, 4055, 4056, 4057, 4059, 4060, 4061, 4062, 4063, 4064, 4090, 4099, 6001, 6002,
    6009, 6010, 6013, 6016, 6017,
];

fn all() -> Vec<Case> {
    let mut cases = syntax_band::cases();
    cases.extend(names::cases());
    cases.extend(types::cases());
    cases.extend(ownership::cases());
    cases.extend(effects::cases());
    cases
}

fn analyse(text: &str) -> (Package, Analysis) {
    let mut package = Package::single("src/main.mty", text);
    package.name = Some("demo".to_owned());
    let analysis = check(&package, &Options::default()).unwrap();
    (package, analysis)
}

fn count(text: &str, code: u16) -> usize {
    let (_, analysis) = analyse(text);
    let of_code = |d: &&Diagnostic| d.code.number() == code;
    analysis.diagnostics.iter().filter(of_code).count()
}

fn hard_errors(text: &str) -> usize {
    syntax::parse(text)
        .errors
        .iter()
        .filter(|e| e.is_hard())
        .count()
}

/// The system's `patch`, or `None` where there is none.
fn patched(diff: &str, text: &str) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("src")).unwrap();
    let file = dir.path().join("src/main.mty");
    std::fs::write(&file, text).unwrap();
    std::fs::write(dir.path().join("d.diff"), diff).unwrap();
    let run = Command::new("patch")
        .args(["-p1", "--fuzz=0", "-s", "-i", "d.diff"])
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .output()
        .ok()?;
    assert!(
        run.status.success(),
        "patch refuses\n{diff}\n{}",
        String::from_utf8_lossy(&run.stdout)
    );
    Some(std::fs::read_to_string(file).unwrap())
}

#[test]
fn fixes_are_those_of_the_cases() {
    let mut faults: Vec<String> = Vec::new();
    for case in all() {
        let text = case.text();
        let (package, analysis) = analyse(&text);
        let real = fires(&analysis, case.code);
        let diagnostic = real.cloned().unwrap_or_else(|| {
            let title = case.title.unwrap_or("a report made by hand");
            Diagnostic::error(case.code, FileId(0), case.range(), title).hint(case.hint(&text))
        });
        let fix = Fixer::new(&package).fix(&diagnostic);
        if let Err(fault) = compare(&case, &text, fix.as_ref(), real.is_some()) {
            let how = if real.is_some() { "fires" } else { "by hand" };
            let (range, hint) = (diagnostic.range, &diagnostic.hint);
            faults.push(format!(
                "MT{:04} ({how}) {range:?} {hint:?}\n{text}\n{fault}",
                case.code
            ));
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults\n\n{}",
        faults.len(),
        faults.join("\n----\n")
    );
}

fn fires(analysis: &Analysis, code: u16) -> Option<&Diagnostic> {
    analysis
        .diagnostics
        .iter()
        .find(|d| d.code.number() == code)
}

#[test]
fn rules_fire_on_their_cases() {
    let mut firing: BTreeSet<u16> = BTreeSet::new();
    let mut dead: Vec<String> = Vec::new();
    let expected_silent = |code: u16| NOT_YET.contains(&code) || FOLDED.contains(&code);
    for case in all() {
        let text = case.text();
        let (_, analysis) = analyse(&text);
        if fires(&analysis, case.code).is_some() {
            firing.insert(case.code);
        } else {
            dead.extend(
                (!expected_silent(case.code))
                    .then(|| format!("MT{:04} does not fire on\n{text}", case.code)),
            );
        }
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
    let stale: Vec<u16> = firing.into_iter().filter(|c| expected_silent(*c)).collect();
    assert!(
        stale.is_empty(),
        "these fire now, take them out of NOT_YET: {stale:?}"
    );
}

fn compare(case: &Case, text: &str, fix: Option<&Fix>, fires: bool) -> Result<(), String> {
    let Some(fix) = fix else {
        return if case.fixed.is_empty() {
            Ok(())
        } else {
            Err("no fix".into())
        };
    };
    let mut found = Vec::new();
    for alternative in &fix.alternatives {
        let out =
            apply(&alternative.diff, text).map_err(|e| format!("{e}\n{}", alternative.diff))?;
        if let Some(other) = patched(&alternative.diff, text)
            && other != out
        {
            return Err(format!("patch makes\n{other}"));
        }
        if hard_errors(&out) > hard_errors(text) {
            return Err(format!("adds a syntax error\n{out}"));
        }
        if fires && count(&out, case.code) >= count(text, case.code) {
            return Err(format!(
                "`{}` leaves the diagnostic\n{out}",
                alternative.label
            ));
        }
        found.push((alternative.confidence.value(), out));
    }
    let wanted: Vec<(f64, String)> = case
        .fixed
        .iter()
        .map(|(c, t)| (*c, (*t).to_owned()))
        .collect();
    if found != wanted {
        let show = |all: &[(f64, String)]| {
            all.iter()
                .map(|(c, t)| format!("[{c}]\n{t}"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        return Err(format!(
            "found\n{}\nwanted\n{}",
            show(&found),
            show(&wanted)
        ));
    }
    if fix.kind.word() != case.kind {
        return Err(format!("kind {} instead of {}", fix.kind.word(), case.kind));
    }
    let best = found.iter().map(|(c, _)| *c).fold(0.0, f64::max);
    if fix.confidence().value() != best {
        return Err("the fix is not as confident as its best alternative".into());
    }
    Ok(())
}

#[test]
fn every_fixable_code_has_cases() {
    let covered: BTreeSet<u16> = all().iter().map(|c| c.code).collect();
    let wanted: BTreeSet<u16> = FIXABLE.iter().copied().collect();
    let missing: Vec<&u16> = wanted.difference(&covered).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
    let unknown: Vec<&u16> = covered.difference(&wanted).collect();
    assert!(
        unknown.is_empty(),
        "the catalogue gives no fix for {unknown:?}"
    );
}
