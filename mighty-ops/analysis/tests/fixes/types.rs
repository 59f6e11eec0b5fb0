//! MT2xxx but for names.

use analysis::FixHint;

use crate::cases::{Case, at, case, wants};

pub(crate) fn cases() -> Vec<Case> {
    let mut all = mismatches();
    all.extend(counts());
    all.extend(values());
    all.extend(questions());
    all.extend(matches());
    all
}

fn mismatches() -> Vec<Case> {
    vec![
        case(2001, "type_conversion", "fn f() { let n: I32 = «\"7\"» }\n")
            .with(|_| wants("I32", "Str"))
            .to(0.6, "fn f() { let n: I32 = \"7\".parse().unwrap_or(0) }\n"),
        case(
            2001,
            "type_conversion",
            "fn f(a: I32, b: I32) { let n: I64 = «a + b» }\n",
        )
        .with(|_| wants("I64", "I32"))
        .to(
            0.8,
            "fn f(a: I32, b: I32) { let n: I64 = (a + b) as I64 }\n",
        ),
        case(
            2001,
            "type_conversion",
            "fn f(a: I64) { let n: I32 = «a» }\n",
        )
        .with(|_| wants("I32", "I64"))
        .to(0.6, "fn f(a: I64) { let n: I32 = a as I32 }\n"),
        case(
            2001,
            "type_conversion",
            "fn f(a: I64) { let n: Str = «a» }\n",
        )
        .with(|_| wants("Str", "I64"))
        .to(0.8, "fn f(a: I64) { let n: Str = a.to_str() }\n"),
        case(
            2001,
            "wrap_in_some",
            "fn f(a: I64) { let n: Option[I64] = «a» }\n",
        )
        .with(|_| wants("Option[I64]", "I64"))
        .to(0.8, "fn f(a: I64) { let n: Option[I64] = Some(a) }\n"),
        case(
            2001,
            "take_reference",
            "fn g(a: &I64) { }\nfn f(a: I64) { g(«a») }\n",
        )
        .with(|_| wants("&I64", "I64"))
        .to(0.8, "fn g(a: &I64) { }\nfn f(a: I64) { g(&a) }\n"),
        case(
            2017,
            "type_conversion",
            "fn f(a: I32, b: I64) -> I32 { «a + b» }\n",
        )
        .with(|_| wants("I32", "I64"))
        .to(0.6, "fn f(a: I32, b: I64) -> I32 { a + b as I32 }\n"),
        case(
            2017,
            "type_conversion",
            "fn f(a: I32, b: I32, c: I32) -> Bool { «a < b < c» }\n",
        )
        .to(
            0.6,
            "fn f(a: I32, b: I32, c: I32) -> Bool { a < b && b < c }\n",
        ),
        case(
            2017,
            "type_conversion",
            "fn f(r: Bool) -> Bool { «r == 1» }\n",
        )
        .with(|_| wants("Bool", "I32"))
        .to(0.6, "fn f(r: Bool) -> Bool { r == (1 != 0) }\n"),
        case(
            2017,
            "type_conversion",
            "fn f(o: Option[I32]) { let n = «o + 1» }\n",
        )
        .with(|_| wants("Option[I32]", "I32")),
        case(
            2017,
            "type_conversion",
            "fn f(n: I32, o: Vec[I32]) -> Bool { «!n && o» }\n",
        )
        .with(|_| wants("I32", "Vec[I32]")),
        case(
            2018,
            "type_conversion",
            "macro max2(a, b) => { if a > b { a } else { b } }\nfn f() { let v = «max2!(1, \"b\")» }\n",
        ),
        case(
            2018,
            "type_conversion",
            "fn f(b: Bool) { let v = «if b { \"c\" } else { 2.5 }» }\n",
        )
        .with(|_| wants("Str", "F64"))
        .to(
            0.65,
            "fn f(b: Bool) { let v = if b { \"c\" } else { 2.5.to_str() } }\n",
        ),
        case(2019, "type_conversion", "fn f() -> Bool { «3» }\n")
            .with(|_| wants("Bool", "I32"))
            .to(0.7, "fn f() -> Bool { 3 != 0 }\n")
            .to(0.7, "fn f() -> I32 { 3 }\n"),
        case(
            2027,
            "type_conversion",
            "fn f() { let n = «\"4\" as I32» }\n",
        )
        .with(|_| wants("I32", "Str"))
        .to(0.6, "fn f() { let n = \"4\".parse().unwrap_or(0) }\n"),
        case(
            2027,
            "type_conversion",
            "fn f(k: I32) { let c = «k as Char» }\n",
        )
        .with(|_| wants("Char", "I32"))
        .to(
            0.8,
            "fn f(k: I32) { let c = Char.from_u32(k as U32).unwrap_or('?') }\n",
        ),
        case(2028, "other", "fn f() { let c = «0xDFFF as Char» }\n")
            .to(0.5, "fn f() { let c = '\\u{FFFD}' }\n"),
    ]
}

