//! The pairs of `cases/`: input and the one text it becomes. The output is its own canonical form.

use crate::support::{cases, checked, programs};
use syntax::format::{Refused, format};
use syntax::parse;

#[test]
fn every_case() {
    let mut failed = String::new();
    let cases = cases();
    for case in &cases {
        let out = checked(&case.input).unwrap_or_else(|| {
            let errors = parse(case.input.as_str()).errors;
            panic!("{} does not parse: {errors:#?}", case.name)
        });
        if out != case.expected {
            failed += &format!(
                "==== {}\n{out}---- expected\n{}\n",
                case.name, case.expected
            );
        }
        assert_eq!(checked(&case.expected).as_deref(), Some(&*case.expected));
    }
    assert!(failed.is_empty(), "\n{failed}");
}

#[test]
fn every_program_of_the_parser_tests() {
    for (name, text) in programs() {
        assert!(checked(&text).is_some(), "{name}");
    }
}

#[test]
fn broken_files_are_refused() {
    for text in [
        "fn f( {",
        "let x",
        "struct S { a b }",
        "fn f() { \"open }",
        "fn f() { /* open",
        "fn f() { a b }\n",
        "\u{FEFF}fn f() {}\n",
        "fn f() { 1__0 }",
        "fn   f ( ) { x = }",
    ] {
        assert_eq!(format(&parse(text)), Err(Refused::SyntaxErrors), "{text}");
    }
}

#[test]
fn reports_that_stop_no_later_stage_do_not_stop_the_formatter() {
    let p = parse("pub  fn f( ) { 1 }");
    assert!(!p.errors.is_empty());
    assert_eq!(format(&p).unwrap(), "pub fn f() { 1 }\n");
}

#[test]
fn line_ends_and_the_end_of_the_file() {
    let out = |t: &str| format(&parse(t)).unwrap();
    assert_eq!(out(""), "");
    assert_eq!(out(" \n\t\r\n\n"), "");
    assert_eq!(
        out("const A = 1\r\nconst B = 2\r\n"),
        "const A = 1\nconst B = 2\n"
    );
    assert_eq!(out("const A = \"a\r\nb\""), "const A = \"a\nb\"\n");
    assert_eq!(out("\n\n// c"), "// c\n");
    assert_eq!(out("// c  \r\n\r\n\r\n\r\n// d"), "// c\n\n// d\n");
    assert_eq!(
        out("const A = 1\n\n\n// end\n\n\n"),
        "const A = 1\n\n// end\n"
    );
    assert_eq!(out("/* a */"), "/* a */\n");
}

/// A carriage return in front of a CRLF stays when the line ends are read (language.md §1.1).
#[test]
fn carriage_returns_at_line_ends() {
    for (input, output) in [
        // Behind a line comment it is a blank.
        ("fn f() {} // a\r\r\n", "fn f() {} // a\n"),
        ("fn f() {} // a\r", "fn f() {} // a\n"),
        ("// a \r\r\n\nfn f() {}\n", "// a\n\nfn f() {}\n"),
        // Inside what is copied it is text.
        ("/* a\r\r\n */\n", "/* a\r\r\n */\n"),
        (
            "fn f() { log(\"a\r\r\nb\r\nc\") }\n",
            "fn f() {\n  log(\"a\r\r\nb\nc\")\n}\n",
        ),
        (
            "macro m(a) => { // b\r\r\n  a\r\n}\n",
            "macro m(a) => { // b\r\r\n  a\n}\n",
        ),
    ] {
        let before = parse(input);
        let out = format(&before).unwrap();
        assert_eq!(out, output, "{input:?}");
        assert_eq!(format(&parse(out.as_str())).unwrap(), out, "{input:?}");
    }
}

#[test]
fn the_hundredth_column_is_the_last() {
    let call = |n: usize| format!("fn f() {{\n  g({})\n}}\n", "x".repeat(n));
    let fits = call(95);
    assert_eq!(fits.lines().nth(1).unwrap().len(), 100);
    assert_eq!(format(&parse(fits)).unwrap(), call(95));
    let broken = format!("fn f() {{\n  g(\n    {},\n  )\n}}\n", "x".repeat(96));
    assert_eq!(format(&parse(call(96))).unwrap(), broken);
    // Scalars, not bytes.
    let wide = format!("fn f() {{\n  g(\"{}\")\n}}\n", "é".repeat(93));
    assert_eq!(format(&parse(wide.as_str())).unwrap(), wide);
}

#[test]
fn the_samples_of_long_forms_are_canonical() {
    let text = "\
fn join_parts(
  leading_segment: String,
  trailing_segment: String,
  between_them: Str,
  how_many_times: USize,
) -> String!JoinErr effect alloc {
  let line = \"parts: \" + leading_segment
    + between_them
    + trailing_segment
  let page = Page.new(line)
    .repeat(how_many_times)
    .close()
  page
}
";
    assert_eq!(checked(text).as_deref(), Some(text));
}

#[test]
fn long_and_deep_inputs() {
    let n = 3_000;
    let body = |s: String| format!("fn f() {{\n  {s}\n}}\n");
    let else_ifs = format!("if a {{ b }}{}", " else if a { b }".repeat(n));
    let arms = format!("match x {{ {} _ => 0 }}", "1 => 2, ".repeat(n));
    for text in [
        body(format!("x = a{}", " + b".repeat(n))),
        body(format!("x = a{}", " - b * c".repeat(n))),
        body(format!("a{}", ".b(c)".repeat(n))),
        body(format!("a{}", ".b?".repeat(n / 2))),
        body(format!("a{}", "(b)".repeat(n))),
        body(format!("{}a", "return ".repeat(500))),
        body(format!("{}a", "!".repeat(250))),
        body(format!("{}a{}", "(".repeat(250), ")".repeat(250))),
        body(format!("{}a{}", "f([".repeat(120), "])".repeat(120))),
        body(format!("{}a{}", "{ ".repeat(250), " }".repeat(250))),
        body(format!(
            "g({})",
            "|x| { ".repeat(120) + "y" + &" }".repeat(120)
        )),
        body(format!("f({})", "a, ".repeat(n))),
        body(else_ifs),
        body(arms),
        body("a;".repeat(n)),
        format!("// c\n{}", "/* d */\n".repeat(n)),
        format!("const A: {}B = 1\n", "&".repeat(250)),
        "mod a { ".repeat(250) + &"}".repeat(250),
        "const A = 1\n".repeat(n),
    ] {
        assert!(checked(&text).is_some(), "{}", &text[..60]);
    }
}
