//! Newlines, separators and statement ends (language.md §2): every test vector, every rule S1–S8.
#![allow(clippy::unwrap_used)]

use syntax::{SyntaxKind, parse};

/// The statements of a function body, one sketch each, and the errors as `code text`.
fn body(text: &str) -> (Vec<String>, Vec<String>) {
    let p = parse(format!("fn f() {{ {text} }}"));
    let block = p
        .tree
        .nodes()
        .find(|n| n.kind() == SyntaxKind::Block)
        .unwrap();
    let stmts = block
        .children()
        .map(|n| {
            let s = n.sketch();
            match s.strip_prefix("ExprStmt(") {
                Some(e) => e.strip_suffix(')').unwrap().to_owned(),
                None => s,
            }
        })
        .collect();
    let errors = p
        .errors
        .iter()
        .map(|e| {
            format!(
                "{} {}",
                e.code,
                &p.tree.text()[std::ops::Range::from(e.range)]
            )
        })
        .collect();
    (stmts, errors)
}

/// Asserts a clean body and its statements.
#[track_caller]
fn clean(text: &str, want: &[&str]) {
    let (stmts, errors) = body(text);
    assert_eq!(errors, [""; 0], "{text}");
    assert_eq!(stmts, want, "{text}");
}

#[track_caller]
fn faulty(text: &str, want: &[&str]) {
    assert_eq!(body(text).1, want, "{text}");
}

#[test]
fn vectors_left() {
    clean("a\n + b", &["BinaryExpr(PathExpr(a) + PathExpr(b))"]);
    clean("a\n - b", &["PathExpr(a)", "PrefixExpr(- PathExpr(b))"]);
    clean("a -\n b", &["BinaryExpr(PathExpr(a) - PathExpr(b))"]);
    clean(
        "(a\n - b)",
        &["ParenExpr(( BinaryExpr(PathExpr(a) - PathExpr(b)) ))"],
    );
    clean("f\n (x)", &["PathExpr(f)", "ParenExpr(( PathExpr(x) ))"]);
    clean("v\n [0]", &["PathExpr(v)", "ArrayExpr([ Literal(0) ])"]);
    clean(
        "r = a\n && b",
        &["AssignExpr(PathExpr(r) = BinaryExpr(PathExpr(a) && PathExpr(b)))"],
    );
    faulty("log(1) log(2)", &["MT0001 log"]);
    clean(
        "j\n ?Run()\n k\n ?Run()",
        &[
            "AskExpr(PathExpr(j) ? Run ArgList(( )))",
            "AskExpr(PathExpr(k) ? Run ArgList(( )))",
        ],
    );
    faulty("j?Run()\n @2s", &["MT0001 @"]);
}

#[test]
fn vectors_right() {
    clean(
        "x\n .y()\n .z()",
        &["MethodCallExpr(MethodCallExpr(PathExpr(x) . y ArgList(( ))) . z ArgList(( )))"],
    );
    clean(
        "*p = k\n *q = k",
        &[
            "AssignExpr(PrefixExpr(* PathExpr(p)) = PathExpr(k))",
            "AssignExpr(PrefixExpr(* PathExpr(q)) = PathExpr(k))",
        ],
    );
    clean("return\n x", &["ReturnExpr(return)", "PathExpr(x)"]);
    let p = "Block({ ExprStmt(PathExpr(p)) })";
    let q = "Block({ ExprStmt(PathExpr(q)) })";
    let both = format!("IfExpr(if PathExpr(c) {p} else {q})");
    clean("if c { p }\n else { q }", &[&both]);
    clean(
        "if c { p } else { q } - 1",
        &[&both, "PrefixExpr(- Literal(1))"],
    );
    clean(
        "let n = if c { p } else { q } - 1",
        &[&format!(
            "LetStmt(let IdentPat(n) = BinaryExpr({both} - Literal(1)))"
        )],
    );
    clean(
        "match k { _ => v }.len()",
        &[
            "MethodCallExpr(MatchExpr(match PathExpr(k) ArmList({ MatchArm(WildcardPat(_) => PathExpr(v)) })) . len ArgList(( )))",
        ],
    );
    faulty("let n = 7 sec", &["MT0001 sec"]);
    faulty("let n = 7sec", &["MT0004 sec"]);
    clean(
        "j?\n Run()",
        &[
            "PropagateExpr(PathExpr(j) ?)",
            "CallExpr(PathExpr(Run) ArgList(( )))",
        ],
    );
    clean(
        "g(fn(x) { a\n - x }, c)",
        &[
            "CallExpr(PathExpr(g) ArgList(( LambdaExpr(fn ParamList(( Param(IdentPat(x)) )) \
            Block({ ExprStmt(PathExpr(a)) ExprStmt(PrefixExpr(- PathExpr(x))) })) , PathExpr(c) )))",
        ],
    );
}

