//! The renaming of rule 3 and the four facts that follow from it (language.md §22).
//! Must not test anything else.

use super::text;

#[test]
fn let_bound_names_are_renamed_where_they_are_in_scope() {
    assert_eq!(
        text(
            "macro clamp(v, top) => { let t = top; if v > t { t } else { v } }\nfn f(t: I32) { clamp!(t + 9, 5) }"
        ),
        "fn f(t: I32) { ({ let __mac_0_t = (5); if (t + 9) > __mac_0_t { __mac_0_t } else { (t + 9) } }) }"
    );
    // The initialiser, what comes before, fields, keys and methods are not the body's `t`.
    assert_eq!(
        text("macro m() => { log(t); { let t = t + 1; p.t = t.t(t: t) }; t }\nfn f() { m!() }"),
        "fn f() { ({ log(t); { let __mac_0_t = t + 1; p.t = __mac_0_t.t(t: __mac_0_t) }; t }) }"
    );
    assert_eq!(
        text(
            "macro m(p) => { let P { x, y: (mut z, &w) } = p; let P { q } = p; P { x, y: q + z + w } }\nfn f() { m!(a) }"
        ),
        "fn f() { ({ let P { x: __mac_0_x, y: (mut __mac_0_z, &__mac_0_w) } = (a); \
         let P { q: __mac_0_q } = (a); P { x: __mac_0_x, y: __mac_0_q + __mac_0_z + __mac_0_w } }) }"
    );
    assert_eq!(
        text("macro m(o) => { if let Some(v) = o { v } else { v } }\nfn f() { m!(v) }"),
        "fn f() { ({ if let Some(__mac_0_v) = (v) { __mac_0_v } else { v } }) }"
    );
    assert_eq!(
        text(
            "macro m(o) => { let r = o; assert!(r > 0); log(format!(\"{r:>3} {o} {}\", r)); vec!(r) }\nfn f() { m!(v) }"
        ),
        "fn f() { ({ let __mac_0_r = (v); assert!(__mac_0_r > 0); \
         log(format!(\"{__mac_0_r:>3} {o} {}\", __mac_0_r)); vec!(__mac_0_r) }) }"
    );
    assert_eq!(
        text("macro m() => { let a = 1; fn g(b: I32) -> I32 { a + b } g(a) }\nfn f() { m!() }"),
        "fn f() { ({ let __mac_0_a = 1; fn g(b: I32) -> I32 { a + b } g(__mac_0_a) }) }"
    );
}

/// Argument tokens never see a body's bindings.
#[test]
fn hygiene_one_arguments_mean_what_they_mean_at_the_call() {
    let t = text("macro m(a) => { let x = 1; x + a }\nfn f() { let x = 2; m!(x) }");
    assert_eq!(
        t,
        "fn f() { let x = 2; ({ let __mac_0_x = 1; __mac_0_x + (x) }) }"
    );
    // Loops, arms and lambdas bind as well; they are renamed where the caller has such a name …
    let m = "macro sum(xs, k) => { let mut s = 0; for x in xs { s += x * k }; s }\n";
    assert_eq!(
        text(&format!("{m}fn f(x: I32) {{ sum!([1, 2], x) }}")),
        "fn f(x: I32) { ({ let mut __mac_0_s = 0; for __mac_0_x in ([1, 2]) { __mac_0_s += __mac_0_x * (x) }; \
         __mac_0_s }) }"
    );
    // … and stay as they are where nothing could be captured, as rule 3 has it.
    assert!(text(&format!("{m}fn f(y: I32) {{ sum!([1, 2], y) }}")).contains("for x in"));
    let m = "macro or(o, d) => { match o { Some(v) => v + d, None => d } }\n";
    assert!(
        text(&format!("{m}fn f() {{ let v = 1; or!(g(), v) }}"))
            .contains("Some(__mac_0_v) => __mac_0_v + (v)")
    );
    let m = "macro ap(xs, k) => { xs.map(fn(e) { e + k }) }\n";
    assert!(
        text(&format!("{m}fn f() {{ let e = 1; ap!([1], e) }}"))
            .contains("fn(__mac_0_e) { __mac_0_e + (e) }")
    );
}

/// A body's bindings never escape: every binding lies in the block that replaces the call.
#[test]
fn hygiene_two_bindings_do_not_escape() {
    let t = text("macro m() => { let x = 1 }\nfn f() { m!(); log(x) }");
    assert_eq!(t, "fn f() { ({ let __mac_0_x = 1 }); log(x) }");
}

/// Two expansions, nested ones too, never share a binding.
#[test]
fn hygiene_three_expansions_share_nothing() {
    let m = "macro m(a) => { let x = a; x }\n";
    let t = text(&format!("{m}fn f() {{ m!(1) + m!(m!(2)) }}"));
    for n in 0..3 {
        assert_eq!(t.matches(&format!("let __mac_{n}_x")).count(), 1, "{t}");
    }
    let t = text(
        "macro a(v) => { let x = v; b!(x) + x }\nmacro b(v) => { let x = v; x }\nfn f() { a!(1) }",
    );
    assert_eq!(
        t,
        "fn f() { ({ let __mac_0_x = (1); ({ let __mac_1_x = (__mac_0_x); __mac_1_x }) + __mac_0_x }) }"
    );
}

/// A free name of the body means whatever it means at the call.
#[test]
fn hygiene_four_free_names_stay() {
    assert_eq!(
        text("macro m() => { total += 1 }\nfn f() { m!() }"),
        "fn f() { ({ total += 1 }) }"
    );
}
