//! MT4xxx and the agents' codes.

use analysis::FixHint;

use crate::cases::{Case, at, case};

pub(crate) fn cases() -> Vec<Case> {
    let mut all = clauses();
    all.extend(rows());
    all.extend(capabilities());
    all.extend(agents());
    all.extend(traits());
    all.extend(taint());
    all
}

fn fs(t: &str) -> FixHint {
    FixHint::AddEffects {
        effects: vec!["fs".into()],
        clause: None,
        at: at(t, "-> Unit").end,
    }
}

fn clauses() -> Vec<Case> {
    vec![
        case(4001, "add_effect", "pub fn «ld»(fs: Fs) -> Unit { fs.read(\"c\") }\n")
            .with(fs)
            .to(1.0, "pub fn ld(fs: Fs) -> Unit effect fs { fs.read(\"c\") }\n"),
        case(4001, "add_effect", "pub fn «ld»(fs: Fs) -> Unit effect net { fs.read(\"c\") }\n")
            .with(fs)
            .to(1.0, "pub fn ld(fs: Fs) -> Unit effect net, fs { fs.read(\"c\") }\n"),
        case(4001, "add_effect", "pub fn «ld»(fs: Fs) -> Unit !{net} { fs.read(\"c\") }\n")
            .titled("`ld` has the effect `fs`, which it does not declare")
            .to(1.0, "pub fn ld(fs: Fs) -> Unit !{net, fs} { fs.read(\"c\") }\n"),
        case(
            4050,
            "add_effect",
            "pub fn «f»(xs: Vec[Str]) -> Unit { xs.for_each(fn(p) { fs.read(p) }) }\n",
        )
        .with(fs)
        .to(0.9, "pub fn f(xs: Vec[Str]) -> Unit effect fs { xs.for_each(fn(p) { fs.read(p) }) }\n"),
        case(
            4059,
            "add_effect",
            "fn each[E](xs: Vec[Str], go: fn(Str) -> Unit) -> Unit !{| E} { for x in xs { go(x) } }\npub fn «f»(xs: Vec[Str]) -> Unit { each(xs, fn(p) { fs.read(p) }) }\n",
        )
        .with(|t| FixHint::AddEffects { effects: vec!["fs".into()], clause: None, at: at(t, "Unit { each").start + 4 })
        .to(0.9, "fn each[E](xs: Vec[Str], go: fn(Str) -> Unit) -> Unit !{| E} { for x in xs { go(x) } }\npub fn f(xs: Vec[Str]) -> Unit effect fs { each(xs, fn(p) { fs.read(p) }) }\n"),
        case(4010, "add_capability", "fn f(fs: Fs) { let g = fn(c) { c }; g(«fs») }\n")
            .with(|t| FixHint::Replace { range: at(t, "(fs) }").inner(), text: "fs.path(\"/srv\")".into() })
            .to(0.85, "fn f(fs: Fs) { let g = fn(c) { c }; g(fs.path(\"/srv\")) }\n"),
    ]
}

fn rows() -> Vec<Case> {
    vec![
        case(
            4055,
            "add_effect",
            "fn «h»[E](a: I32, b: I32) -> I32 !{| E} { a }\n",
        )
        .to(0.8, "fn h(a: I32, b: I32) -> I32 { a }\n"),
        case(
            4056,
            "add_effect",
            "fn «h»[E](a: I32) -> I32 !{fs | E} { a }\n",
        )
        .to(0.85, "fn h(a: I32) -> I32 !{fs} { a }\n"),
        case(4057, "add_effect", "fn «h»[E]() -> I32 !{| E} { 1 }\n")
            .to(0.8, "fn h() -> I32 { 1 }\n")
            .to(0.6, "fn h[E](step: fn() -> Unit) -> I32 !{| E} { 1 }\n"),
    ]
}

fn capabilities() -> Vec<Case> {
    vec![
        case(4060, "add_capability", "fn f() { «Fs».read(\"a\") }\n")
            .to(0.8, "fn f(fs: Fs) { fs.read(\"a\") }\n"),
        case(
            4060,
            "add_capability",
            "fn f(disk: Fs) { «Fs».read(\"a\") }\n",
        )
        .to(0.8, "fn f(disk: Fs) { disk.read(\"a\") }\n"),
        case(
            4061,
            "other",
            "fn a(c: Fs) { c.read(\"x\") }\nfn b(«c: Net») { c.get(\"y\") }\n",
        )
        .to(
            0.6,
            "fn a(c: Fs) { c.read(\"x\") }\nfn b(net: Net) { net.get(\"y\") }\n",
        ),
        case(
            4062,
            "add_capability",
            "fn a(disk: Fs) { disk.read(\"x\") }\nfn b() { «disk».read(\"y\") }\n",
        )
        .to(
            0.6,
            "fn a(disk: Fs) { disk.read(\"x\") }\nfn b(disk: Fs) { disk.read(\"y\") }\n",
        ),
        case(4063, "other", "fn f(c: Fs, «c»: Net) { }\n").to(0.8, "fn f(c: Fs, net: Net) { }\n"),
    ]
}