#[test]
fn s1_newlines_while_an_operand_is_missing() {
    clean(
        "let\n x\n :\n I32\n =\n 1",
        &["LetStmt(let IdentPat(x) : PathType(I32) = Literal(1))"],
    );
    clean(
        "a +\n\n // so\n b",
        &["BinaryExpr(PathExpr(a) + PathExpr(b))"],
    );
    clean("-\n a", &["PrefixExpr(- PathExpr(a))"]);
    clean("x =\n y", &["AssignExpr(PathExpr(x) = PathExpr(y))"]);
    clean("x as\n U8", &["CastExpr(PathExpr(x) as PathType(U8))"]);
    clean(
        "if\n c\n { p }",
        &["IfExpr(if PathExpr(c) Block({ ExprStmt(PathExpr(p)) }))"],
    );
}

#[test]
fn s2_every_continuing_operator() {
    for op in [
        "+", "/", "%", "^", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "<<", ">>", "=", "+=",
        "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "..", "..=",
    ] {
        let (stmts, errors) = body(&format!("a\n {op} b"));
        assert_eq!((stmts.len(), errors.len()), (1, 0), "{op}");
    }
    clean("a\n as U8", &["CastExpr(PathExpr(a) as PathType(U8))"]);
    clean("a\n ?", &["PropagateExpr(PathExpr(a) ?)"]);
    clean("a // why\n . b", &["FieldExpr(PathExpr(a) . b)"]);
}

#[test]
fn s2_every_token_that_begins_a_statement() {
    for (text, second) in [
        ("a\n - b", "PrefixExpr(- PathExpr(b))"),
        ("a\n * b", "PrefixExpr(* PathExpr(b))"),
        ("a\n & b", "RefExpr(& PathExpr(b))"),
        (
            "a\n | b | c",
            "LambdaExpr(ParamList(| Param(IdentPat(b)) |) PathExpr(c))",
        ),
        ("a\n !b", "PrefixExpr(! PathExpr(b))"),
        (
            "a\n !Go(b)",
            "PrefixExpr(! CallExpr(PathExpr(Go) ArgList(( PathExpr(b) ))))",
        ),
        ("a\n (b)", "ParenExpr(( PathExpr(b) ))"),
        ("a\n [b]", "ArrayExpr([ PathExpr(b) ])"),
        ("a\n { b }", "Block({ ExprStmt(PathExpr(b)) })"),
    ] {
        clean(text, &["PathExpr(a)", second]);
    }
    // A line feed inside a block comment counts.
    clean(
        "a /*\n*/ - b",
        &["PathExpr(a)", "PrefixExpr(- PathExpr(b))"],
    );
    clean("a /* */ - b", &["BinaryExpr(PathExpr(a) - PathExpr(b))"]);
}

#[test]
fn s3_spaces_never_matter() {
    clean("a -b", &["BinaryExpr(PathExpr(a) - PathExpr(b))"]);
    clean("f (x)", &["CallExpr(PathExpr(f) ArgList(( PathExpr(x) )))"]);
    clean("v [0]", &["IndexExpr(PathExpr(v) [ Literal(0) ])"]);
    // Dead newlines.
    clean(
        "(f\n (x)\n [0])",
        &[
            "ParenExpr(( IndexExpr(CallExpr(PathExpr(f) ArgList(( PathExpr(x) ))) [ Literal(0) ]) ))",
        ],
    );
    clean(
        "[a\n * b]",
        &["ArrayExpr([ BinaryExpr(PathExpr(a) * PathExpr(b)) ])"],
    );
    // A brace inside makes them live again, its end dead again.
    clean(
        "(g({ a\n - b })\n - c)",
        &[
            "ParenExpr(( BinaryExpr(CallExpr(PathExpr(g) ArgList(( Block({ ExprStmt(PathExpr(a)) \
            ExprStmt(PrefixExpr(- PathExpr(b))) }) ))) - PathExpr(c)) ))",
        ],
    );
}

