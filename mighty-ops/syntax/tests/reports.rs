//! Every code of the lexer and parser: failing programs with the span between `‹` and `›`, near misses,
//! and programs with several independent faults. (language.md §1, §27; diagnostics.md MT00xx)

use syntax::parse;

/// Splits a marked program into its text and the marked ranges.
fn unmark(marked: &str) -> (String, Vec<(u32, u32)>) {
    let (mut text, mut open, mut ranges) = (String::new(), Vec::new(), Vec::new());
    for c in marked.chars() {
        let at = u32::try_from(text.len()).unwrap_or(u32::MAX);
        match c {
            '‹' => open.push(at),
            '›' => ranges.push((open.pop().unwrap_or(at), at)),
            _ => text.push(c),
        }
    }
    ranges.sort_unstable();
    (text, ranges)
}

/// Asserts exactly these reports: one code for all marks.
#[track_caller]
fn fails(code: &str, marked: &str) {
    let (text, ranges) = unmark(marked);
    let p = parse(text.as_str());
    let got: Vec<_> = p
        .errors
        .iter()
        .map(|e| (e.code, (e.range.start, e.range.end)))
        .collect();
    let want: Vec<_> = ranges.into_iter().map(|r| (code, r)).collect();
    assert_eq!(got, want, "{marked}\n{:#?}", p.errors);
    assert_eq!(p.tree.text(), text);
    assert!(
        p.errors
            .iter()
            .all(|e| !e.title.is_empty() && e.title.len() < 120)
    );
}

/// Asserts these codes in order, one per mark.
#[track_caller]
fn fail_as(codes: &[&str], marked: &str) {
    let (text, ranges) = unmark(marked);
    let p = parse(text.as_str());
    let got: Vec<_> = p
        .errors
        .iter()
        .map(|e| (e.code, (e.range.start, e.range.end)))
        .collect();
    assert_eq!(codes.len(), ranges.len());
    let want: Vec<_> = codes.iter().copied().zip(ranges).collect();
    assert_eq!(got, want, "{marked}\n{:#?}", p.errors);
}

#[track_caller]
fn passes(text: &str) {
    let p = parse(text);
    assert!(p.errors.is_empty(), "{text}\n{:#?}", p.errors);
}

#[test]
fn mt0001_unexpected_tokens() {
    for t in [
        "fn f() { let n = ‹=› 4 }",
        "fn f() { let n = 4 + ‹/› 2 }",
        "fn f() { g(1 ‹2›) }",
        "fn f(a: I32 ‹b›: I32) { }",
        "fn f() { [1 ‹2›] }",
        "fn f() { ‹1› = 2 }",
        "fn f() { ‹g()› = 2 }",
        "fn f() { ‹a + b› += 2 }",
        "fn f() { ‹break› }",
        "fn f() { loop { |x| ‹continue› } }",
        "fn f() { while c { fn g() { ‹break› } } }",
        "fn f() { } ‹}›",
        "‹)› fn f() { }",
        "‹\u{FEFF}›fn f() { }",
        "fn f() { let x = 1 ‹$› }",
        "fn f() { let x = ‹$$› }",
        "fn f() { a ‹~› + b }",
        "fn ‹return›() { }",
        "struct ‹fn› { }",
        "struct S‹(›I32)",
        "enum E { A, B ‹{› x: I32 } }",
        "fn f() { x ‹@› y }",
        "fn f() -> ‹=› 3",
        "fn f() { let x: ‹=› 4 }",
        "fn f() ‹;›",
        "fn f() -> I32 ‹fn› g() { }",
        "agent A ‹with› affinity = x { on Go() { } }",
        "fn f() { ‹agent› A { } }",
        "fn f() { ‹else› { } }",
        "protocol P { Go ‹}›",
        "fn f() { html\"a ‹}› b\" }",
        "fn f() effect fs, ‹{› }",
        "sandbox S ‹{› }",
        "fn f() { if x ‹1› }",
        "fn f() { if x ‹1› else { 2 }\n g() }",
    ] {
        fails("MT0001", t);
    }
}

