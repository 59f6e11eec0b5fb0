//! Hostile shapes: bounded depth, linear time, nothing lost. (language.md §27, MT0030)
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use syntax::{MAX_DEPTH, Parse, parse};

/// The processor time of this process so far: what a busy machine does to the clock is no matter of a bound on work.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Parses on a thread with the stack of a test thread, whatever the harness uses.
fn on_small_stack(text: String) -> Parse {
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(move || {
            let p = parse(text.as_str());
            assert_eq!(p.tree.text(), text);
            assert!(p.tree.max_depth() <= MAX_DEPTH);
            // Walking and printing need no recursion either.
            assert!(!p.tree.sketch().is_empty());
            assert_eq!(p.tree.root().descendants().count(), p.tree.node_count());
            p
        })
        .unwrap()
        .join()
        .unwrap()
}

fn codes(p: &Parse) -> Vec<&'static str> {
    p.errors.iter().map(|e| e.code).collect()
}

fn nested(open: &str, n: usize, mid: &str, close: &str) -> String {
    format!("fn f() {{ {}{mid}{} }}", open.repeat(n), close.repeat(n))
}

#[test]
fn brackets_at_the_limit_are_clean() {
    // One of the 256 is the body's own.
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("g(", ")"),
        ("if c { ", "}"),
    ] {
        let p = on_small_stack(nested(open, 255, "1", close));
        assert_eq!(codes(&p), [""; 0], "{open}");
    }
}

#[test]
fn one_bracket_more_is_one_report() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("g(", ")"),
        ("if c { ", "}"),
    ] {
        let p = on_small_stack(nested(open, 256, "1", close));
        assert_eq!(codes(&p), ["MT0030"], "{open}");
        // At the bracket of the 257th level, the body's own included.
        let bracket = open.trim_end().len() - 1;
        let start = "fn f() { ".len() + 255 * open.len() + bracket;
        assert_eq!(
            (p.errors[0].range.start as usize, p.errors[0].range.len()),
            (start, 1)
        );
    }
}

#[test]
fn deep_types_and_patterns() {
    let p = on_small_stack(format!(
        "fn f(x: {}U8{}) {{}}",
        "(".repeat(300),
        ")".repeat(300)
    ));
    assert_eq!(codes(&p), ["MT0030"]);
    let p = on_small_stack(format!(
        "fn f() {{ let {}x{} = 1 }}",
        "(".repeat(300),
        ")".repeat(300)
    ));
    assert_eq!(codes(&p), ["MT0030"]);
    let p = on_small_stack(format!("fn f(x: {}U8) {{}}", "&".repeat(100_000)));
    assert_eq!(codes(&p), ["MT0030"]);
    let p = on_small_stack(format!("fn f() {{ let {}x = 1 }}", "& ".repeat(100_000)));
    assert_eq!(codes(&p), ["MT0030"]);
    let p = on_small_stack(format!("fn f(x: {}U8) {{}}", "fn() -> ".repeat(100_000)));
    assert_eq!(codes(&p), ["MT0030"]);
}

#[test]
fn prefixes_at_the_limit_and_over_it() {
    for op in ["-", "!", "*", "& ", "&mut ", "move ", "join "] {
        let p = on_small_stack(format!("fn f() {{ {}x }}", op.repeat(256)));
        assert_eq!(codes(&p), [""; 0], "{op}");
        let p = on_small_stack(format!("fn f() {{ {}x }}", op.repeat(257)));
        assert_eq!(codes(&p), ["MT0030"], "{op}");
        let p = on_small_stack(format!("fn f() {{ {}x }}", op.repeat(200_000)));
        assert_eq!(codes(&p), ["MT0030"], "{op}");
    }
}

#[test]
fn long_chains_are_not_deep() {
    for (unit, n) in [
        ("a.", 2_000),
        ("a + ", 2_000),
        ("a || ", 2_000),
        ("if c { 1 } else ", 2_000),
    ] {
        let end = if unit.starts_with("if") { "{ 2 }" } else { "a" };
        let p = on_small_stack(format!("fn f() {{ {}{end} }}", unit.repeat(n)));
        assert_eq!(codes(&p), [""; 0], "{unit}");
    }
}

#[test]
fn endless_chains_are_cut_off_with_one_report() {
    for unit in [
        "a.",
        "a + ",
        "if c { 1 } else ",
        "a?B().",
        "x = ",
        "|x| ",
        "return ",
        "run ",
        "arena l: ",
    ] {
        let end = if unit.starts_with("if") { "{ 2 }" } else { "a" };
        let p = on_small_stack(format!("fn f() {{ {}{end} }}", unit.repeat(100_000)));
        assert_eq!(codes(&p), ["MT0030"], "{unit}");
    }
}

