//! Readings that the grammar decides between: effects or error sugar, literals or blocks, handler forms,
//! tolerant names, precedence. (language.md §1.4, §3)
#![allow(clippy::unwrap_used)]

use syntax::ast::{self, AstNode, HasAttrs, HasName};
use syntax::{Parse, SyntaxKind, parse};

#[track_caller]
fn clean(text: &str) -> Parse {
    let p = parse(text);
    assert!(p.errors.is_empty(), "{text}: {:#?}", p.errors);
    p
}

/// The sketch of the only expression statement of a body.
#[track_caller]
fn expr(text: &str) -> String {
    let p = clean(&format!("fn f() {{ loop {{ {text} }} }}"));
    let stmt = p
        .tree
        .nodes()
        .filter(|n| n.kind() == SyntaxKind::ExprStmt)
        .nth(1)
        .unwrap();
    stmt.children().next().unwrap().sketch()
}

/// Operators only: `(a + b)` for a binary node and so on.
#[track_caller]
fn shape(text: &str) -> String {
    expr(text)
        .replace("PathExpr(a)", "a")
        .replace("PathExpr(b)", "b")
        .replace("PathExpr(c)", "c")
        .replace("PathType(T)", "T")
}

#[test]
fn precedence() {
    assert_eq!(shape("a + b * c"), "BinaryExpr(a + BinaryExpr(b * c))");
    assert_eq!(shape("a * b + c"), "BinaryExpr(BinaryExpr(a * b) + c)");
    assert_eq!(shape("a - b - c"), "BinaryExpr(BinaryExpr(a - b) - c)");
    assert_eq!(shape("a = b = c"), "AssignExpr(a = AssignExpr(b = c))");
    assert_eq!(shape("a = b..c"), "RangeExpr(AssignExpr(a = b) .. c)");
    assert_eq!(shape("a..b = c"), "RangeExpr(a .. AssignExpr(b = c))");
    assert_eq!(shape("a..b..=c"), "RangeExpr(RangeExpr(a .. b) ..= c)");
    assert_eq!(shape("a < b < c"), "BinaryExpr(BinaryExpr(a < b) < c)");
    assert_eq!(shape("a || b && c"), "BinaryExpr(a || BinaryExpr(b && c))");
    assert_eq!(shape("a == b | c"), "BinaryExpr(a == BinaryExpr(b | c))");
    assert_eq!(shape("a | b ^ c"), "BinaryExpr(a | BinaryExpr(b ^ c))");
    assert_eq!(shape("a ^ b & c"), "BinaryExpr(a ^ BinaryExpr(b & c))");
    assert_eq!(shape("a & b << c"), "BinaryExpr(a & BinaryExpr(b << c))");
    assert_eq!(shape("a << b + c"), "BinaryExpr(a << BinaryExpr(b + c))");
    assert_eq!(shape("a * b as T"), "BinaryExpr(a * CastExpr(b as T))");
    assert_eq!(shape("-a as T"), "CastExpr(PrefixExpr(- a) as T)");
    assert_eq!(shape("&a as *T"), "CastExpr(RefExpr(& a) as PtrType(* T))");
    assert_eq!(shape("-a.b"), "PrefixExpr(- FieldExpr(a . b))");
    assert_eq!(shape("!a?"), "PrefixExpr(! PropagateExpr(a ?))");
    assert_eq!(shape("a as T as T"), "CastExpr(CastExpr(a as T) as T)");
    assert_eq!(shape("a += b + c"), "AssignExpr(a += BinaryExpr(b + c))");
    assert_eq!(shape("join a + b"), "BinaryExpr(JoinExpr(join a) + b)");
    assert_eq!(shape("move a.b"), "MoveExpr(move FieldExpr(a . b))");
    assert_eq!(shape("run a + b"), "RunExpr(run BinaryExpr(a + b))");
    assert_eq!(
        shape("return a = b"),
        "ReturnExpr(return AssignExpr(a = b))"
    );
    assert_eq!(
        shape("a?Get() @2s?"),
        "PropagateExpr(DeadlineExpr(AskExpr(a ? Get ArgList(( ))) @ 2s) ?)"
    );
}