fn counts() -> Vec<Case> {
    vec![
        case(2004, "other", "fn f(o: «Option[I32, Str]») { }\n").to(0.6, "fn f(o: Option[I32]) { }\n"),
        case(2004, "other", "fn f(o: «Map[Str]») { }\n").to(0.6, "fn f(o: Map[Str, I32]) { }\n"),
        case(2005, "other", "fn g(a: I32, b: Str) { }\nfn f() { «g(1)» }\n")
            .with(|t| FixHint::Arguments {
                expected: vec!["I32".into(), "Str".into()],
                found: 1,
                args: at(t, "(1)"),
            })
            .to(0.6, "fn g(a: I32, b: Str) { }\nfn f() { g(1, \"\") }\n"),
        case(2005, "other", "fn g(a: I32) { }\nfn f() { «g(1, 2)» }\n")
            .to(0.6, "fn g(a: I32) { }\nfn f() { g(1) }\n"),
        case(
            2012,
            "other",
            "enum E { Two(I32, I32) }\nfn f(e: E) -> I32 { match e { «E.Two(a)» => a } }\n",
        )
        .to(0.85, "enum E { Two(I32, I32) }\nfn f(e: E) -> I32 { match e { E.Two(a, _) => a } }\n"),
        case(
            2024,
            "other",
            "fn ap(f: fn(I32) -> I32) -> I32 { f(1) }\nfn g() -> I32 { ap(«fn(a, b) { a }») }\n",
        )
        .to(0.75, "fn ap(f: fn(I32) -> I32) -> I32 { f(1) }\nfn g() -> I32 { ap(fn(a) { a }) }\n"),
        case(
            2024,
            "other",
            "fn ap(f: fn(I32, I32) -> I32) -> I32 { f(1, 2) }\nfn g() -> I32 { ap(«fn(a) { a }») }\n",
        )
        .to(0.75, "fn ap(f: fn(I32, I32) -> I32) -> I32 { f(1, 2) }\nfn g() -> I32 { ap(fn(a, _1) { a }) }\n"),
    ]
}

fn values() -> Vec<Case> {
    vec![
        case(2003, "add_type_annotation", "fn f() { let «bag» = [] }\n")
            .to(0.6, "fn f() { let bag: Vec[I32] = [] }\n"),
        case(2008, "other", "fn f() -> I32 { let n = 3; «n(1)» }\n").to(0.5, "fn f() -> I32 { let n = 3; n }\n"),
        case(2013, "add_struct_field", "struct P { x: I32, y: I32 }\nfn f() { let p = «P { x: 1 }» }\n")
            .to(0.8, "struct P { x: I32, y: I32 }\nfn f() { let p = P { x: 1, y: 0 } }\n"),
        case(
            2013,
            "add_struct_field",
            "struct P { x: I32, y: Option[I32] }\nfn f() {\n  let p = «P {\n    x: 1,\n  }»\n}\n",
        )
        .to(0.85, "struct P { x: I32, y: Option[I32] }\nfn f() {\n  let p = P {\n    x: 1,\n    y: None,\n  }\n}\n"),
        case(2014, "other", "struct P { x: I32, y: I32 }\nfn f() { let p = P { x: 1, «x: 2», y: 0 } }\n")
            .to(0.7, "struct P { x: I32, y: I32 }\nfn f() { let p = P { x: 1, y: 0 } }\n"),
        case(2020, "add_type_annotation", "pub fn s(«v») -> I32 { 1 }\n")
            .to(0.5, "pub fn s(v: I32) -> I32 { 1 }\n"),
        case(2020, "add_type_annotation", "pub fn s(«v») -> Bool { !v }\n")
            .with(|t| FixHint::Annotate { at: at(t, "v").end, ty: "Bool".into() })
            .to(0.9, "pub fn s(v: Bool) -> Bool { !v }\n"),
        case(2022, "other", "enum Only { One(I32) }\nfn f() { let h = «Only { x: 1 }» }\n")
            .to(0.5, "enum Only { One(I32) }\nfn f() { let h = Only.One(1) }\n"),
        case(2022, "", "enum Hue { Red, Blue }\nfn f() { let h = «Hue { x: 1 }» }\n"),
        case(2025, "other", "fn f() {\n  let r = «&mut (1 + 2)»\n}\n")
            .to(0.85, "fn f() {\n  let mut tmp = 1 + 2\n  let r = &mut tmp\n}\n"),
        case(2025, "other", "fn f() { let tmp = 1; let r = «&5» }\n")
            .to(0.85, "fn f() { let tmp = 1; let tmp2 = 5; let r = &tmp2 }\n"),
    ]
}