#[test]
fn s4_block_like_statements_end_at_their_brace() {
    for head in [
        "{ p }",
        "if c { p }",
        "match k { _ => v }",
        "loop { p }",
        "while c { p }",
        "for i in v { p }",
        "unsafe { p }",
        "task scope { p }",
        "detach { p }",
        "sandbox S with { wall 1s } { p }",
        "arena { p }",
        "arena l { p }",
        "budget { wall 1s } { p }",
    ] {
        for next in [
            "-1",
            "*q",
            "&q",
            "!q",
            "(q)",
            "[q]",
            "{ q }",
            "q",
            "let z = 1",
            "return",
            "|x| x",
        ] {
            let (stmts, errors) = body(&format!("{head} {next}"));
            assert_eq!(
                (stmts.len(), errors.len()),
                (2, 0),
                "{head} {next}: {stmts:?} {errors:?}"
            );
        }
        for next in [".len()", "?", "+ 1", "== q", "as U8"] {
            let (stmts, errors) = body(&format!("{head}{next}"));
            assert_eq!(
                (stmts.len(), errors.len()),
                (1, 0),
                "{head} {next}: {stmts:?} {errors:?}"
            );
        }
    }
    // Not first, or not braced: ordinary operands.
    clean(
        "arena l: a - 1",
        &["ArenaExpr(arena l : BinaryExpr(PathExpr(a) - Literal(1)))"],
    );
    let (stmts, errors) = body("budget { wall 1s } run go() - 1");
    assert_eq!((stmts.len(), errors.len()), (1, 0));
    let (stmts, errors) = body("x = { p } - 1");
    assert_eq!((stmts.len(), errors.len()), (1, 0), "{stmts:?}");
}

#[test]
fn s5_jump_operands() {
    clean("return x", &["ReturnExpr(return PathExpr(x))"]);
    clean(
        "loop { break\n x }",
        &["LoopExpr(loop Block({ ExprStmt(BreakExpr(break)) ExprStmt(PathExpr(x)) }))"],
    );
    clean(
        "loop { break x + 1 }",
        &[
            "LoopExpr(loop Block({ ExprStmt(BreakExpr(break BinaryExpr(PathExpr(x) + Literal(1)))) }))",
        ],
    );
    clean(
        "loop { if c { continue }\n x }",
        &[
            "LoopExpr(loop Block({ ExprStmt(IfExpr(if PathExpr(c) Block({ ExprStmt(ContinueExpr(continue)) }))) \
            ExprStmt(PathExpr(x)) }))",
        ],
    );
    clean(
        "return -1",
        &["ReturnExpr(return PrefixExpr(- Literal(1)))"],
    );
    clean("return; x", &["ReturnExpr(return) ;", "PathExpr(x)"]);
}

#[test]
fn s6_separators() {
    clean(
        "a; b; c",
        &["PathExpr(a) ;", "PathExpr(b) ;", "PathExpr(c)"],
    );
    clean(
        "fn g() { } a",
        &["FnDef(fn g ParamList(( )) Block({ }))", "PathExpr(a)"],
    );
    faulty("a b", &["MT0001 b"]);
    faulty("let x = match k { _ => v } y", &["MT0001 y"]);
    faulty("let a = 1 let b = 2", &["MT0001 let"]);
    // Every one is reported, and the statements are all there.
    let (stmts, errors) = body("a b c");
    assert_eq!(errors, ["MT0001 b", "MT0001 c"]);
    assert_eq!(stmts, ["PathExpr(a)", "PathExpr(b)", "PathExpr(c)"]);
}

