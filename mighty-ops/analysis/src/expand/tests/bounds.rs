//! Time, and arbitrary tokens: no panic, no range out of bounds, no tree with new errors.
//! Must not hold expectations about single programs.

use proptest::prelude::*;

use super::super::expand;
use crate::diagnostic::Sink;
use crate::package::Package;

#[test]
fn ten_thousand_calls_take_linear_time() {
    let source = |n: usize| {
        let mut s = String::from("macro inc(a) => { let r = a; r + 1 }\nfn f() {\n");
        for i in 0..n {
            s.push_str(&format!("  log(inc!({i}).to_str())\n  dbl({i})\n"));
        }
        s.push_str("}\nmacro dbl(a) => { a + a }\n");
        s
    };
    let time = |text: &str| {
        let package = Package::single("t.mty", text);
        // The least of several runs: the machine has other work.
        (0..5)
            .map(|_| {
                let start = std::time::Instant::now();
                let mut sink = Sink::default();
                let files = expand(&package, &mut sink);
                assert!(
                    sink.found().is_empty() && files[0].parse.tree.text().contains("__mac_0_r")
                );
                start.elapsed()
            })
            .min()
            .unwrap()
    };
    let (small, large) = (time(&source(1_000)), time(&source(10_000)));
    assert!(
        large < small * 40,
        "{small:?} for 1,000 calls, {large:?} for 10,000"
    );
}

fn soup() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "a",
        "b",
        "m",
        "n",
        "x",
        "m!(",
        "n!(",
        "assert!(",
        "format!(",
        "vec!(",
        "p!(",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ",",
        ";",
        "let ",
        "let x = ",
        "if ",
        "else ",
        "match ",
        "for x in ",
        "fn(x) ",
        "=>",
        "=",
        "+",
        "-",
        "!",
        "?",
        ".",
        ".x",
        "::",
        ":",
        "\"{a}\"",
        "\"{\"",
        "\"{0}\"",
        "\"{} {x}\"",
        "1",
        "$",
        "é",
        "\n",
        "// c\n",
        "break",
        "return",
        "|x|",
        "P { x }",
        "__mac_0_x",
        "macro ",
    ]);
    prop::collection::vec(word, 0..24).prop_map(|w| w.join(" ").replace("! (", "!("))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever stands in bodies and arguments: no panic, a tree without new syntax errors, ranges in bounds.
    #[test]
    fn token_soup_expands_or_is_refused(m in soup(), n in soup(), body in soup()) {
        let source = format!(
            "macro m(a) => {{ {m} }}\nmacro n(a, b) => {{ {n} }}\nproc macro p(t: T) -> T {{ {n} }}\nfn f() {{ {body} }}"
        );
        let package = Package::single("t.mty", &source);
        let mut sink = Sink::default();
        let files = expand(&package, &mut sink);
        let length = package.files[0].parse.tree.text().len() as u32;
        let file = &files[0];
        if !package.files[0].parse.has_hard_error() {
            prop_assert!(!file.parse.has_hard_error(), "{}", file.parse.tree.text());
        }
        for d in sink.found() {
            prop_assert!(d.range.start <= d.range.end && d.range.end <= length);
        }
        for t in file.parse.tree.tokens() {
            let w = file.map.written(t.range());
            prop_assert!(w.start <= w.end && w.end <= length);
        }
        for p in &file.poison {
            prop_assert_eq!(&file.parse.tree.text()[std::ops::Range::from(*p)], "0");
        }
    }

    /// The same with texts that parse more often: calls with odd arguments.
    #[test]
    fn odd_arguments_expand_or_are_refused(m in soup(), args in prop::collection::vec(soup(), 0..3)) {
        let balanced = |s: &str| {
            s.chars().filter(|c| !"(){}[]".contains(*c)).collect::<String>().replace("macro ", "")
        };
        let source = format!(
            "macro m(a) => {{ {} }}\nfn f() {{ m!({}); assert!(m!({})) }}",
            balanced(&m),
            args.iter().map(|a| balanced(a)).collect::<Vec<_>>().join(","),
            args.first().map(|a| balanced(a)).unwrap_or_default(),
        );
        let package = Package::single("t.mty", &source);
        if package.files[0].parse.has_hard_error() {
            return Ok(());
        }
        let mut sink = Sink::default();
        let files = expand(&package, &mut sink);
        prop_assert!(!files[0].parse.has_hard_error(), "{}", files[0].parse.tree.text());
        // What comes out is fit for the passes behind.
        for d in crate::check(&package, &crate::Options::default())
            .unwrap()
            .diagnostics {
            prop_assert!(d.range.start <= d.range.end && d.range.end as usize <= source.len(), "{d:?}");
        }
        let length = source.len() as u32;
        for d in sink.found() {
            prop_assert!(d.range.start <= d.range.end && d.range.end <= length);
        }
    }
}