#[test]
fn mt0001_near_misses() {
    for t in [
        "fn f() { let n = -4 }",
        "fn f() { g(1, 2,) }",
        "fn f() { x = 2; v[0] = 1; a.b = c; *p = 1; (q) = 2; s.0 = 1 }",
        "fn f() { loop { break }; while c { continue } for i in v { if i { break } } }",
        "fn f() { loop { let g = |x| loop { break } } }",
        "fn f() { twice!($ ~) }",
        "struct S",
        "unsafe fn f(p: *U8) requires p != null",
        "fn f() { page.return.fn() }",
        "fn f() { a;; b }",
    ] {
        passes(t);
    }
}

#[test]
fn mt0002_unterminated() {
    for t in [
        "fn f() { log(‹\"half) }›",
        "fn f() { log(‹\"half)›\n}",
        "fn f() { let c = ‹'a›\n}",
        "fn f() { let c = ‹''› }",
        "fn f() { let c = ‹'ab'› }",
        "fn f() { let s = ‹r#\"raw\"›\n}",
        "fn f() { let s = ‹b\"bytes›\n}",
        "fn f() { let s = ‹html\"<b>{x\"›\n}",
        // The literal after it keeps its quotes.
        "fn f() {\n  log(‹\"half)›\n  log(\"whole\")\n  log(\"again\")\n}",
        "fn f() {\n  log(‹\"half)›\n  log(\"whole\")\n  log(‹\"other)›\n  log(\"again\")\n}",
    ] {
        fails("MT0002", t);
    }
    passes("fn f() { log(\"two\nlines\"); log('\"')\n x = 1 }");
    passes("fn f() { log(\"a \\\" b\"); let c = '\\''; let r = r#\"a \" b\"# }");
    passes("fn f() { html\"a { \" } b\" }");
}

#[test]
fn mt0003_escapes() {
    for t in [
        "fn f() { log(\"a‹\\q›b\") }",
        "fn f() { log(\"‹\\q›‹\\w›\") }",
        "fn f() { log('‹\\q›') }",
        "fn f() { log(\"‹\\x4›\") }",
        "fn f() { log(\"‹\\x80›\") }",
        "fn f() { log(\"‹\\u{D800}›\") }",
        "fn f() { log(\"‹\\u{110000}›\") }",
        "fn f() { log(\"‹\\u{1234567}›\") }",
        "fn f() { log(\"‹\\u{›\") }",
        "fn f() { log(\"‹\\é›\") }",
        "fn f() { b\"‹\\q›\" }",
    ] {
        fails("MT0003", t);
    }
    passes(
        "fn f() { log(\"\\n\\r\\t\\0\\\\\\\"\\'\\x41\\x{7F}\\u{1F980}\"); b\"\\xFF\"; r\"\\q\" }",
    );
}

#[test]
fn mt0004_comments_and_units() {
    for t in [
        "fn f() { } ‹/*› open",
        "fn f() { ‹/*› open /* inner */ }",
        "‹/*›",
        "fn f() { let t = 7‹sec› }",
        "fn f() { a?Go() @7‹seconds› }",
        "fn f() { sleep(5‹min›) }",
        "sandbox S with { wall = 10‹millis› } { }",
    ] {
        fails("MT0004", t);
    }
    fails("MT0001", "fn f() { let t = 7‹ms3› }");
    fails("MT0001", "fn f() { let t = 5‹K› }");
    fails("MT0001", "fn f() { let t = 1_0‹ms› }");
    fails("MT0001", "fn f() { let t = 7 ‹sec› }");
    passes("fn f() { let t = 7s; let sec = 1 /* a /* b */ c */ }");
}

