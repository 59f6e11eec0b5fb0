//! What reports of effects, capabilities and taint carry for fixes, and that the passes stay linear.
//! Must not hold cases of rules; those are files under `cases/<code>/`.
#![allow(clippy::unwrap_used)]

use analysis::{Diagnostic, FixHint, Options, Package, check};

fn run(text: &str) -> Vec<Diagnostic> {
    check(&Package::single("case.mty", text), &Options::default())
        .unwrap()
        .diagnostics
}

fn only(text: &str, code: u16) -> Diagnostic {
    let found: Vec<Diagnostic> = run(text)
        .into_iter()
        .filter(|d| d.code.number() == code)
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap()
}

#[test]
fn missing_effects_come_with_the_place_for_the_clause() {
    let text = "pub fn f(fs: Fs) -> Unit!IoErr { fs.read(\"a\") }\n";
    let d = only(text, 4001);
    assert!(d.title.contains("`fs`"), "{}", d.title);
    assert_eq!(d.notes, ["`fs` comes from `fs.read(\"a\")`"]);
    let FixHint::AddEffects {
        effects,
        clause: None,
        at,
    } = d.hint
    else {
        panic!("{:?}", d.hint)
    };
    assert_eq!(effects, ["fs"]);
    assert_eq!(&text[at as usize..], " { fs.read(\"a\") }\n");

    let text = "pub fn g(fs: Fs) -> Unit effect net { fs.read(\"a\") }\n";
    let FixHint::AddEffects {
        clause: Some(clause),
        ..
    } = only(text, 4001).hint
    else {
        panic!("no clause")
    };
    assert_eq!(
        &text[clause.start as usize..clause.end as usize],
        "effect net"
    );
}

#[test]
fn a_tainted_argument_comes_with_its_statement_and_sink() {
    let text = "fn f(fs: Fs) {\n  let w = std.env.var(\"W\")\n  log(\"é\"); std.fs.write(fs, \"a\", w)\n}\n";
    let d = only(text, 4099);
    assert_eq!(d.title, "tainted value flows to argument 1 of std.fs.write");
    let FixHint::Taint {
        statement,
        argument,
        sink,
    } = d.hint
    else {
        panic!("{:?}", d.hint)
    };
    assert_eq!(
        &text[statement.start as usize..statement.end as usize],
        "std.fs.write(fs, \"a\", w)"
    );
    assert_eq!(&text[argument.start as usize..argument.end as usize], "w");
    assert_eq!(argument, d.range);
    assert_eq!(sink, "std.fs.write");
}

#[test]
fn names_near_a_method_are_offered() {
    let d = only("fn g(disk: Fs) { disk.raed(\"a\") }\n", 4064);
    assert_eq!(
        d.hint,
        FixHint::Rename {
            to: "read".to_owned(),
            distance: 2
        }
    );
}

#[test]
fn a_broad_capability_comes_with_its_narrowing() {
    let text = "fn f(fs: Fs) { let cat = fn(d) { d.read(\"/srv/a\") }\n  cat(fs.path(\"/srv\")); cat(fs) }\n";
    let FixHint::Replace { text: new, .. } = only(text, 4010).hint else {
        panic!("no replacement")
    };
    assert_eq!(new, "fs.path(\"/srv\")");
}

/// Long chains of calls, many bodies and deep loops stay quick: a quadratic pass would need minutes here.
#[test]
fn large_programs_are_checked_in_linear_time() {
    use std::fmt::Write as _;
    let mut text = String::from("fn f0() -> Str { std.env.var(\"X\").unwrap_or(\"\") }\n");
    for i in 1..4_000 {
        let _ = writeln!(text, "fn f{i}() -> Str {{ f{}() }}", i - 1);
    }
    text.push_str("fn main() { std.fs.write(\"a\", g0()) }\n");
    for i in 0..2_000 {
        let _ = writeln!(text, "fn g{i}() -> Str {{ g{}() }}", i + 1);
    }
    text.push_str("fn g2000() -> Str { f3999() }\n");
    text.push_str("fn loops() {\n  let mut x = \"\"\n");
    for _ in 0..60 {
        text.push_str("  loop {\n");
    }
    text.push_str("  x = x + std.env.var(\"Y\").unwrap_or(\"\")\n  break\n");
    for _ in 0..60 {
        text.push_str("  }\n");
    }
    text.push_str("}\n");
    let start = std::time::Instant::now();
    let found = run(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(start.elapsed().as_secs() < 60);
}
