//! MT1xxx, names of the other bands, and macros.

use crate::cases::{Case, case, near};

pub(crate) fn cases() -> Vec<Case> {
    let mut all = names();
    all.extend(members());
    all.extend(macros());
    all
}

fn names() -> Vec<Case> {
    vec![
        case(
            1001,
            "rename_to_match_decl",
            "struct Crate { n: I32 }\nimpl Crate { fn make() -> Crate { Crate { n: 1 } } }\nfn f() { let b = «Crat»::make() }\n",
        )
        .with(|_| near("Crate"))
        .to(
            0.85,
            "struct Crate { n: I32 }\nimpl Crate { fn make() -> Crate { Crate { n: 1 } } }\nfn f() { let b = Crate::make() }\n",
        ),
        case(1002, "missing_import", "use std.«jsn»\nfn f() { }\n")
            .with(|_| near("json"))
            .to(0.8, "use std.json\nfn f() { }\n")
            .to(0.5, "fn f() { }\n"),
        case(1002, "other", "use std.«zzzzzz»\nfn f() { }\n").to(0.5, "fn f() { }\n"),
        case(1003, "correct_macro_attr", "«@tol(\"x\")»\nfn f(a: Str) -> Str { a }\n")
            .with(|_| near("tool"))
            .to(0.75, "@tool(\"x\")\nfn f(a: Str) -> Str { a }\n"),
        case(1004, "other", "«@tool(\"t\")»\nstruct S { a: I32 }\n").to(0.6, "struct S { a: I32 }\n"),
        case(1004, "other", "«@tool(\"t\")» struct S { a: I32 }\n").to(0.6, "struct S { a: I32 }\n"),
        case(1090, "other", "fn f() { }\nfn «f»() { log(\"2\") }\n").to(0.5, "fn f() { log(\"2\") }\n"),
        case(2002, "rename_to_match_decl", "fn f(s: «Strng») { }\n")
            .with(|_| near("String"))
            .to(0.85, "fn f(s: String) { }\n"),
        case(2002, "rename_to_match_decl", "pub struct Size2 { n: I32 }\nmod node { pub struct Other { n: I32 } }\nfn f(s: node.«Sise») { }\n")
            .with(|_| near("Size")),
        case(2002, "rename_to_match_decl", "mod node { pub struct Strong { n: I32 } }\nfn f(s: node.«Strng») { }\n")
            .with(|_| near("Strong"))
            .to(0.85, "mod node { pub struct Strong { n: I32 } }\nfn f(s: node.Strong) { }\n"),
        case(2021, "rename_to_match_decl", "fn f(greeting: Str) { log(«greetng») }\n")
            .with(|_| near("greeting"))
            .to(0.85, "fn f(greeting: Str) { log(greeting) }\n"),
        case(
            2021,
            "rename_to_match_decl",
            "fn f() {\n  let total = 1\n  log(«totl»)\n  log(totl + totl)\n  log(format!(\"{totl:>4} {}\", totl))\n}\n",
        )
        .with(|_| near("total"))
        .to(0.85, "fn f() {\n  let total = 1\n  log(total)\n  log(total + total)\n  log(format!(\"{total:>4} {}\", total))\n}\n"),
        case(
            2021,
            "rename_to_match_decl",
            "fn f() {\n  let total = 1\n  log(format!(\"n {«totl»}\"))\n}\n",
        )
        .with(|_| near("total"))
        .to(0.85, "fn f() {\n  let total = 1\n  log(format!(\"n {total}\"))\n}\n"),
        case(2029, "missing_import", "use demo.«trgi»\nmod trig { }\nfn f() { }\n")
            .with(|_| near("trig"))
            .to(0.8, "use demo.trig\nmod trig { }\nfn f() { }\n"),
        case(2030, "rename_to_match_decl", "use std.json.«parze»\nfn f() { }\n")
            .with(|_| near("parse"))
            .to(0.85, "use std.json.parse\nfn f() { }\n"),
        case(2023, "rename_to_match_decl", "fn Strr() -> U8 { 1 }\nfn f(v: Vec[«Strr»]) { }\n")
            .to(0.5, "fn Strr() -> U8 { 1 }\nfn f(v: Vec[Str]) { }\n"),
    ]
}