#[test]
fn mt0006_numbers() {
    for t in [
        "fn f() { let n = ‹9_› }",
        "fn f() { let n = ‹1__0› }",
        "fn f() { let n = ‹0x› }",
        "fn f() { let n = ‹0b102› }",
        "fn f() { let n = ‹0o8› }",
        "fn f() { let n = ‹0xFF_› }",
        "fn f() { let n = ‹1.5_› }",
        "fn f() { let n = ‹340282366920938463463374607431768211456› }",
    ] {
        fails("MT0006", t);
    }
    passes("fn f() { let n = 9_u8 + 1_0 + 0xFF_u8 + 340282366920938463463374607431768211455 }");
}

#[test]
fn mt0010_items() {
    for t in [
        "mod util { ‹3› + 4 }",
        "‹let› x = 1\nfn f() { }",
        "‹static› N: I32 = 4\nfn f() { }",
        "‹import› std.fs\nfn f() { }",
        "fn a() { }\n‹log›(1); { log(2) }\nfn b() { }",
        "fn a() { } ‹;›",
        "use std.fs ‹package› x",
        "pub ‹let› x = 1\nfn f() { }",
        "#[derive(Eq)] ‹3›",
    ] {
        fails("MT0010", t);
    }
    // Once per run.
    fails("MT0010", "‹1› 2 3 { 4 }\nfn a() { }\n‹5› 6\nfn b() { }");
    passes("mod util { const N: I32 = 3 + 4 }");
    passes("package a.b; use std.fs; mod x;");
}

#[test]
fn mt0011_operands() {
    for t in [
        "fn f() -> I32 { 6 * ‹}›",
        "fn f() { let n = ‹}›",
        "fn f() { g(1, -‹)› }",
        "fn f() { let n = ‹;› }",
        "fn f() { let n =\n  ‹let› m = 3 }",
        "fn f() { g(a +‹,› b) }",
        "fn f() { ‹yield› x }",
        "fn f() { ‹await› x }",
        "const N: I32 =‹›",
        "fn f() { v[‹]› }",
        "fn f() { x = ‹where› }",
        "sandbox S with { wall = ‹}› { }",
    ] {
        fails("MT0011", t);
    }
    passes("fn f() -> I32 { 6 *\n 7 }");
    passes("fn f() { return }");
}

#[test]
fn mt0012_brackets() {
    for t in [
        "fn f() { log((\"x\") ‹}›",
        "fn f() { g(1‹]› }",
        "fn f() { g(a, [1, 2‹)›, b) }",
        "fn f() ‹{› g()",
        "fn f() { g‹(›1",
        "fn f() { v[g(1‹]› }",
        "fn f() {\n  let a = g(1\n  let b = 2\n‹}›\nfn h() { }",
        "fn f() { if c ‹)› { } }",
        "struct S { a: Vec[I32 ‹}›",
        "fn f‹(› {\n  g()\n}\nfn h() { }",
        "fn f‹[›T(x: T) { }",
        "fn f‹(›a: I32 -> I32 {\n  a\n}",
    ] {
        fails("MT0012", t);
    }
    passes("fn f() { g([(1), { 2 }]) }");
    // None beside an open comment or literal.
    fails("MT0004", "fn f() { g( ‹/*› }");
    fails("MT0002", "fn f() { g(‹\"x›");
    // The items behind a missing brace are still seen.
    let p = parse("fn a() {\n  if x {\n}\n\nfn b() -> ;\n\nagent C { on Go() { } }\n");
    let codes: Vec<_> = p.errors.iter().map(|e| e.code).collect();
    assert_eq!(codes, ["MT0012", "MT0001"], "{:#?}", p.errors);
    assert_eq!(p.file().items().count(), 3);
}

#[test]
fn mt0020_handlers() {
    fails("MT0020", "agent A: P { on Go() { }  on ‹Go›() { } }");
    fails(
        "MT0020",
        "agent A { on Go() { } on B() { } on ‹Go›(x) -> x\n on ‹Go›() { } }",
    );
    passes("agent A { on Go() { } on Gone() { } } agent B { on Go() { } }");
}

