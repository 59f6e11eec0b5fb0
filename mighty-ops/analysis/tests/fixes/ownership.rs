//! MT3xxx and MT4090.

use analysis::FixHint;

use crate::cases::{Case, at, case};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case(
            3001,
            "add_clone",
            "fn eat(s: String) { }\nfn f() {\n  let a = String(\"x\")\n  eat(a)\n  eat(«a»)\n}\n",
        )
        .to(0.85, "fn eat(s: String) { }\nfn f() {\n  let a = String(\"x\")\n  eat(a.clone())\n  eat(a)\n}\n"),
        case(
            3001,
            "add_clone",
            "fn eat(s: String) { }\nfn f() {\n  let a = String(\"x\")\n  let b = a\n  eat(«a»)\n}\n",
        )
        .to(0.85, "fn eat(s: String) { }\nfn f() {\n  let a = String(\"x\")\n  let b = a.clone()\n  eat(a)\n}\n")
        .to(0.7, "fn eat(s: String) { }\nfn f() {\n  let a = String(\"x\")\n  let b = &a\n  eat(a)\n}\n"),
        case(
            3001,
            "add_clone",
            "fn put(d: Fs) { }\nfn f(disk: Fs) {\n  put(disk)\n  put(«disk»)\n}\n",
        ),
        case(
            3001,
            "add_clone",
            "fn put(d: Fs) { }\nfn f(disk: Fs) {\n  let e = disk\n  put(«disk»)\n  put(e)\n}\n",
        ),
        case(
            3003,
            "add_clone",
            "fn eat(s: String) { }\nfn look(s: &String) { }\nfn f() {\n  let a = String(\"x\")\n  eat(a)\n  look(&«a»)\n}\n",
        )
        .to(0.85, "fn eat(s: String) { }\nfn look(s: &String) { }\nfn f() {\n  let a = String(\"x\")\n  eat(a.clone())\n  look(&a)\n}\n"),
        case(
            3002,
            "add_clone",
            "struct P { name: String }\nfn eat(s: String) { }\nfn look(p: &P) { }\nfn f(p: P) {\n  let r = &p\n  eat(«p.name»)\n  look(r)\n}\n",
        )
        .to(0.8, "struct P { name: String }\nfn eat(s: String) { }\nfn look(p: &P) { }\nfn f(p: P) {\n  let r = &p\n  eat(p.name.clone())\n  look(r)\n}\n"),
        case(
            3004,
            "other",
            "fn look(s: &String) { }\nfn poke(s: &mut String) { }\nfn f() {\n  let mut m = String(\"y\")\n  let r = &m\n  let w = «&mut m»\n  look(r)\n}\n",
        )
        .to(0.7, "fn look(s: &String) { }\nfn poke(s: &mut String) { }\nfn f() {\n  let mut m = String(\"y\")\n  let r = &m\n  look(r)\n  let w = &mut m\n}\n"),
        case(
            3005,
            "other",
            "fn look(s: &String) { }\nfn poke(s: &mut String) { }\nfn f() { let mut m = String(\"y\"); let w = &mut m; look(«&m»); poke(w) }\n",
        )
        .to(0.7, "fn look(s: &String) { }\nfn poke(s: &mut String) { }\nfn f() { let mut m = String(\"y\"); let w = &mut m; poke(w); look(&m) }\n"),
        case(
            3006,
            "other",
            "fn poke(s: &mut String) { }\nfn f() {\n  let mut m = String(\"y\")\n  let u = &mut m\n  let w = «&mut m»\n  poke(u)\n}\n",
        )
        .to(0.7, "fn poke(s: &mut String) { }\nfn f() {\n  let mut m = String(\"y\")\n  let u = &mut m\n  poke(u)\n  let w = &mut m\n}\n"),
        case(
            3007,
            "other",
            "fn look(s: &String) { }\nfn f() {\n  let a = String(\"a\")\n  let mut r = &a\n  {\n    let t = String(\"t\")\n    r = «&t»\n  }\n  look(r)\n}\n",
        )
        .to(0.6, "fn look(s: &String) { }\nfn f() {\n  let a = String(\"a\")\n  let mut r = &a\n  let t = String(\"t\")\n  {\n    r = &t\n  }\n  look(r)\n}\n"),
        case(
            3008,
            "add_clone",
            "fn eat(s: String) { }\nfn look(s: &String) { }\nfn f() {\n  let a = String(\"x\")\n  let r = &a\n  eat(«a»)\n  look(r)\n}\n",
        )
        .to(0.8, "fn eat(s: String) { }\nfn look(s: &String) { }\nfn f() {\n  let a = String(\"x\")\n  let r = &a\n  eat(a.clone())\n  look(r)\n}\n"),
        case(3009, "add_clone", "fn f(r: &String) { let s = «*r» }\n")
            .to(0.85, "fn f(r: &String) { let s = (*r).clone() }\n"),
        case(3010, "add_clone", "fn f() { let t = arena { let s = String(\"t\"); «s» } }\n")
            .to(0.6, "fn f() { let t = arena { let s = String(\"t\"); s.clone() } }\n"),
        case(
            3011,
            "add_clone",
            "protocol Q { Put(n: &I32) }\nfn f(g: Q, n: I32) { g!Put(«&n») }\n",
        )
        .to(0.75, "protocol Q { Put(n: &I32) }\nfn f(g: Q, n: I32) { g!Put(n) }\n"),
        case(3013, "add_mutability", "fn f() { let n = 1; let r = «&mut n» }\n")
            .to(1.0, "fn f() { let mut n = 1; let r = &mut n }\n"),
        case(3014, "add_mutability", "fn f() -> I32 { let n = 1; «n = 2»; n }\n")
            .to(1.0, "fn f() -> I32 { let mut n = 1; n = 2; n }\n"),
        case(3014, "add_mutability", "fn f(n: I32) -> I32 {\n  «n» += 2\n  n\n}\n")
            .with(|t| FixHint::MakeMut { binding: at(t, "n:").start_char() })
            .to(1.0, "fn f(mut n: I32) -> I32 {\n  n += 2\n  n\n}\n"),
        case(3015, "initialize_binding", "fn f() -> I32 { let n: I32; «n» }\n")
            .to(0.75, "fn f() -> I32 { let n: I32 = 0; n }\n"),
        case(
            3015,
            "initialize_binding",
            "fn f(b: Bool) -> I32 {\n  let n: I32\n  if b { n = 1 }\n  «n»\n}\n",
        )
        .to(0.75, "fn f(b: Bool) -> I32 {\n  let mut n: I32 = 0\n  if b { n = 1 }\n  n\n}\n"),
        case(4090, "other", "unsafe fn p() { }\nfn f() { «p()» }\n")
            .to(0.7, "unsafe fn p() { }\nfn f() { unsafe { p() } }\n"),
    ]
}

trait StartChar {
    /// The first byte of a range.
    fn start_char(self) -> Self;
}

impl StartChar for syntax::TextRange {
    fn start_char(self) -> Self {
        Self::new(self.start, self.start + 1)
    }
}