fn agents() -> Vec<Case> {
    vec![
        case(
            2026,
            "declare_protocol_message",
            "protocol Q { Go() }\nagent C: Q {\n  on Go() { }\n  on «Halted»(n: I32) { }\n}\n",
        )
        .to(0.8, "protocol Q { Go(), Halted(n: I32) }\nagent C: Q {\n  on Go() { }\n  on Halted(n: I32) { }\n}\n"),
        case(
            2026,
            "declare_protocol_message",
            "mod a { protocol Q { Go() } }\nprotocol Q { Go() }\nagent C: Q {\n  on Go() { }\n  on «Halted»() { }\n}\n",
        )
        .to(0.8, "mod a { protocol Q { Go() } }\nprotocol Q { Go(), Halted() }\nagent C: Q {\n  on Go() { }\n  on Halted() { }\n}\n"),
        case(2026, "rename_to_match_decl", "protocol Q {\n  Went()\n}\nagent C: Q { on «Wend»() { } }\n")
            .to(0.85, "protocol Q {\n  Went()\n}\nagent C: Q { on Went() { } }\n")
            .to(0.8, "protocol Q {\n  Went()\n  Wend()\n}\nagent C: Q { on Wend() { } }\n"),
        case(4030, "other", "protocol Q { Put(n: I32) }\nagent C: Q { on «Put»() { } }\n")
            .to(0.85, "protocol Q { Put(n: I32) }\nagent C: Q { on Put(n) { } }\n"),
        case(4031, "type_conversion", "protocol Q { Put(n: I32) }\nagent C: Q { on Put(«n: Str») { } }\n")
            .to(0.85, "protocol Q { Put(n: I32) }\nagent C: Q { on Put(n: I32) { } }\n"),
        case(4032, "declare_protocol_message", "protocol Q { Put(n: I32) }\nagent «C»: Q { }\n")
            .to(0.85, "protocol Q { Put(n: I32) }\nagent C: Q { on Put(n) { } }\n"),
        case(
            4032,
            "declare_protocol_message",
            "protocol Q { Put(n: I32), Get() -> I32 }\nagent «C»: Q {\n  on Put(n) { }\n}\n",
        )
        .to(0.85, "protocol Q { Put(n: I32), Get() -> I32 }\nagent C: Q {\n  on Put(n) { }\n  on Get() { panic(\"todo\") }\n}\n"),
        case(4033, "other", "protocol Q { }\nagent C: Q {\n  n = 0\n  on «Zap»() { }\n}\n")
            .to(0.6, "protocol Q { }\nagent C: Q {\n  n = 0\n}\n"),
    ]
}

fn traits() -> Vec<Case> {
    vec![
        case(
            4022,
            "other",
            "trait A { }\nstruct P { x: I32 }\nimpl A for P { }\nimpl «A» for P { }\n",
        )
        .to(0.6, "trait A { }\nstruct P { x: I32 }\nimpl A for P { }\n"),
        case(4040, "other", "#[derive(«Copy»)] struct S { t: String }\n")
            .to(0.85, "struct S { t: String }\n"),
        case(
            4040,
            "other",
            "#[derive(«Copy», Eq)]\nstruct S { t: String }\n",
        )
        .to(0.85, "#[derive(Eq)]\nstruct S { t: String }\n"),
        case(
            4041,
            "correct_macro_attr",
            "#[derive(«Eqq»)] struct S { a: I32 }\n",
        )
        .to(0.75, "#[derive(Eq)] struct S { a: I32 }\n"),
        case(
            4041,
            "correct_macro_attr",
            "derive Eq, «Order» struct S { a: I32 }\n",
        )
        .to(0.75, "derive Eq struct S { a: I32 }\n"),
    ]
}

fn taint() -> Vec<Case> {
    vec![
        case(
            4099,
            "untaint",
            "use std.env\nfn main() {\n  let who = std.env.var(\"WHO\")\n  std.fs.write(\"who.txt\", «who»)\n}\n",
        )
        .to(0.92, "use std.env\nfn main() {\n  let who = std.env.var(\"WHO\")\n  if let Some(safe) = who.matches_regex(\"^[A-Za-z0-9 ]+$\") {\n    std.fs.write(\"who.txt\", safe)\n  }\n}\n")
        .to(0.9, "use std.env\nfn main() {\n  let who = std.env.var(\"WHO\")\n  std.fs.write(\"who.txt\", who.sanitize_with(HtmlEscape))\n}\n")
        .to(0.85, "use std.env\nfn main() {\n  let who = std.env.var(\"WHO\")\n  if let Some(v) = who.in_allowlist() {\n    std.fs.write(\"who.txt\", v)\n  }\n}\n"),
        case(
            4099,
            "untaint",
            "fn main() {\n  let q = std.env.var(\"Q\")\n  let n = std.sql.execute(«\"select \" + q»)\n  log(n)\n}\n",
        )
        .to(0.92, "fn main() {\n  let q = std.env.var(\"Q\")\n  let n = if let Some(safe) = (\"select \" + q).matches_regex(\"^[A-Za-z0-9 ]+$\") { std.sql.execute(safe) } else { panic(\"untrusted value\") }\n  log(n)\n}\n")
        .to(0.9, "fn main() {\n  let q = std.env.var(\"Q\")\n  let n = std.sql.execute((\"select \" + q).sanitize_with(SqlEscape))\n  log(n)\n}\n")
        .to(0.85, "fn main() {\n  let q = std.env.var(\"Q\")\n  let n = if let Some(v) = (\"select \" + q).in_allowlist() { std.sql.execute(v) } else { panic(\"untrusted value\") }\n  log(n)\n}\n"),
    ]
}

trait Inner {
    /// The two bytes after the first.
    fn inner(self) -> Self;
}

impl Inner for syntax::TextRange {
    fn inner(self) -> Self {
        Self::new(self.start + 1, self.start + 3)
    }
}
