//! MT0001 to MT0021.

use crate::cases::{Case, case};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case(1, "other", "fn f() { let n = «=» 4 }\n").to(0.6, "fn f() { let n = 4 }\n"),
        // Not a doubled token: nothing to offer.
        case(1, "", "fn f() { let n = 4 «let» m = 5 }\n"),
        case(2, "other", "fn f() { log(«\"half) }»\n").to(0.7, "fn f() { log(\"half\") }\n"),
        case(2, "other", "fn f() {\n  let a = «\"half»\n  a\n}\n")
            .to(0.7, "fn f() {\n  let a = \"half\"\n  a\n}\n"),
        case(3, "other", "fn f() { log(\"a«\\q»b\") }\n").to(0.75, "fn f() { log(\"a\\\\qb\") }\n"),
        case(4, "other", "fn f() { let t = 7«sec» }\n").to(0.8, "fn f() { let t = 7s }\n"),
        case(4, "other", "fn f() { let t = 2«days» }\n").to(0.8, "fn f() { let t = 48h }\n"),
        case(4, "other", "fn f() { }\n«/*» open\nfn g() { }\n")
            .to(0.5, "fn f() { }\n/* open */\nfn g() { }\n"),
        case(6, "other", "fn f() { let n = «9_» }\n").to(0.9, "fn f() { let n = 9 }\n"),
        case(6, "other", "fn f() { let n = «1__0» }\n").to(0.9, "fn f() { let n = 1_0 }\n"),
        case(6, "", "fn f() { let n = «0x» }\n"),
        case(10, "other", "mod util { «3 + 4» }\n").to(0.5, "mod util { fn added() { 3 + 4 } }\n"),
        case(10, "other", "«log(\"x\")\nlog(\"y\")»\n")
            .to(0.5, "fn main() {\n  log(\"x\")\n  log(\"y\")\n}\n"),
        case(12, "balance_delimiters", "fn f() { log((\"x\") «}»\n")
            .to(0.8, "fn f() { log((\"x\")) }\n"),
        case(12, "balance_delimiters", "fn f() { let v = [1, 2«)» }\n")
            .to(0.8, "fn f() { let v = [1, 2] }\n"),
        case(12, "balance_delimiters", "fn f() «{»\n  log(\"x\")\n")
            .to(0.8, "fn f() {\n  log(\"x\")\n}\n"),
        case(
            20,
            "other",
            "protocol P { Go() }\nagent A: P {\n  on Go() { }\n  /// again\n  on «Go»() { }\n}\n",
        )
        .to(0.6, "protocol P { Go() }\nagent A: P {\n  on Go() { }\n}\n"),
        case(
            20,
            "other",
            "protocol P { Go() }\nagent A: P { on Go() { }  on «Go»() { } }\n",
        )
        .to(0.6, "protocol P { Go() }\nagent A: P { on Go() { } }\n"),
        case(
            21,
            "add_return_type",
            "pub fn «area»(w: I32, h: I32) { w * h }\n",
        )
        .to(1.0, "pub fn area(w: I32, h: I32) -> I32 { w * h }\n"),
        case(
            21,
            "add_return_type",
            "pub fn «hi»() {\n  log(\"hi\");\n}\n",
        )
        .to(1.0, "pub fn hi() -> Unit {\n  log(\"hi\");\n}\n"),
        case(21, "add_return_type", "pub fn «big»(n: I64) { n > 5 }\n")
            .to(1.0, "pub fn big(n: I64) -> Bool { n > 5 }\n"),
        case(
            21,
            "add_return_type",
            "use far.away\npub fn «go»() { away.go() }\n",
        )
        .to(0.7, "use far.away\npub fn go() -> Unit { away.go() }\n"),
    ]
}