#[test]
fn mt0021_return_types() {
    fails("MT0021", "pub fn ‹area›(w: I32, h: I32) { w * h }");
    fails("MT0021", "mod m { pub fn ‹area›(w: I32) = w }");
    passes("pub fn area(w: I32) -> I32 { w }");
    passes("pub fn main() { } fn area() { } pub(crate) fn b() { }");
    passes("impl A { pub fn a() { } } extern c { pub fn b() } trait T { fn c() { } }");
    assert!(!parse("pub fn area() { }").has_hard_error());
    assert!(parse("fn f( { }").has_hard_error());
}

#[test]
fn independent_faults_are_all_reported() {
    fail_as(
        &["MT0001", "MT0011", "MT0002", "MT0010", "MT0001", "MT0012"],
        "fn a() { let x = ‹=› 1 }\nfn b() { 2 * ‹}›\nfn c() {\n  log(‹\"x)›\n}\n‹oops› 1 2\n\
         struct S { a: I32 ‹b›: I32 }\nfn d() { g(1‹]› }\nfn e() { }\n",
    );
    fail_as(
        &["MT0001", "MT0001", "MT0001"],
        "fn a() {\n  let x: ‹=› 1\n  a ‹b›\n  match x { 1 => 2 ‹3› => 4 }\n}\n",
    );
    fail_as(
        &["MT0006", "MT0003", "MT0001"],
        "fn a() { g(‹0x›, \"‹\\q›\", 1 ‹2›) }\n",
    );
}

#[test]
fn a_bad_pattern_is_reported_once() {
    fails(
        "MT0001",
        "fn f() { for (‹let› i = 0; i < 3; i += 1) { log(i) } }",
    );
    fails("MT0001", "fn f() -> I32 {\n let ‹[›c, d] = [1, 2]\n 3\n}");
    fails("MT0001", "fn f() { for ‹[›a, b] in v { log(a) } }");
    fails("MT0001", "agent A {\n on Go() ‹log›(\"x\")\n on No() {}\n}");
}

#[test]
fn words_glued_to_the_last_number_of_an_item() {
    fails(
        "MT0004",
        "const WAIT: Duration = 5‹min›\nfn f() -> I32 { 3 }",
    );
    fails("MT0004", "fn f() -> Duration = 5‹secs›\nfn g() {}");
    fails("MT0001", "const WAIT: I32 = 5‹K›\nfn f() {}");
    fails("MT0010", "const WAIT: I32 = 5 ‹min›\nfn f() {}");
}

#[test]
fn only_vec_is_called_with_brackets() {
    passes("fn f() { let v = vec![1, 2]; g(vec![v]) }");
    passes("fn f() { vec![\n 1,\n 2,\n ].len() }");
    fails("MT0001", "fn f() { let v = list‹!›[1, 2] }");
    fails("MT0001", "fn f() { let v = vec‹!› [1, 2] }");
}

#[test]
fn a_list_that_is_not_closed_is_reported_once() {
    fail_as(
        &["MT0001", "MT0012"],
        "protocol P { A() -> I32, C( ‹->› Bool, D() -> (I32, Str), G() -> I32 ‹}›\nfn f() {}",
    );
    fail_as(
        &["MT0001", "MT0012", "MT0011"],
        "agent A { on Go( ‹{› log(\"x\") } ‹}›\nfn ok() -> I32 { 6 / ‹}›",
    );
}

#[test]
fn arms_without_their_match_are_reported_once() {
    fails(
        "MT0001",
        "fn f(x: I32) -> I32 {\n x {\n ‹1› => 2\n 2 => 3\n _ => 4\n }\n}",
    );
    fails(
        "MT0001",
        "fn f(x: E) -> I32 {\n x {\n E‹.›A => 2\n E.B => { 3 }\n }\n}\nfn g() { 4 }",
    );
    fails("MT0001", "fn f() { let p = P { a: 1, ‹2› } }");
}