#[test]
fn a_level_of_everything_under_every_bracket() {
    let unit = "x = return |y| run arena l: if c { ";
    let p = on_small_stack(format!(
        "fn f() {{ {}1{} }}",
        unit.repeat(250),
        "}".repeat(250)
    ));
    assert!(codes(&p).iter().all(|c| *c == "MT0030"), "{:?}", codes(&p));
    let unit = "match x { _ => (--!a.b + [c * ";
    let p = on_small_stack(format!(
        "fn f() {{ {}1{} }}",
        unit.repeat(80),
        "])}".repeat(80)
    ));
    assert_eq!(codes(&p), [""; 0]);
}

#[test]
fn megabytes_of_one_thing_take_linear_time() {
    let units = [
        "(",
        "[",
        "{",
        ")",
        "]",
        "}",
        "(]",
        "([{",
        ")(",
        "{)",
        "fn ",
        "fn f(",
        "fn f() { ",
        "a.",
        "a.a ",
        "if ",
        "else ",
        "match x { ",
        "=> ",
        "\"",
        "\"\\\"\n",
        "'",
        "r#\"\n",
        "r##\"",
        "html\"{\n",
        "html\"",
        "b\"",
        "/*",
        "/* */",
        "//\n",
        "///\n",
        "$",
        "$ ",
        "\\",
        "0x",
        "1_",
        "1..",
        "7sec ",
        "a!b(",
        "a?B(",
        "x!(",
        "@",
        "@t(",
        "#[",
        "&&",
        "||",
        "|",
        "-",
        ";",
        ",",
        "\n",
        " ",
        "let ",
        "let x = ",
        "struct S { ",
        "enum E ",
        "agent A { on M() -> ",
        "on M() -> T { ",
        "use a.",
        "pub ",
        "x: ",
        "_",
        "é",
        "\u{FEFF}",
        "\r",
        "\r\n",
        "-> T!{",
        "effect a, ",
        "budget { ",
        "a.in_allowlist[",
        "x::[",
        "1.0.",
        "t.0",
        "\\\"",
        "as ",
        " \n",
        "aé",
        "é ",
        "fné ",
    ];
    for unit in units {
        for wrap in [false, true] {
            let body = unit.repeat((1 << 17) / unit.len());
            let text = if wrap {
                format!("fn f() {{ {body}\n}}\nfn g() {{ }}\n")
            } else {
                body
            };
            let start = processor_time();
            let p = parse(text.as_str());
            let took = processor_time() - start;
            // Debug builds under load; quadratic work on so much would take far longer.
            assert!(
                took < Duration::from_secs(6),
                "{unit:?} wrap {wrap}: {took:?}"
            );
            assert_eq!(p.tree.text(), text.replace("\r\n", "\n"));
        }
    }
}

/// What is looked for among the open brackets must not cost as many steps as there are.
#[test]
fn many_open_brackets_take_linear_time() {
    let n = 1 << 18;
    let texts = [
        // A literal without its end closes the brackets of its line.
        format!("mod a {{\n{}\"", "(".repeat(n)),
        // Closers of an outer kind that fit worse than their neighbours.
        format!("[{}{}", "(".repeat(n), "])".repeat(n / 2)),
        format!("{{{}{}", "[".repeat(n), "}]".repeat(n / 2)),
    ];
    for text in texts {
        let start = processor_time();
        let p = parse(text.as_str());
        let took = processor_time() - start;
        assert!(took < Duration::from_secs(6), "{:?}: {took:?}", &text[..8]);
        assert_eq!(p.tree.text(), text);
    }
}

#[test]
fn every_pair_of_nesting_forms_at_the_limit() {
    let forms = [
        ("(", ")"),
        ("[", "]"),
        ("{ ", " }"),
        ("g(", ")"),
        ("a.m(", ")"),
        ("v[", "]"),
        ("match x { _ => ", " }"),
        ("if c { ", " }"),
        ("if c { } else if d { ", " }"),
        ("fn(x) { ", " }"),
        ("|x| return (", ")"),
        ("x = -!*y + run [", "]"),
        ("loop { ", " }"),
        ("arena l: { ", " }"),
        ("S { a: ", " }"),
        ("budget { k = ", " } run 1"),
        ("sandbox S with { } { ", " }"),
        ("M::[T] { 1: ", " }"),
        ("{ let y: [U8; ", "] = z }"),
        ("{ fn g() { ", " } }"),
    ];
    for (open_a, close_a) in forms {
        for (open_b, close_b) in forms {
            let per = [open_a, open_b].concat().matches(['(', '[', '{']).count();
            let n = 250 / per;
            let text = format!(
                "fn f() {{ {}1{} }}",
                format!("{open_a}{open_b}").repeat(n),
                format!("{close_b}{close_a}").repeat(n)
            );
            let p = on_small_stack(text);
            assert!(
                p.errors.iter().all(|e| e.code == "MT0030"),
                "{open_a} {open_b}: {:?}",
                p.errors.first()
            );
        }
    }
}