#[test]
fn s7_empty_statements_and_tails() {
    use syntax::ast::{AstNode, Block};
    let tail = |text: &str| {
        let p = parse(format!("fn f() {{ {text} }}"));
        assert!(p.errors.is_empty(), "{text}");
        let block = p.tree.nodes().find_map(Block::cast).unwrap();
        block.tail().map(|e| e.text().to_owned())
    };
    assert_eq!(tail("a; b"), Some("b".into()));
    assert_eq!(tail("a; b;"), None);
    assert_eq!(tail("a; b;;"), None);
    assert_eq!(tail(";; a"), Some("a".into()));
    assert_eq!(tail("let x = 1"), None);
    assert_eq!(tail("a\n if c { p }"), Some("if c { p }".into()));
    assert_eq!(tail("if c { p };"), None);
    assert_eq!(tail(""), None);
}

#[test]
fn s8_patterns_ignore_newlines_and_arms_end_by_them() {
    let (stmts, errors) = body("match k {\n A\n |\n B\n if\n c\n =>\n 1\n _ => 2 }");
    assert_eq!((stmts.len(), errors.len()), (1, 0), "{errors:?}");
    let arms = |text: &str| {
        let p = parse(format!("fn f() {{ match k {{ {text} }} }}"));
        let n = p
            .tree
            .nodes()
            .filter(|n| n.kind() == SyntaxKind::MatchArm)
            .count();
        (n, p.errors.len())
    };
    assert_eq!(arms("1 => a\n -1 => b"), (2, 0));
    assert_eq!(arms("1 => a, 2 => b,"), (2, 0));
    assert_eq!(arms("1 => { a } 2 => { b }"), (2, 0));
    assert_eq!(arms("1 => { a } -2 => { b }"), (2, 0));
    assert_eq!(arms("1 => { a }.x\n 2 => b"), (2, 0));
    assert_eq!(arms("1 => a 2 => b"), (2, 1));
    assert_eq!(arms("1 => a\n + b\n 2 => c"), (2, 0));
    assert_eq!(arms("A => return\n B => 2"), (2, 0));
}

#[test]
fn list_bodies_take_commas_or_line_breaks() {
    for (head, a, b) in [
        ("struct S", "x: I32", "y: I32"),
        ("enum E", "A(I32)", "B"),
        ("protocol P", "Go()", "msg Stop(n: I32) -> I32"),
        ("agent A", "x = 1", "y: I32 = 2"),
        ("sandbox S with", "wall = 2s", "memory 64MiB"),
    ] {
        let tail = if head.starts_with("sandbox") {
            " { }"
        } else {
            ""
        };
        for text in [
            format!("{head} {{ {a}, {b} }}{tail}"),
            format!("{head} {{ {a}, {b}, }}{tail}"),
            format!("{head} {{\n {a}\n {b}\n }}{tail}"),
            format!("{head} {{\n {a},\n {b},\n }}{tail}"),
            format!("{head} {{ }}{tail}"),
        ] {
            let p = parse(text.as_str());
            assert!(p.errors.is_empty(), "{text}: {:?}", p.errors);
        }
        let text = format!("{head} {{ {a} {b} }}{tail}");
        let p = parse(text.as_str());
        assert_eq!(p.errors.len(), 1, "{text}");
        assert_eq!(p.errors[0].code, "MT0001");
        assert_eq!(
            p.errors[0].range.start as usize,
            text.find(b).unwrap(),
            "{text}"
        );
        let text = format!("{head} {{ {a},, {b} }}{tail}");
        let p = parse(text.as_str());
        assert_eq!(p.errors.len(), 1, "{text}: {:?}", p.errors);
    }
    let p = parse("agent A { on Go() { } on Stop() { } x = 1 }");
    assert!(p.errors.is_empty(), "{:?}", p.errors);
}

#[test]
fn same_line_postfix_rule() {
    clean(
        "j?Run(1)",
        &["AskExpr(PathExpr(j) ? Run ArgList(( Literal(1) )))"],
    );
    clean(
        "j!Run(1)",
        &["SendExpr(PathExpr(j) ! Run ArgList(( Literal(1) )))"],
    );
    // Dead newlines do not change it: `?` propagates, and the name has no use there.
    faulty("(j?\n Run())", &["MT0001 Run"]);
    faulty("(j\n @\n 2s)", &["MT0001 @"]);
    clean(
        "(j\n @2s)",
        &["ParenExpr(( DeadlineExpr(PathExpr(j) @ 2s) ))"],
    );
}