#[test]
fn glued_operators_split() {
    assert_eq!(shape("&&a"), "RefExpr(& RefExpr(& a))");
    assert_eq!(
        shape("a && &&b"),
        "BinaryExpr(a && RefExpr(& RefExpr(& b)))"
    );
    assert_eq!(shape("a & &&b"), "BinaryExpr(a & RefExpr(& RefExpr(& b)))");
    assert_eq!(
        shape("|| a || b"),
        "LambdaExpr(ParamList(| |) BinaryExpr(a || b))"
    );
    assert_eq!(
        shape("a.match || b"),
        "BinaryExpr(FieldExpr(a . match) || b)"
    );
    assert_eq!(shape("a?\n || b"), "BinaryExpr(PropagateExpr(a ?) || b)");
    assert_eq!(shape("a.0.1"), "FieldExpr(FieldExpr(a . 0) . 1)");
    assert_eq!(
        shape("a.0.1.2"),
        "FieldExpr(FieldExpr(FieldExpr(a . 0) . 1) . 2)"
    );
    assert_eq!(shape("1..4"), "RangeExpr(Literal(1) .. Literal(4))");
    assert_eq!(shape("a == 1.5"), "BinaryExpr(a == Literal(1.5))");
    let p = clean("fn f(x: &&T, y: fn(&&T) -> &&T) { match x { &&y => 1 } }");
    assert_eq!(
        p.tree
            .nodes()
            .filter(|n| n.kind() == SyntaxKind::RefType)
            .count(),
        6
    );
}

#[test]
fn struct_literals_and_conditions() {
    assert!(shape("if a { b }").starts_with("IfExpr(if a Block("));
    assert!(shape("if a == b { c }").starts_with("IfExpr(if BinaryExpr(a == b) Block("));
    assert!(shape("match a { }").starts_with("MatchExpr(match a ArmList("));
    assert!(shape("for x in a { }").starts_with("ForExpr(for IdentPat(x) in a Block("));
    assert!(shape("while a { }").starts_with("WhileExpr(while a Block("));
    assert!(shape("if (a { }).b { c }").contains("StructLit(a StructLitFields"));
    assert!(shape("if g(a { }) { c }").contains("StructLit(a StructLitFields"));
    assert!(shape("if v[a { x: 1 }.x] { c }").contains("StructLit(a StructLitFields"));
    assert_eq!(
        shape("a { b }"),
        "StructLit(a StructLitFields({ StructLitField(b) }))"
    );
    assert!(shape("a.b { c: 1 }").starts_with("StructLit(FieldExpr(a . b) "));
    assert!(shape("a::b { c: 1 }").starts_with("StructLit(ScopeExpr(a :: b) "));
    assert!(shape("a::[T] { 1: b }").starts_with("MapLit(TurbofishExpr(a :: TypeArgs([ T ]))"));
    assert_eq!(shape("a\n { b }"), "a");
}

#[test]
fn error_sugar_or_effects() {
    let read = |sig: &str| {
        let p = clean(&format!("fn f[E](x: I32) {sig} {{ x }}"));
        let f = p.tree.nodes().find_map(ast::FnDef::cast).unwrap();
        let ty = f.ret_type().and_then(ast::RetType::ty);
        let sugar = matches!(ty, Some(ast::Type::ResultType(_)));
        let row = f.effects().map(|e| {
            let words = |i: &mut dyn Iterator<Item = syntax::Token<'_>>| {
                i.map(|t| t.text().to_owned()).collect::<Vec<_>>().join(" ")
            };
            format!("{}|{}", words(&mut e.effects()), words(&mut e.row_vars()))
        });
        (sugar, row)
    };
    assert_eq!(read("-> T!E"), (true, None));
    assert_eq!(read("-> T !E"), (true, None));
    assert_eq!(read("-> Vec[T]!a.E"), (true, None));
    assert_eq!(read("-> &T!E"), (true, None));
    assert_eq!(read("-> T!{A, B}"), (true, None));
    assert_eq!(read("-> T!{A}"), (true, None));
    assert_eq!(read("-> T!{}"), (false, Some("|".into())));
    assert_eq!(read("-> T!{fs}"), (false, Some("fs|".into())));
    assert_eq!(read("-> T !{spawn, fs}"), (false, Some("spawn fs|".into())));
    assert_eq!(read("-> T!{| E}"), (false, Some("|E".into())));
    assert_eq!(read("-> T!{Fs | E}"), (false, Some("Fs|E".into())));
    assert_eq!(
        read("-> T!{fs, net | E, F}"),
        (false, Some("fs net|E F".into()))
    );
    assert_eq!(read("-> ()!E"), (false, Some("|E".into())));
    assert_eq!(read("-> (T, U) !E"), (false, Some("|E".into())));
    assert_eq!(read("-> T!A !{fs}"), (true, Some("fs|".into())));
    assert_eq!(read("-> T!A effect fs | E"), (true, Some("fs|E".into())));
    assert_eq!(read("effect fs"), (false, Some("fs|".into())));
    // A row variable takes no trailing comma.
    assert_eq!(parse("fn f() effect fs | E, { }").errors.len(), 1);
    // Elsewhere `!` is always the sugar.
    let p = clean(
        "struct S { a: ()!E, b: T!{a, b} }\nfn g(x: (I32, U)!E, f: fn() effect fs, y: T) { }",
    );
    assert_eq!(
        p.tree
            .nodes()
            .filter(|n| n.kind() == SyntaxKind::ResultType)
            .count(),
        3
    );
    assert_eq!(
        p.tree
            .nodes()
            .filter(|n| n.kind() == SyntaxKind::Param)
            .count(),
        3
    );
}

