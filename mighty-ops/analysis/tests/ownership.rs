//! The borrow checker as a whole: options, hints, bounds of work, and generated programs.
//! Single rules are in tests/cases/30*.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::time::Duration;

use analysis::{Diagnostic, FixHint, Options, Package, check};
use proptest::prelude::*;

/// The processor time of this process so far: what a busy machine does to the clock is no matter of a bound on work.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn reports_with(text: &str, options: &Options) -> Vec<Diagnostic> {
    check(&Package::single("main.mty", text), options)
        .unwrap()
        .diagnostics
}

fn reports(text: &str) -> Vec<Diagnostic> {
    reports_with(text, &Options::default())
}

fn codes(text: &str) -> Vec<u16> {
    reports(text).iter().map(|d| d.code.number()).collect()
}

const HEAD: &str = "struct Mix { lo: String, hi: String }
fn eat(s: String) { log(s) }
fn look(s: &String) { log(s) }
fn poke(s: &mut String) { s.push_str(\"!\") }
";

#[test]
fn the_strict_option_moves_the_whole_root() {
    let text = format!("{HEAD}fn f(m: Mix) {{ eat(m.lo)\n eat(m.hi) }}\n");
    assert_eq!(codes(&text), Vec::<u16>::new());
    let options = Options {
        whole_root_moves: true,
        ..Options::default()
    };
    let strict = reports_with(&text, &options);
    assert_eq!(strict.len(), 1);
    assert_eq!(strict[0].code.number(), 3001);
}

fn slice(text: &str, range: syntax::TextRange) -> &str {
    &text[range.start as usize..range.end as usize]
}

#[test]
fn hints_point_at_what_a_fix_changes() {
    let text = format!("{HEAD}fn f() {{ let a = String(\"x\")\n let b = a\n log(b)\n log(a) }}\n");
    match &reports(&text)[0].hint {
        FixHint::CloneOrBorrow { range } => {
            assert_eq!(slice(&text, *range), "a");
            assert!(text[..range.start as usize].ends_with("let b = "));
        }
        other => panic!("{other:?}"),
    }
    let text = "fn f() { let num = 1\n num = 2\n log(num) }\n";
    match &reports(text)[0].hint {
        FixHint::MakeMut { binding } => assert_eq!(slice(text, *binding), "num"),
        other => panic!("{other:?}"),
    }
    let text = "fn f() -> I32 { let n: I32\n n }\n";
    match &reports(text)[0].hint {
        hint @ FixHint::Insert { .. } => {
            let fixed = apply(text, hint).unwrap();
            assert_eq!(codes(&fixed), Vec::<u16>::new());
        }
        other => panic!("{other:?}"),
    }
    let text = "fn f(r: &String) -> String { *r }\n";
    match &reports(text)[0].hint {
        FixHint::CloneOrBorrow { range } => assert_eq!(slice(text, *range), "*r"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_type_without_clone_gets_no_clone_hint() {
    let text =
        format!("{HEAD}fn take(m: Mix) {{ log(m.lo) }}\nfn f(m: Mix) {{ take(m)\n log(m.lo) }}\n");
    let found = reports(&text);
    assert_eq!(found[0].code.number(), 3001);
    assert_eq!(found[0].hint, FixHint::None);
    let with_clone = format!(
        "{text}impl Mix {{ fn clone(self: &Self) -> Mix {{ Mix {{ lo: self.lo, hi: self.hi }} }} }}\n"
    );
    assert!(matches!(
        reports(&with_clone)[0].hint,
        FixHint::CloneOrBorrow { .. }
    ));
}

#[test]
fn notes_name_the_move_and_the_holder() {
    let text = format!("{HEAD}fn f() {{ let a = String(\"x\")\n eat(a)\n log(a) }}\n");
    assert!(reports(&text)[0].notes[0].contains("`eat(a)`"));
    let text = format!(
        "{HEAD}fn f() {{ let mut m = String(\"x\")\n let r = &m\n poke(&mut m)\n log(r) }}\n"
    );
    let notes = &reports(&text)[0].notes;
    assert!(notes[0].contains("`r`") && notes[0].contains("`&m`"));
}

#[test]
fn the_checker_keeps_silent_beside_other_errors() {
    let text = format!(
        "{HEAD}fn f() {{ let a = String(\"x\")\n eat(a)\n eat(a)\n let n: I32 = \"t\" }}\n"
    );
    assert_eq!(codes(&text), vec![2001]);
}

#[test]
fn deep_nests_of_loops_take_linear_time() {
    let depth = 60;
    let mut text =
        format!("{HEAD}fn f(c: Bool) {{\n let s = String(\"x\")\n let mut m = String(\"m\")\n");
    for i in 0..depth {
        let _ = writeln!(
            text,
            "let mut v{i} = String(\"v\")\nwhile c {{ let r{i} = &v{i}\n log(r{i})"
        );
    }
    text.push_str("poke(&mut m)\n");
    for i in (0..depth).rev() {
        let _ = writeln!(
            text,
            "poke(&mut v{i})\n eat(v{i})\n v{i} = String(\"w\") }}"
        );
    }
    text.push_str("eat(s)\n}\n");
    let start = processor_time();
    assert_eq!(codes(&text), Vec::<u16>::new());
    assert!(processor_time() - start < Duration::from_secs(20));
}

#[test]
fn long_bodies_with_many_branches_take_linear_time() {
    let mut text = format!("{HEAD}fn f(c: Bool) {{\n");
    for i in 0..4_000 {
        let _ = writeln!(
            text,
            "let a{i} = String(\"x\")\nlet r{i} = &a{i}\nif c {{ log(r{i}) }}\neat(a{i})"
        );
    }
    text.push_str("}\n");
    let start = processor_time();
    assert_eq!(codes(&text), Vec::<u16>::new());
    assert!(processor_time() - start < Duration::from_secs(20));
}

#[test]
fn bodies_with_huge_states_are_given_up_in_time() {
    let mut text = format!("{HEAD}fn f(c: Bool) {{\n");
    for i in 0..6_000 {
        let _ = writeln!(text, "let a{i} = String(\"x\")\nif c {{ eat(a{i}) }}");
    }
    text.push_str("}\n");
    let start = processor_time();
    assert_eq!(codes(&text), Vec::<u16>::new());
    assert!(processor_time() - start < Duration::from_secs(60));
}

#[test]
fn the_deepest_trees_the_parser_lets_through_are_walked() {
    let shapes: [(&str, &str, &str); 6] = [
        ("{ ", "eat(s.clone())", " }"),
        ("id(", "s", ")"),
        ("if c { ", "eat(s.clone())", " }"),
        ("while c { ", "look(&s)", " }"),
        ("(1, ", "s", ")"),
        ("match 1 { _ => ", "eat(s.clone())", " }"),
    ];
    for (open, inner, close) in shapes {
        for n in [50, 120, 250] {
            let text = format!(
                "{HEAD}fn id(s: String) -> String {{ s }}\nfn f(c: Bool, s: String) {{\n{}{inner}{}\n}}\n",
                open.repeat(n),
                close.repeat(n)
            );
            let found = codes(&text);
            assert!(found.iter().all(|c| *c == 30), "{open} {n}: {found:?}");
        }
    }
    for n in [100, 2_000] {
        let chain = format!("{HEAD}fn f(s: Str) {{ log(s{}) }}\n", ".trim()".repeat(n));
        assert!(codes(&chain).iter().all(|c| *c == 30));
        let sum = format!("{HEAD}fn f(s: Str) {{ log(s{}) }}\n", " + s".repeat(n));
        assert!(codes(&sum).iter().all(|c| *c == 30));
        let stars = format!(
            "{HEAD}fn f(s: Str) {{ let n = {}1\n log(n) }}\n",
            "&".repeat(n.min(250))
        );
        codes(&stars);
    }
}

/// The text after the change a hint stands for.
fn apply(text: &str, hint: &FixHint) -> Option<String> {
    let replace = |range: &syntax::TextRange, by: &str| {
        let (start, end) = (range.start as usize, range.end as usize);
        format!("{}{by}{}", &text[..start], &text[end..])
    };
    match hint {
        FixHint::CloneOrBorrow { range } => {
            let old = slice(text, *range);
            Some(if old.starts_with('*') {
                replace(range, &format!("({old}).clone()"))
            } else {
                replace(range, &format!("{old}.clone()"))
            })
        }
        FixHint::MakeMut { binding } => {
            Some(replace(binding, &format!("mut {}", slice(text, *binding))))
        }
        FixHint::Replace { range, text } => Some(replace(range, text)),
        FixHint::Insert { at, text } => Some(replace(&syntax::TextRange::new(*at, *at), text)),
        _ => None,
    }
}

#[test]
fn every_hint_of_the_failing_cases_removes_its_report() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut tried = 0;
    let mut faults = String::new();
    for code in (3001..=3011).chain(3013..=3015) {
        for entry in std::fs::read_dir(root.join(code.to_string())).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let before = reports(&text);
            for d in &before {
                let Some(fixed) = apply(&text, &d.hint) else {
                    continue;
                };
                tried += 1;
                let after = reports(&fixed);
                // One binding made `mut` may mend several places at once.
                let same = |r: &[Diagnostic]| r.iter().filter(|x| x.code == d.code).count();
                if same(&after) >= same(&before) || after.len() > before.len() {
                    let _ = writeln!(
                        faults,
                        "{}: {} at {:?}: {:?}",
                        path.display(),
                        d.code,
                        slice(&text, d.range),
                        after.iter().map(|d| &d.title).collect::<Vec<_>>()
                    );
                }
            }
        }
    }
    assert!(tried > 60, "only {tried}");
    assert!(faults.is_empty(), "\n{faults}");
}

/// A statement over five owned texts `a0`…`a4` and three references `r0`…`r2`.
fn statement() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (0..5u8).prop_map(|i| format!("eat(a{i})")),
        (0..5u8).prop_map(|i| format!("a{i} = String(\"n\")")),
        (0..5u8).prop_map(|i| format!("look(&a{i})")),
        (0..5u8).prop_map(|i| format!("poke(&mut a{i})")),
        (0..5u8, 0..3u8).prop_map(|(i, r)| format!("r{r} = &a{i}")),
        (0..3u8).prop_map(|r| format!("log(r{r})")),
        (0..5u8).prop_map(|i| format!("let w = &mut a{i}; poke(w)")),
        (0..5u8).prop_map(|i| format!("let mut a{i} = String(\"s\"); eat(a{i})")),
        (0..5u8, 0..5u8).prop_map(|(i, j)| format!("both(&a{i}, &mut a{j})")),
        (0..5u8).prop_map(|i| format!("xs.for_each(|k| {{ eat(a{i}) }})")),
        Just("return".to_owned()),
        Just("if c { return }".to_owned()),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let block =
            prop::collection::vec(inner, 0..6).prop_map(|v| format!("{{\n{}\n}}", v.join("\n")));
        prop_oneof![
            block.clone(),
            block.clone().prop_map(|b| format!("if c {b}")),
            (block.clone(), block.clone()).prop_map(|(a, b)| format!("if c {a} else {b}")),
            block.clone().prop_map(|b| format!("while c {b}")),
            block.clone().prop_map(|b| format!("for i in 0..3 {b}")),
            (block.clone(), block.clone())
                .prop_map(|(a, b)| format!("match n {{ 0 => {a}, _ => {b} }}")),
            block.prop_map(|b| format!("loop {{ if c {{ break }}\n{b} }}")),
        ]
    })
}