fn questions() -> Vec<Case> {
    vec![
        case(
            2010,
            "unpack_question",
            "fn get() -> I32!Str { Ok(1) }\nfn f() -> I32 { «get()?» }\n",
        )
        .with(|_| FixHint::Question { ret: None, error: "Str".into(), ok: "I32".into() })
        .to(0.8, "fn get() -> I32!Str { Ok(1) }\nfn f() -> I32!Str { Ok(get()?) }\n")
        .to(
            0.7,
            "fn get() -> I32!Str { Ok(1) }\nfn f() -> I32 { match get() { Ok(v) => v, Err(_) => panic(\"todo\") } }\n",
        ),
        case(
            2010,
            "unpack_question",
            "fn get() -> I32!Str { Ok(1) }\nfn f() {\n  let a = «get()?»\n  log(a)\n}\n",
        )
        .with(|_| FixHint::Question { ret: None, error: "Str".into(), ok: "I32".into() })
        .to(
            0.8,
            "fn get() -> I32!Str { Ok(1) }\nfn f() -> Unit!Str {\n  let a = get()?\n  log(a)\n  Ok(())\n}\n",
        )
        .to(
            0.7,
            "fn get() -> I32!Str { Ok(1) }\nfn f() {\n  let a = match get() { Ok(v) => v, Err(_) => panic(\"todo\") }\n  log(a)\n}\n",
        ),
        case(2010, "unpack_question", "fn g(o: Option[I32]) -> I32!Str { Ok(«o?») }\n")
            .to(0.7, "fn g(o: Option[I32]) -> I32!Str { Ok(o.ok_or(\"no value\")?) }\n")
            .to(
                0.7,
                "fn g(o: Option[I32]) -> I32!Str { Ok(match o { Some(v) => v, None => panic(\"todo\") }) }\n",
            ),
        case(
            2011,
            "unpack_question",
            "fn get() -> I32!Str { Ok(1) }\nfn f() -> I32!Bool { Ok(«get()?») }\n",
        )
        .to(
            0.6,
            "fn get() -> I32!Str { Ok(1) }\nfn f() -> I32!Bool { Ok(get().map_err(fn(_e) { false })?) }\n",
        ),
    ]
}

fn matches() -> Vec<Case> {
    let blue = |t: &str| FixHint::MissingArms {
        patterns: vec!["Hue.Blue".into()],
        insert_at: at(t, "}").start,
    };
    vec![
        case(
            2015,
            "add_match_arm",
            "enum Hue { Red, Blue }\nfn f(h: Hue) -> I32 { «match h { Hue.Red => 0 }» }\n",
        )
        .with(blue)
        .to(0.9, "enum Hue { Red, Blue }\nfn f(h: Hue) -> I32 { match h { Hue.Red => 0, Hue.Blue => panic(\"todo\") } }\n")
        .to(0.8, "enum Hue { Red, Blue }\nfn f(h: Hue) -> I32 { match h { Hue.Red => 0, _ => panic(\"todo\") } }\n"),
        case(
            2015,
            "add_match_arm",
            "enum Hue { Red, Blue }\nfn f(h: Hue) -> I32 {\n  «match h {\n    Hue.Red => 0\n  }»\n}\n",
        )
        .with(blue)
        .to(0.9, "enum Hue { Red, Blue }\nfn f(h: Hue) -> I32 {\n  match h {\n    Hue.Red => 0\n    Hue.Blue => panic(\"todo\")\n  }\n}\n")
        .to(0.8, "enum Hue { Red, Blue }\nfn f(h: Hue) -> I32 {\n  match h {\n    Hue.Red => 0\n    _ => panic(\"todo\")\n  }\n}\n"),
        case(
            2015,
            "add_match_arm",
            "enum AppErr { Io(Str), Parse(Str), Gone }\nfn f(r: I32!AppErr) -> I32 { match «r» { Ok(n) => n, Err(AppErr.Gone) => 0 } }\n",
        )
        .to(0.9, "enum AppErr { Io(Str), Parse(Str), Gone }\nfn f(r: I32!AppErr) -> I32 { match r { Ok(n) => n, Err(AppErr.Gone) => 0, Err(_) => panic(\"todo\") } }\n")
        .to(0.8, "enum AppErr { Io(Str), Parse(Str), Gone }\nfn f(r: I32!AppErr) -> I32 { match r { Ok(n) => n, Err(AppErr.Gone) => 0, _ => panic(\"todo\") } }\n"),
        case(
            2016,
            "remove_unreachable",
            "enum Hue { Red, Blue }\nfn f(h: Hue) -> I32 { match h { _ => 0, «Hue.Red => 1» } }\n",
        )
        .to(0.9, "enum Hue { Red, Blue }\nfn f(h: Hue) -> I32 { match h { _ => 0 } }\n"),
        case(
            2016,
            "remove_unreachable",
            "enum Hue { Red, Blue }\nfn f(h: Hue) -> I32 {\n  match h {\n    _ => 0\n    «Hue.Red => 1»\n  }\n}\n",
        )
        .to(0.9, "enum Hue { Red, Blue }\nfn f(h: Hue) -> I32 {\n  match h {\n    _ => 0\n  }\n}\n"),
    ]
}