#[test]
fn handler_bodies() {
    let form = |tail: &str| {
        let p = clean(&format!("agent A {{ on M(a) {tail}\n on N() {{ }} }}"));
        let agent = p
            .file()
            .items()
            .find_map(|i| ast::AgentDef::cast(i.syntax()))
            .unwrap();
        assert_eq!(agent.handlers().count(), 2, "{tail}");
        let h = agent.handlers().next().unwrap();
        (
            h.ret_type().is_some(),
            h.block().is_some(),
            h.expr_body().is_some(),
        )
    };
    assert_eq!(form("{ a }"), (false, true, false));
    assert_eq!(form("-> { a }"), (false, true, false));
    assert_eq!(form("-> a"), (false, false, true));
    assert_eq!(form("-> a\n + b"), (false, false, true));
    assert_eq!(form("-> I32 { a }"), (true, true, false));
    assert_eq!(form("-> Vec[I32]!E { a }"), (true, true, false));
    assert_eq!(form("-> (I32, Str) { a }"), (true, true, false));
    assert_eq!(form("-> Point { x: 1 }"), (false, false, true));
    assert_eq!(form("-> Point { x, y: 1 }"), (false, false, true));
    assert_eq!(form("-> Point { }"), (true, true, false));
    assert_eq!(form("-> (a + b)"), (false, false, true));
    assert_eq!(form("-> a.len()"), (false, false, true));
    assert_eq!(form("-> if a { 1 } else { 2 }"), (false, false, true));
    assert_eq!(form("-> &a"), (false, false, true));
}

#[test]
fn tolerant_names() {
    clean("fn f() { dom.on(x); job.spawn(); page.match; a.type.self.await_ }");
    clean("use a.match.state\nfn f(x: a.on.B) { }");
    clean("struct S { state: I32, match: I32 }\nfn f() { S { state: 1, match: 2 } }");
    clean("agent A { state = 1, on = 2, spawn: I32 = 3\n state state = 4 }");
    clean("fn f(budget: I32) { let budget = budget + 1; g(budget); budget.x; budget[0] }");
    clean("fn f() effect spawn, unsafe, state { }");
    clean("fn and() { } fn union() { } fn init() { } fn msg() { } fn strategy() { } fn v1() { }");
    for text in [
        "fn return() { }",
        "struct match { }",
        "fn f() { let match = 1 }",
        "fn f(state: I32) { }",
    ] {
        assert_eq!(
            parse(text).errors.len(),
            1,
            "{text}: {:#?}",
            parse(text).errors
        );
    }
}

#[test]
fn views_find_the_parts() {
    let p = clean(
        "/// One.\n/// Two.\n#[derive(Copy)]\nderive Eq, Hash struct P[T: A + b.C] { pub x: T, y: I32 }\n\
         pub(crate) const fn area(mut w: I32, h: I32) -> I32 requires w > 0 { let r = w * h; r }\n\
         use a.b as c\nimpl A[T] for P { }",
    );
    let items: Vec<_> = p.file().items().collect();
    let ast::Item::StructDef(s) = items[0] else {
        panic!()
    };
    assert_eq!(s.name().unwrap().text(), "P");
    assert_eq!(
        s.derives().map(|t| t.text()).collect::<Vec<_>>(),
        ["Copy", "Eq", "Hash"]
    );
    assert_eq!(
        s.doc_comments()
            .iter()
            .map(|t| t.text())
            .collect::<Vec<_>>(),
        ["/// One.", "/// Two."]
    );
    let fields: Vec<_> = s
        .fields()
        .map(|f| (f.name().unwrap().text(), f.visibility().is_some()))
        .collect();
    assert_eq!(fields, [("x", true), ("y", false)]);
    let t = s.generics().unwrap().params().next().unwrap();
    assert_eq!(
        t.bounds()
            .unwrap()
            .paths()
            .map(|b| b.text())
            .collect::<Vec<_>>(),
        ["A", "b.C"]
    );
    let ast::Item::FnDef(f) = items[1] else {
        panic!()
    };
    assert!(
        f.visibility().unwrap().is_crate()
            && f.const_token().is_some()
            && f.unsafe_token().is_none()
    );
    let names: Vec<_> = f
        .params()
        .unwrap()
        .params()
        .map(|p| p.name().unwrap().text())
        .collect();
    assert_eq!(names, ["w", "h"]);
    assert_eq!(f.requires().count(), 1);
    let block = f.block().unwrap();
    assert_eq!(block.tail().unwrap().text(), "r");
    let Some(ast::Stmt::LetStmt(l)) = block.stmts().next() else {
        panic!()
    };
    let Some(ast::Expr::BinaryExpr(b)) = l.value() else {
        panic!()
    };
    assert_eq!(
        (
            b.lhs().unwrap().text(),
            b.op_token().unwrap().text(),
            b.rhs().unwrap().text()
        ),
        ("w", "*", "h")
    );
    assert_eq!(items[2].name().unwrap().text(), "c");
    let ast::Item::ImplDef(i) = items[3] else {
        panic!()
    };
    assert_eq!(
        (
            i.trait_type().unwrap().text(),
            i.self_type().unwrap().text()
        ),
        ("A[T]", "P")
    );
}

