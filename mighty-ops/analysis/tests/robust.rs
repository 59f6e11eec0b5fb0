//! Mangled programs: the check must answer, with ranges that lie in the text, and always alike.
//! Must not assert which reports come.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use analysis::{Options, Package, check};
use syntax::SyntaxKind;

fn programs() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut dirs = vec![root.join("clean"), root.join("cases")];
    let mut found = Vec::new();
    while let Some(dir) = dirs.pop() {
        for e in fs::read_dir(dir).unwrap() {
            let path = e.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|e| e == "mty") {
                found.push((path.clone(), fs::read_to_string(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn answers(text: &str) -> usize {
    let package = Package::single("x.mty", text);
    let a = check(&package, &Options::default()).unwrap();
    let tree_text = package.files[0].parse.tree.text();
    for d in &a.diagnostics {
        assert!(
            tree_text
                .get(d.range.start as usize..d.range.end as usize)
                .is_some(),
            "{} at {:?} in {text}",
            d.code,
            d.range
        );
        assert!(
            !d.title.is_empty() && !d.title.contains('\n'),
            "{}: {:?}",
            d.code,
            d.title
        );
    }
    a.diagnostics.len()
}

/// A small generator of numbers; no crate needed.
fn next(seed: &mut u64) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 11) as usize
}

/// Swaps tokens of one kind: the syntax stays right, names and types do not.
#[test]
fn programs_with_swapped_tokens_are_answered() {
    let mut seed = 0x9E37_79B9_7F4A_7C15;
    let mut total = 0;
    for (_, text) in programs() {
        let parse = syntax::parse(text.as_str());
        let tokens: Vec<_> = parse.tree.tokens().collect();
        let swappable = |k: SyntaxKind| k == SyntaxKind::Ident || k.is_literal();
        let places: Vec<usize> = (0..tokens.len())
            .filter(|i| swappable(tokens[*i].kind()))
            .collect();
        for _ in 0..12 {
            if places.len() < 2 {
                break;
            }
            let (a, b) = (
                places[next(&mut seed) % places.len()],
                places[next(&mut seed) % places.len()],
            );
            let mangled: String = tokens
                .iter()
                .enumerate()
                .map(|(i, t)| if i == a { tokens[b].text() } else { t.text() })
                .collect();
            total += answers(&mangled);
        }
    }
    assert!(total > 100, "swaps give reports");
}

#[test]
fn programs_with_a_token_left_out_are_answered() {
    let mut seed = 0xD1B5_4A32_D192_ED03;
    for (_, text) in programs() {
        let parse = syntax::parse(text.as_str());
        let tokens: Vec<_> = parse.tree.tokens().collect();
        for _ in 0..8 {
            let out = next(&mut seed) % tokens.len().max(1);
            let mangled: String = tokens
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != out)
                .map(|(_, t)| t.text())
                .collect();
            answers(&mangled);
        }
    }
}

#[test]
fn two_checks_give_the_same_reports() {
    for (_, text) in programs() {
        let package = Package::single("x.mty", &text);
        let (a, b) = (
            check(&package, &Options::default()).unwrap(),
            check(&package, &Options::default()).unwrap(),
        );
        assert_eq!(a.diagnostics, b.diagnostics);
    }
}

#[test]
fn deep_and_long_programs_end() {
    let sum = format!("fn f(a: I32) -> I32 {{ a{} }}", " + a".repeat(3_000));
    answers(&sum);
    let longer = format!("fn f(a: I32) -> I32 {{ a{} }}", " + a".repeat(100_000));
    answers(&longer);
    let calls = format!("fn f(a: Str) -> Str {{ a{} }}", ".trim()".repeat(3_000));
    answers(&calls);
    let fields = format!("fn f(p: Page) {{ log(p{}) }}", ".x".repeat(3_000));
    answers(&fields);
    let ifs = format!(
        "fn f(n: I32) -> I32 {{ {} {{ 0 }} }}",
        "if n == 1 { 1 } else".repeat(2_000)
    );
    answers(&ifs);
    let blocks = format!("fn f() {{ {} {} }}", "{".repeat(200), "}".repeat(200));
    answers(&blocks);
}

/// Types that double with each step must neither be built nor walked in full.
#[test]
fn types_that_grow_without_bound_end() {
    let mut text = String::from("fn f() {\n  let x0 = (1, 2)\n");
    for i in 0..60 {
        text.push_str(&format!("  let x{} = (x{i}, x{i})\n", i + 1));
    }
    text.push_str("  log(x60)\n}\n");
    answers(&text);
    let mut text = String::from("fn f() {\n  let mut v0 = []\n");
    for i in 0..40 {
        text.push_str(&format!(
            "  let mut v{} = []\n  v{}.push((v{i}, v{i}))\n",
            i + 1,
            i + 1
        ));
    }
    text.push_str("  v0.push(1)\n}\n");
    answers(&text);
    answers("fn f() {\n  let mut v = []\n  v.push(v)\n  let g = |x| x(x)\n  g(g)\n}\n");
    answers(
        "struct S[T] { inner: Option[S[(T, T)]] }\nfn f(s: S[I32]) { match s { S { inner: Some(x) } => f(x), _ => { } } }\n",
    );
    answers(
        "type A = B\ntype B = A\nfn f(a: A) { }\nconst X: I32 = Y\nconst Y = X\nstruct R { r: R }\nenum E { V(E) }\n",
    );
}

/// Chains of items that refer to each other, written backwards.
#[test]
fn long_chains_of_items_end() {
    let mut text = String::new();
    for i in 0..3_000 {
        text.push_str(&format!(
            "type A{i} = A{}\nconst C{i}: I32 = C{}\nconst D{i} = D{}\n",
            i + 1,
            i + 1,
            i + 1
        ));
        text.push_str(&format!("fn f{i}(x) {{ f{}(x) }}\n", i + 1));
    }
    text.push_str(
        "type A3000 = I32\nconst C3000: I32 = 1\nconst D3000 = 1\nfn f3000(x) { x + 1 }\n",
    );
    text.push_str("fn main(){ f0(1) }\n");
    assert_eq!(answers(&text), 0);
}

/// Every shape of nesting, up to the limits: neither the small stack of a test's thread nor the large one of
/// deep trees may run out, in debug builds least of all.
#[test]
fn nesting_of_every_kind_fits_the_stack() {
    let shapes: [(&str, &str, &str); 14] = [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("{ ", "1", " }"),
        ("f(", "1", ")"),
        ("f(|x| ", "x", ")"),
        ("fn(x) { ", "1", " }"),
        ("if c { ", "1", " } else { 2 }"),
        ("match c { true => ", "1", ", _ => 2 }"),
        ("loop { break ", "1", " }"),
        ("-", "1", ""),
        ("&", "c", ""),
        ("format!(\"{}\", ", "1", ")"),
        ("unsafe { let y = ", "1", "; y }"),
        ("Some(", "1", ")"),
    ];
    for (open, core, close) in shapes {
        for n in [1, 5, 10, 15, 20, 25, 30, 40, 50, 60, 90, 120, 250, 255] {
            answers(&format!(
                "fn f(c) {{ let v = {}{core}{} }}",
                open.repeat(n),
                close.repeat(n)
            ));
        }
    }
    for n in [20, 40, 60, 80, 95, 1_000, 4_000] {
        answers(&format!("fn f(a) {{ a{} }}", ".m(1)".repeat(n)));
        answers(&format!("fn f(a) {{ a{} }}", "[0]".repeat(n)));
        answers(&format!("fn f(a) {{ a{} }}", "?".repeat(n)));
        answers(&format!("fn f(a) {{ {}a }}", "a = ".repeat(n)));
        answers(&format!("fn f(a) {{ a{} }}", " && a == a".repeat(n)));
        answers(&format!("fn f(a) {{ a{} }}", " as I32".repeat(n)));
        answers(&format!("fn f(a) {{ a{} }}", "!M()".repeat(n)));
        answers(&format!(
            "fn f(a: {}I32{}) {{ a }}",
            "Option[".repeat(n.min(250)),
            "]".repeat(n.min(250))
        ));
        answers(&format!(
            "fn f(a: {}I32) {{ match a {{ {}x => 1 }} }}",
            "&".repeat(n),
            "&".repeat(n)
        ));
        answers(&format!(
            "fn f(a) {{ match a {{ {}x{} => 1 }} }}",
            "Some(".repeat(n.min(250)),
            ")".repeat(n.min(250))
        ));
    }
}