fn program(body: &[String]) -> String {
    let mut text = format!("{HEAD}fn both(a: &String, b: &mut String) {{ log(a) }}\n");
    text.push_str("fn f(c: Bool, n: I32, xs: Vec[I32]) {\n let z = String(\"z\")\n");
    for i in 0..5 {
        let _ = writeln!(text, "let mut a{i} = String(\"a\")");
    }
    for i in 0..3 {
        let _ = writeln!(text, "let mut r{i} = &z");
    }
    text.push_str(&body.join("\n"));
    text.push_str("\n}\n");
    text
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Any such program is checked, twice with the same outcome, and gets ownership reports only.
    #[test]
    fn generated_bodies_are_checked(body in prop::collection::vec(statement(), 1..8)) {
        let text = program(&body);
        let first = reports(&text);
        prop_assert_eq!(&first, &reports(&text));
        for d in &first {
            let n = d.code.number();
            prop_assert!((3001..=3015).contains(&n), "MT{} in\n{}", n, text);
        }
    }

    /// Without moves and `&mut` nothing can be wrong with values that all exist.
    #[test]
    fn reading_is_never_wrong(body in prop::collection::vec(statement(), 1..8)) {
        let text = program(&body).replace("eat(a", "log(a").replace("&mut a", "&a");
        let text = text.replace("poke(&a", "look(&a").replace("both(a: &String, b: &mut String)", "both(a: &String, b: &String)");
        let text = text.replace("; poke(w)", "; look(w)");
        for d in reports(&text) {
            // References to locals of inner blocks may still dangle.
            prop_assert_eq!(d.code.number(), 3007, "{}\n{}", d.title, text);
        }
    }
}