#[test]
fn literal_values() {
    let lit = |text: &str| {
        let p = clean(&format!("const X = {text}"));
        let l = p.tree.nodes().find_map(ast::Literal::cast).unwrap();
        match l.token() {
            ast::LitToken::Int(i) => format!("{:?} {:?}", i.value().unwrap(), i.suffix()),
            ast::LitToken::Float(f) => format!("{:?} {:?}", f.value().unwrap(), f.suffix()),
            ast::LitToken::Size(t) => format!("{}", ast::size_value(t).unwrap()),
            ast::LitToken::Duration(t) => format!("{}", ast::duration_ns(t).unwrap()),
            ast::LitToken::Str(s) => s.value(),
            ast::LitToken::Bytes(t) => format!("{:?}", ast::bytes_value(t)),
            ast::LitToken::Char(t) => format!("{:?}", ast::char_value(t).unwrap()),
            ast::LitToken::Html(t) => ast::html_raw(t).to_owned(),
            ast::LitToken::Bool(b) => b.to_string(),
        }
    };
    assert_eq!(lit("7_u8"), "7 Some(\"u8\")");
    assert_eq!(lit("1_000"), "1000 None");
    assert_eq!(lit("0xFF_i64"), "255 Some(\"i64\")");
    assert_eq!(lit("0b1_0u32"), "2 Some(\"u32\")");
    assert_eq!(lit("0o17"), "15 None");
    assert_eq!(lit("1.5e3_f32"), "1500.0 Some(\"f32\")");
    assert_eq!(lit("64MiB"), (64u64 << 20).to_string());
    assert_eq!(lit("3k"), "3000");
    assert_eq!(lit("2m"), "120000000000");
    assert_eq!(lit("\"a\\n\\x41\\x{42}\\u{e9}\\\"\""), "a\nAB\u{e9}\"");
    assert_eq!(lit("r#\"a\\n\"b\"#"), "a\\n\"b");
    assert_eq!(lit("b\"a\\xFF\""), "[97, 255]");
    assert_eq!(lit("'\\''"), "'\\''");
    assert_eq!(lit("'é'"), "'é'");
    assert_eq!(lit("html\"<b>{x}</b>\""), "<b>{x}</b>");
    assert_eq!(lit("true"), "true");
}

#[test]
fn elements_and_neighbours() {
    let p = clean("fn f() { a /* x */ + b }");
    let bin = p
        .tree
        .nodes()
        .find(|n| n.kind() == SyntaxKind::BinaryExpr)
        .unwrap();
    let texts: String = bin
        .elements()
        .map(|e| match e {
            syntax::Element::Node(n) => n.text(),
            syntax::Element::Token(t) => t.text(),
        })
        .collect();
    assert_eq!(texts, bin.text());
    assert_eq!(
        bin.own_tokens().map(|t| t.text()).collect::<Vec<_>>(),
        ["+"]
    );
    let plus = bin.own_tokens().next().unwrap();
    assert_eq!(plus.parent(), bin);
    assert_eq!(plus.prev_significant().unwrap().text(), "a");
    assert_eq!(
        plus.next_significant().unwrap().parent().kind(),
        SyntaxKind::PathExpr
    );
    assert_eq!(p.tree.token_at(plus.range().start).unwrap(), plus);
    assert_eq!(p.tree.covering_node(plus.range()), bin);
    for t in p.tree.tokens() {
        let parent = t.parent();
        assert!(
            parent.elements().any(|e| e == syntax::Element::Token(t)),
            "{t:?} in {parent:?}"
        );
    }
}

#[test]
fn interface_files_need_no_bodies() {
    let text = "package a\npub struct P\npub fn f(x: I32) -> I32 effect fs\npub const N: I32\nimpl P { fn g(&self) }\n";
    let p = syntax::parse_interface(text);
    assert!(p.errors.is_empty(), "{:#?}", p.errors);
    assert_eq!(p.file().items().count(), 4);
    assert_eq!(parse(text).errors.len(), 3);
}
