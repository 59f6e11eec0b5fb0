//! Expansion seen from outside: what texts become, what is reported and where.
//! Hygiene and bounds have files of their own.
#![allow(clippy::unwrap_used)]

use syntax::TextRange;

mod bounds;
mod hygiene;

use super::{Expanded, expand};
use crate::diagnostic::{Diagnostic, FixHint, Sink};
use crate::package::{Package, SourceFile};

fn run(text: &str) -> (Expanded, Vec<Diagnostic>) {
    let package = Package::single("t.mty", text);
    assert!(
        !package.files[0].parse.has_hard_error(),
        "{:?}",
        package.files[0].parse.errors
    );
    let mut sink = Sink::default();
    let mut files = expand(&package, &mut sink);
    (files.remove(0), sink.into_sorted())
}

/// The expanded text from `fn f` on, blanks squeezed.
fn text(source: &str) -> String {
    let (file, reports) = run(source);
    assert_eq!(reports, [], "{source}");
    assert!(!file.parse.has_hard_error(), "{}", file.parse.tree.text());
    let all = file.parse.tree.text();
    all[all.find("fn f").unwrap()..]
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Codes with the written text they point at.
fn reports(source: &str) -> Vec<(u16, String)> {
    let (file, reports) = run(source);
    assert!(!file.parse.has_hard_error(), "{}", file.parse.tree.text());
    for p in &file.poison {
        assert_eq!(&file.parse.tree.text()[std::ops::Range::from(*p)], "0");
    }
    reports
        .into_iter()
        .map(|d| {
            (
                d.code.number(),
                source[std::ops::Range::from(d.range)].to_owned(),
            )
        })
        .collect()
}

fn one(code: u16, at: &str) -> Vec<(u16, String)> {
    vec![(code, at.to_owned())]
}

#[test]
fn a_file_without_macros_is_not_touched() {
    let package = Package::single("t.mty", "fn f() { g(1) }  fn g(n: I32) { }");
    let files = expand(&package, &mut Sink::default());
    assert!(std::sync::Arc::ptr_eq(
        &files[0].parse,
        &package.files[0].parse
    ));
    // Calls of standard macros stay, too.
    let package = Package::single("t.mty", "fn f() { assert!(true); log(format!(\"{}\", 1)) }");
    let files = expand(&package, &mut Sink::default());
    assert!(std::sync::Arc::ptr_eq(
        &files[0].parse,
        &package.files[0].parse
    ));
}

#[test]
fn parameters_become_arguments_in_parentheses() {
    assert_eq!(
        text("macro twice(v) => { v + v }\nfn f() { log(twice!(1 * 2).to_str()) }"),
        "fn f() { log(({ (1 * 2) + (1 * 2) }).to_str()) }"
    );
    assert_eq!(
        text("macro pick(a, b) { if a { b } else { 0 } }\nfn f() { pick!(g(1, 2), [3, 4]) - 1 }"),
        "fn f() { ({ if (g(1, 2)) { ([3, 4]) } else { 0 } }) - 1 }"
    );
    assert_eq!(
        text("macro k() => { 7 }\nfn f() -> I32 { k!() + k!( ) }"),
        "fn f() -> I32 { ({ 7 }) + ({ 7 }) }"
    );
    assert_eq!(
        text("macro id(a) => { a }\nfn f() { id!(x,) }"),
        "fn f() { ({ (x) }) }"
    );
    assert_eq!(
        text("macro id(a) => { a // why\n }\nfn f() { id!(x // c\n + 1) }"),
        "fn f() { ({ (x // c + 1) }) }"
    );
}

#[test]
fn calls_nest_in_arguments_in_bodies_and_in_standard_macros() {
    let two = "macro inc(n) => { n + 1 }\nmacro two(n) => { inc!(inc!(n)) }\n";
    assert_eq!(
        text(&format!("{two}fn f() {{ two!(inc!(5)) }}")),
        "fn f() { ({ ({ (({ ((({ (5) + 1 }))) + 1 })) + 1 }) }) }"
    );
    assert_eq!(
        text(&format!(
            "{two}fn f() {{ assert_eq!(inc!(1), debug!(inc(1))) }}"
        )),
        "fn f() { assert_eq!(({ (1) + 1 }), debug!(({ (1) + 1 }))) }"
    );
    assert_eq!(
        text(&format!(
            "{two}fn f(a: A) {{ assert!(a.inc(1) == a?inc(2) && !inc(3)) }}"
        )),
        "fn f(a: A) { assert!(a.inc(1) == a?inc(2) && !({ (3) + 1 })) }"
    );
}

#[test]
fn plain_calls_expand_unless_the_name_is_taken() {
    let m = "macro dbl(v) => { v + v }\n";
    assert_eq!(
        text(&format!("{m}fn f() {{ dbl(2) }}")),
        "fn f() { ({ (2) + (2) }) }"
    );
    for taken in [
        "fn f() { let dbl = g; dbl(2) }",
        "fn f(dbl: fn(I32) -> I32) { dbl(2) }",
        "fn f() { s.dbl(2) }",
        "fn f() { spawn dbl(2) }",
        "fn f() { fn dbl(n: I32) -> I32 { n } dbl(2) }",
    ] {
        assert_eq!(text(&format!("{m}{taken}")), taken);
    }
    assert!(
        text(&format!(
            "{m}fn f() {{ dbl(2) }} fn dbl(n: I32) -> I32 {{ n }}"
        ))
        .starts_with("fn f() { dbl(2) }")
    );
    assert_eq!(
        reports(&format!("{m}fn f() {{ dbl(1, 2) }}")),
        one(6002, "dbl")
    );
}

#[test]
fn members_of_an_agent_win_over_plain_macro_calls() {
    let agent = "agent A { on Go() { dbl(2) }  fn dbl(n: I32) -> I32 { n } }\nfn f() { dbl(1) }";
    let (file, _) = run(&format!("macro dbl(v) => {{ v + v }}\n{agent}"));
    let text = file.parse.tree.text();
    assert!(
        text.contains("on Go() { dbl(2) }") && text.contains("fn f() { ({ (1) + (1)"),
        "{text}"
    );
}

#[test]
fn names_that_are_no_macro_are_reported() {
    let (_, found) = run("fn f() { asert!(true) }");
    assert_eq!(found[0].code.number(), 6001);
    assert_eq!(
        found[0].hint,
        FixHint::Rename {
            to: "assert".into(),
            distance: 1
        }
    );
    assert_eq!(
        reports("fn f() { g!(1) } macro g(a) => { a }"),
        one(6001, "g")
    );
    assert_eq!(reports("fn f() { assert!(lg!(1) == 1) }"), one(6001, "lg"));
    assert_eq!(
        reports("macro m() => { nix!(1) }\nfn f() { 1 + m!() }"),
        one(6001, "m")
    );
    assert_eq!(reports("fn f() { nope(1) }"), []);
    assert_eq!(reports("use other.mac\nfn f() { mac!(1, $) }"), []);
}

#[test]
fn a_later_declaration_of_a_name_counts_from_there() {
    let t = text("macro a() => { 1 }\nfn f() { a!() }\nmacro a() => { 2 }\nfn g() { a!() }");
    assert!(
        t.starts_with("fn f() { ({ 1 }) }") && t.ends_with("fn g() { ({ 2 }) }"),
        "{t}"
    );
    // A user's macro wins over a standard one.
    assert_eq!(
        text("macro format(a) => { a }\nfn f() { format!(1) }"),
        "fn f() { ({ (1) }) }"
    );
}

#[test]
fn counts_are_checked() {
    let m = "macro add(a, b) => { a + b }\n";
    for call in ["add!(1)", "add!()", "add!(1, 2, 3)"] {
        assert_eq!(
            reports(&format!("{m}fn f() {{ {call} }}")),
            one(6002, "add"),
            "{call}"
        );
    }
    let (_, found) = run(&format!("{m}fn f() {{ add!(1) }}"));
    assert!(
        matches!(&found[0].hint, FixHint::Arguments { expected, found: 1, .. } if expected.len() == 2)
    );
    for call in [
        "assert!()",
        "assert_eq!(1)",
        "debug!(1, 2)",
        "unreachable!(1)",
        "assert_ne!(1, 2, 3)",
    ] {
        let name = &call[..call.find('!').unwrap()];
        assert_eq!(
            reports(&format!("fn f() {{ {call} }}")),
            one(6002, name),
            "{call}"
        );
    }
    assert_eq!(
        reports("fn f() { vec!(); vec!(1, 2, 3,); vec!(0; 4); unreachable!() }"),
        []
    );
}

#[test]
fn what_does_not_parse_is_shown_at_its_argument() {
    let m = "macro twice(v) => { v + v }\n";
    assert_eq!(
        reports(&format!("{m}fn f() {{ twice!($) }}")),
        one(6003, "$")
    );
    assert_eq!(
        reports(&format!("{m}fn f() {{ twice!(1 + ) }}")),
        one(6003, "twice")
    );
    assert_eq!(
        reports(&format!("{m}fn f() {{ twice!(1 2) }}")),
        one(6003, "2")
    );
    assert_eq!(reports(&format!("{m}fn f() {{ twice!(let) }}")).len(), 1);
    assert_eq!(
        reports("macro two(a, b) => { a + b }\nfn f() { two!(1,,) }").len(),
        1
    );
    assert_eq!(
        reports("macro get(o, n) => { o.n }\nfn f() { get!(p, x) }"),
        one(6003, "get")
    );
    assert_eq!(reports("fn f() { assert!(1 +) }"), one(6003, "1 +"));
    assert_eq!(reports("fn f() { assert_eq!(1 2, $) }"), one(6003, "$"));
    assert_eq!(
        reports("fn f() { log(format!(\"{}\", 1 2)) }"),
        one(6003, "2")
    );
    // Good calls beside a bad one are expanded.
    let (file, found) = run(&format!(
        "{m}fn f() {{ twice!(1); twice!(2 2); twice!(3) }}"
    ));
    assert_eq!((found.len(), file.poison.len()), (1, 1));
    assert!(
        file.parse.tree.text().contains("(3) + (3)")
            && file.parse.tree.text().contains("(1) + (1)")
    );
    // `break` is fine inside a loop only.
    let m = "macro stop(c) => { if c { break } }\n";
    assert_eq!(
        reports(&format!("{m}fn f() {{ loop {{ stop!(true) }} }}")),
        []
    );
    assert_eq!(
        reports(&format!("{m}fn f() {{ stop!(true) }}")),
        one(6003, "stop")
    );
}

#[test]
fn endless_expansion_is_cut_off() {
    for body in [
        "again!(n)",
        "again!(n) + again!(n)",
        "[[[[[[[[[[again!(n)]]]]]]]]]]",
        "other!(n)",
    ] {
        let other = "macro other(n) => { again!(n) }\n";
        let source =
            format!("{other}macro again(n) => {{ {body} }}\nfn f() -> I32 {{ again!(1) }}");
        assert_eq!(reports(&source), one(6004, "again"), "{body}");
    }
    // Thirty levels that double are no recursion, but 2^30 calls.
    let mut source = String::from("macro m0(a) => { a }\n");
    for i in 1..31 {
        source.push_str(&format!(
            "macro m{i}(a) => {{ m{}!(a) + m{}!(a) }}\n",
            i - 1,
            i - 1
        ));
    }
    source.push_str("fn f() { m30!(1) }");
    assert_eq!(reports(&source), one(6004, "m30"));
    // A chain as long as there are rounds is fine.
    let mut source = String::from("macro m0(a) => { a }\n");
    for i in 1..32 {
        source.push_str(&format!("macro m{i}(a) => {{ m{}!(a) }}\n", i - 1));
    }
    source.push_str("fn f() { m31!(1) }");
    assert_eq!(reports(&source), []);
}

#[test]
fn procedural_macros_are_kept_and_judged() {
    let decl =
        |body: &str| format!("proc macro p(input: TokenStream) -> TokenStream {{ {body} }}\n");
    assert_eq!(reports(&decl("input")), []);
    assert_eq!(
        reports(&format!("{}fn f() {{ p!(7) }}", decl("input"))),
        one(6006, "p")
    );
    for body in [
        "env.args()",
        "std.time.now()",
        "rand()",
        "effect.io",
        "log(model.ask(input))",
        "io::read(input)",
    ] {
        assert_eq!(reports(&decl(body)), one(6005, "p"), "{body}");
    }
    for body in [
        "input.time()",
        "let env = input; env.len()",
        "a.env.b()",
        "timer.now()",
        "time",
    ] {
        assert_eq!(reports(&decl(body)), [], "{body}");
    }
    for body in [
        "loop { }",
        "loop { loop { break } }",
        "[0; 20000000]",
        "\"x\".repeat(17MiB)",
        "Vec::[U8]::with_capacity(16777217)",
    ] {
        assert_eq!(reports(&decl(body)), one(6008, "p"), "{body}");
    }
    for body in [
        "loop { if done(input) { break } }",
        "loop { loop { return input } }",
        "[0; 16777216]",
        "\"x\".repeat(16MiB)",
        "while true { }",
    ] {
        assert_eq!(reports(&decl(body)), [], "{body}");
    }
}

#[test]
fn templates_of_format_are_checked() {
    let of = |t: &str| reports(&format!("fn f() {{ log(format!({t})) }}"));
    for good in [
        r#""""#,
        r#""{} {n} {{}} \u{41}", 1"#,
        r###"r#"{} "x""#, 1"###,
        r#""{:>4} {n:.2}", f(1, 2)"#,
    ] {
        assert_eq!(of(good), [], "{good}");
    }
    assert_eq!(of(r#""{ x""#), one(6009, "{"));
    assert_eq!(of(r#""é x }""#), one(6009, "}"));
    assert_eq!(of("t"), one(6009, "t"));
    assert_eq!(of(r#""a" + "b""#), one(6009, r#""a" + "b""#));
    assert_eq!(of(""), one(6009, "format"));
    assert_eq!(
        of(r#""{0} {1}", a, b"#),
        [(6010, "{0}".to_owned()), (6010, "{1}".to_owned())]
    );
    assert_eq!(of(r#""{:99999999999}", a"#), one(6011, "{:99999999999}"));
    assert_eq!(of(r#""{:.}", a"#), one(6012, "{:.}"));
    assert_eq!(of(r#""{} {}", a"#), one(6002, "format"));
    assert_eq!(of(r#""{n}", a"#), one(6002, "format"));
    // Inside an expansion the report is at the call.
    assert_eq!(
        reports("macro show(a) => { format!(\"{:.}\", a) }\nfn f() { show!(1) }"),
        one(6012, "show")
    );
}

#[test]
fn pub_macros_are_imported() {
    let check = |main: &str, util: &str| {
        let mut util_file = SourceFile::root("util.mty", util);
        util_file.module = vec!["util".into()];
        let package = Package {
            name: Some("app".into()),
            files: vec![SourceFile::root("main.mty", main), util_file],
        };
        let mut sink = Sink::default();
        let files = expand(&package, &mut sink);
        let codes: Vec<u16> = sink.into_sorted().iter().map(|d| d.code.number()).collect();
        (files[0].parse.tree.text().to_owned(), codes)
    };
    let util =
        "pub macro inc(a) => { a + 1 }\nmacro own(a) => { a }\nmod deep { pub macro k() => { 3 } }";
    for path in ["util.inc", "app.util.inc"] {
        let (text, codes) = check(&format!("use {path}\nfn f() {{ inc!(1) }}"), util);
        assert!(text.contains("(1) + 1") && codes.is_empty(), "{path}");
    }
    let (text, codes) = check(
        "use util.inc as plus\nuse util.deep.k\nfn f() { plus!(k!()) }",
        util,
    );
    assert!(text.contains("(({ 3") && codes.is_empty(), "{text}");
    assert_eq!(check("use util.own\nfn f() { own!(1) }", util).1, [6001]);
    assert_eq!(check("fn f() { inc!(1) }", util).1, [6001]);
}

#[test]
fn imports_of_other_things_are_no_macros() {
    let util =
        "mod util { pub fn format(n: I32) -> I32 { n }  pub fn half(n: I32) -> I32 { n } }\n";
    assert_eq!(
        reports(&format!(
            "{util}use util.format\nfn f() {{ log(format!(\"{{}}\")) }}"
        )),
        one(6002, "format")
    );
    assert_eq!(
        reports(&format!("{util}use util.half\nfn f() {{ half!(1) }}")),
        one(6001, "half")
    );
    assert_eq!(
        reports(&format!("{util}use util.hal\nfn f() {{ hal!(1) }}")),
        []
    );
    assert_eq!(reports("use std.test.check\nfn f() { check!(1, 2) }"), []);
}

#[test]
fn ranges_lead_back_to_the_written_text() {
    let source =
        "macro twice(v) => { v + v }\nfn f(größe: I32) { log(\"é\"); g(twice!(größe * 2), tail) }";
    let (file, _) = run(source);
    let expanded = file.parse.tree.text();
    for (word, nth) in [("größe * 2", 0), ("größe * 2", 1), ("tail", 0), ("log", 0)] {
        let (at, _) = expanded.match_indices(word).nth(nth).unwrap();
        let range = file
            .map
            .written(TextRange::new(at as u32, (at + word.len()) as u32));
        assert_eq!(&source[std::ops::Range::from(range)], word);
    }
    let plus = expanded.rfind(" + ").unwrap() as u32 + 1;
    let range = file.map.written(TextRange::new(plus, plus + 1));
    assert_eq!(&source[std::ops::Range::from(range)], "twice!(größe * 2)");
}