fn members() -> Vec<Case> {
    vec![
        case(2006, "rename_to_match_decl", "struct P { width: I32 }\nfn f(p: P) -> I32 { p.«widht» }\n")
            .with(|_| near("width"))
            .to(0.85, "struct P { width: I32 }\nfn f(p: P) -> I32 { p.width }\n"),
        case(
            2007,
            "rename_to_match_decl",
            "struct P { x: I32 }\nimpl P { fn spin(self: &Self) { } }\nfn f(p: P) { p.«spinn»() }\n",
        )
        .with(|_| near("spin"))
        .to(0.85, "struct P { x: I32 }\nimpl P { fn spin(self: &Self) { } }\nfn f(p: P) { p.spin() }\n"),
        case(2009, "rename_to_match_decl", "enum Hue { Red, Blue }\nfn f() -> Hue { Hue.«Blu» }\n")
            .with(|_| near("Blue"))
            .to(0.85, "enum Hue { Red, Blue }\nfn f() -> Hue { Hue.Blue }\n"),
        case(4021, "rename_to_match_decl", "trait A { fn go(self: &Self) }\nfn f(p: dyn A) { p.«goo»() }\n")
            .with(|_| near("go"))
            .to(0.75, "trait A { fn go(self: &Self) }\nfn f(p: dyn A) { p.go() }\n"),
        case(4064, "rename_to_match_decl", "fn f(n: Net) { n.«gett»(\"u\") }\n")
            .with(|_| near("get"))
            .to(0.8, "fn f(n: Net) { n.get(\"u\") }\n"),
        case(
            4020,
            "other",
            "struct P { x: I32 }\ntrait A { fn go(self: &Self) }\nimpl A for P { fn go(self: &Self) { } }\ntrait B { fn go(self: &Self) }\nimpl B for P { fn go(self: &Self) { } }\nfn f(p: P) { p.«go»() }\n",
        )
        .to(0.6, "struct P { x: I32 }\ntrait A { fn go(self: &Self) }\nimpl A for P { fn go(self: &Self) { } }\ntrait B { fn go(self: &Self) }\nimpl B for P { fn go(self: &Self) { } }\nfn f(p: P) { A::go(&p) }\n")
        .to(0.6, "struct P { x: I32 }\ntrait A { fn go(self: &Self) }\nimpl A for P { fn go(self: &Self) { } }\ntrait B { fn go(self: &Self) }\nimpl B for P { fn go(self: &Self) { } }\nfn f(p: P) { B::go(&p) }\n"),
    ]
}

fn macros() -> Vec<Case> {
    vec![
        case(6001, "correct_macro_attr", "fn f() { «asert»!(true) }\n")
            .with(|_| near("assert"))
            .to(0.85, "fn f() { assert!(true) }\n"),
        case(6002, "other", "fn f() { «assert_eq!(1)» }\n").to(0.6, "fn f() { assert_eq!(1, 0) }\n"),
        case(6002, "other", "fn f(a: I32) -> Str { «format!(\"{} {}\", a)» }\n")
            .to(0.6, "fn f(a: I32) -> Str { format!(\"{} {}\", a, 0) }\n"),
        case(6002, "other", "fn f(a: I32) -> Str { «format!(\"{}\", a, g(a, a))» }\nfn g(a: I32, b: I32) -> I32 { a + b }\n")
            .to(0.6, "fn f(a: I32) -> Str { format!(\"{}\", a) }\nfn g(a: I32, b: I32) -> I32 { a + b }\n"),
        case(6009, "other", "fn f() -> Str { format!(«\"{ x\"») }\n")
            .to(0.6, "fn f() -> Str { format!(\"{{ x\") }\n"),
        case(6010, "other", "fn f(a: I32) -> Str { format!(«\"{0}\"», a) }\n")
            .to(0.7, "fn f(a: I32) -> Str { format!(\"{}\", a) }\n"),
        case(6009, "other", "fn f(y: Str) -> Str { format!(«\"{ x\" + y») }\n"),
        case(
            6010,
            "other",
            "fn g(s: Str, f: F64) -> Str { format!(\"{s:*^9.3} «{f:08.2_}»\") }\n",
        )
        .to(0.7, "fn g(s: Str, f: F64) -> Str { format!(\"{s:*^9.3} {f}\") }\n"),
        case(6010, "other", "fn f(s: Str) -> Str { format!(\"«{0:>5}»\", s) }\n")
            .with(|text| analysis::FixHint::Replace {
                range: super::cases::at(text, "{0:>5}"),
                text: "{:>5}".to_owned(),
            })
            .to(0.7, "fn f(s: Str) -> Str { format!(\"{:>5}\", s) }\n"),
        case(6013, "correct_macro_attr", "«@tool(5)»\nfn f(a: Str) -> Str { a }\n")
            .to(0.6, "@tool(\"TODO\")\nfn f(a: Str) -> Str { a }\n"),
        case(6013, "correct_macro_attr", "«@tool(cap: fs.read)»\nfn f(a: Str) -> Str { a }\n")
            .to(0.6, "@tool(\"TODO\", cap: fs.read)\nfn f(a: Str) -> Str { a }\n"),
        case(6016, "add_type_annotation", "@tool(\"d\")\nfn f(«x») -> Str { \"\" }\n")
            .to(0.5, "@tool(\"d\")\nfn f(x: Str) -> Str { \"\" }\n"),
        case(
            6017,
            "correct_macro_attr",
            "protocol P { }\n«@computer_use(width: 800, height: 600)»\nagent A: P { }\n",
        )
        .to(
            0.8,
            "protocol P { }\n@computer_use(width: 800, height: 600, cap: computer.screen + computer.input)\nagent A: P { }\n",
        ),
    ]
}
