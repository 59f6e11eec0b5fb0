//! Items of files and modules (language.md §3.1), agents and their kin excepted.

use super::sigs::{self, Body};
use super::{agents, braced_list, comma_group, exprs, token_tree, types};
use crate::SyntaxKind::{self, *};
use crate::error::code;
use crate::parser::{Marker, Parser};

/// Items up to the end of the file or bracket; anything else is reported once per run (MT0010).
pub(super) fn items(p: &mut Parser<'_>) {
    while !p.at_end() {
        if begins(p) {
            item(p);
            continue;
        }
        if p.at_glued_word() {
            // The end of an initialiser or `=` body before it (§1.5).
            super::missing_separator(p, "an item");
            continue;
        }
        let title = format!("{} begins no item", p.describe());
        p.report(code::EXPECTED_ITEM, title);
        let m = p.marker();
        while !p.at_end() && !begins(p) {
            p.skip();
        }
        p.done(m, ErrorNode);
    }
}

/// Whether an item begins here.
pub(super) fn begins(p: &Parser<'_>) -> bool {
    match p.cur() {
        UseKw | ModKw | StructKw | EnumKw | TraitKw | ImplKw | TypeKw | ConstKw | AgentKw
        | ProtocolKw | SupKw | CapKw | SandboxKw | ExternKw | ExportKw | MacroKw | DeriveKw
        | PubKw => true,
        FnKw => p.nth(1) != LParen,
        AsyncKw | UnsafeKw => matches!(p.nth(1), FnKw | ConstKw | AsyncKw | UnsafeKw),
        Hash => p.nth(1) == LBracket,
        At => p.nth(1) == Ident,
        Ident => match p.nth(1) {
            Ident => p.at_word("supervisor"),
            MacroKw => p.at_word("proc"),
            _ => false,
        },
        _ => false,
    }
}

/// Attributes and visibility.
pub(super) fn prelude(p: &mut Parser<'_>) {
    loop {
        let m = p.marker();
        if p.at(Hash) && p.nth(1) == LBracket {
            p.bump();
            p.skip();
        } else if p.at(At) && p.nth(1) == Ident {
            p.bump();
            p.bump();
            if p.at(LParen) {
                p.skip();
            }
        } else {
            break;
        }
        p.done(m, Attr);
    }
    if p.at(PubKw) {
        let m = p.marker();
        p.bump();
        if p.at(LParen) {
            p.bump();
            p.inside(false, |p| {
                if p.at_word("crate") {
                    p.bump();
                } else {
                    p.unexpected("`crate`");
                }
            });
            super::close(p);
        }
        p.done(m, Vis);
    }
}

/// An item; the caller has checked that one begins.
pub(super) fn item(p: &mut Parser<'_>) {
    let m = p.marker();
    prelude(p);
    match p.cur() {
        UseKw => use_item(p, m),
        ModKw => mod_item(p, m),
        ConstKw if matches!(p.nth(1), FnKw | AsyncKw | UnsafeKw) => {
            sigs::fn_def(p, m, Body::Required);
        }
        FnKw | AsyncKw | UnsafeKw => sigs::fn_def(p, m, Body::Required),
        StructKw => struct_def(p, m),
        EnumKw => enum_def(p, m),
        DeriveKw => derive_item(p, m),
        TypeKw => type_alias(p, m),
        ConstKw => const_def(p, m, Body::Required),
        TraitKw => trait_def(p, m),
        ImplKw => impl_def(p, m),
        CapKw => {
            p.bump();
            name(p);
            if p.at(LBrace) {
                token_tree(p, LBrace);
            }
            p.done(m, CapDecl);
        }
        ProtocolKw => agents::protocol(p, m),
        AgentKw => agents::agent(p, m),
        SupKw => agents::supervisor(p, m),
        Ident if p.at_word("supervisor") && p.nth(1) == Ident => agents::supervisor(p, m),
        SandboxKw => {
            agents::sandbox(p);
            p.done(m, SandboxItem);
        }
        ExternKw => extern_block(p, m),
        ExportKw => {
            p.bump();
            if p.at_word("c") || p.at_word("js") {
                p.bump();
            }
            let f = p.marker();
            if matches!(p.cur(), FnKw | ConstKw | AsyncKw | UnsafeKw) {
                sigs::fn_def(p, f, Body::Required);
            } else {
                p.unexpected("`fn`");
            }
            p.done(m, ExportItem);
        }
        MacroKw => macro_def(p, m),
        Ident if p.at_word("proc") && p.nth(1) == MacroKw => proc_macro(p, m),
        _ => {
            let title = format!("{} begins no item", p.describe());
            p.report(code::EXPECTED_ITEM, title);
            while !p.at_end() && !begins(p) {
                p.skip();
            }
            p.done(m, ErrorNode);
        }
    }
}

/// The name of an item; a keyword is reported but stands in for it.
pub(super) fn name(p: &mut Parser<'_>) {
    if p.eat(Ident) {
        return;
    }
    p.unexpected("a name");
    if p.cur().is_keyword() && !p.nl() {
        p.bump();
    }
}

/// `DottedPath` as a node.
pub(super) fn path(p: &mut Parser<'_>) {
    let m = p.marker();
    if p.at(Ident) {
        path_tokens(p);
        p.done(m, Path);
    } else {
        p.unexpected("a path");
    }
}

/// `IDENT { "." Name }`, at the identifier.
pub(super) fn path_tokens(p: &mut Parser<'_>) {
    p.bump();
    while p.at(Dot) {
        p.bump();
        if !p.name_at(0) {
            p.unexpected("a name");
            return;
        }
        p.bump();
    }
}

fn use_item(p: &mut Parser<'_>, m: Marker) {
    p.bump();
    if p.at(Ident) && p.nth(1) == Colon {
        let h = p.marker();
        p.bump();
        p.bump();
        if p.expect(Ident, "a name") {
            while p.eat(Slash) {
                if !p.expect(Ident, "a name") {
                    break;
                }
            }
        }
        p.done(h, HostPath);
    } else {
        path(p);
    }
    if p.at(AsKw) {
        let r = p.marker();
        p.bump();
        name(p);
        p.done(r, Rename);
    }
    p.eat(Semi);
    p.done(m, UseItem);
}

fn mod_item(p: &mut Parser<'_>, m: Marker) {
    p.bump();
    name(p);
    if p.at(LBrace) {
        let l = p.marker();
        p.bump();
        p.inside(true, items);
        p.eat(RBrace);
        p.done(l, ItemList);
    } else {
        p.eat(Semi);
    }
    p.done(m, ModItem);
}

fn derive_item(p: &mut Parser<'_>, m: Marker) {
    let d = p.marker();
    p.bump();
    name(p);
    while p.eat(Comma) {
        name(p);
    }
    p.done(d, DeriveClause);
    match p.cur() {
        StructKw => struct_def(p, m),
        EnumKw => enum_def(p, m),
        _ => {
            p.unexpected("`struct` or `enum`");
            p.done(m, ErrorNode);
        }
    }
}

fn struct_def(p: &mut Parser<'_>, m: Marker) {
    p.bump();
    name(p);
    sigs::generics(p);
    if p.at(LBrace) {
        braced_list(p, FieldList, "a field", |p| {
            let f = p.marker();
            prelude(p);
            if p.name_at(0) {
                p.bump();
                if p.expect(Colon, "`:`") {
                    types::ty(p);
                } else {
                    rest_of_entry(p);
                }
                p.done(f, FieldDef);
            }
        });
    } else if p.at(LParen) && !p.nl() {
        p.unexpected("`{`");
        p.skip();
    }
    p.done(m, StructDef);
}

/// After a reported fault: nothing more of this entry is worth a report.
pub(super) fn rest_of_entry(p: &mut Parser<'_>) {
    if !p.at_end() && !p.at(Comma) && !p.nl() {
        super::skip_entry(p);
    }
}

fn enum_def(p: &mut Parser<'_>, m: Marker) {
    p.bump();
    name(p);
    sigs::generics(p);
    braced_list(p, VariantList, "a variant", |p| {
        let v = p.marker();
        if p.eat(Ident) {
            if p.at(LParen) {
                p.bump();
                if p.at_end() {
                    p.unexpected("a type");
                }
                p.inside(false, |p| super::comma(p, "a type", types::ty));
                super::close(p);
            }
            p.done(v, Variant);
        }
    });
    p.done(m, EnumDef);
}

fn type_alias(p: &mut Parser<'_>, m: Marker) {
    p.bump();
    name(p);
    sigs::generics(p);
    if p.expect(Eq, "`=`") {
        types::ty(p);
    }
    p.eat(Semi);
    p.done(m, TypeAlias);
}

pub(super) fn const_def(p: &mut Parser<'_>, m: Marker, value: Body) {
    p.bump();
    name(p);
    if p.eat(Colon) {
        types::ty(p);
    }
    if p.at(Eq) {
        p.bump();
        exprs::expr(p);
    } else if value == Body::Required && !p.interface {
        p.unexpected("`=`");
    }
    p.eat(Semi);
    p.done(m, ConstDef);
}

fn trait_def(p: &mut Parser<'_>, m: Marker) {
    p.bump();
    name(p);
    sigs::generics(p);
    members(p, Body::Optional, true);
    p.done(m, TraitDef);
}

fn impl_def(p: &mut Parser<'_>, m: Marker) {
    p.bump();
    let live = std::mem::replace(&mut p.live, false);
    sigs::generics(p);
    types::ty(p);
    if p.eat(ForKw) {
        types::ty(p);
    }
    if p.at(WhereKw) {
        sigs::where_clause(p);
    }
    p.live = live;
    members(p, Body::Required, true);
    p.done(m, ImplDef);
}

fn extern_block(p: &mut Parser<'_>, m: Marker) {
    p.bump();
    if p.at_word("component") {
        p.bump();
        if p.at(Str) || p.at(RawStr) {
            p.bump();
        } else {
            p.unexpected("the text that names the component");
        }
    } else if p.at_word("c") || p.at_word("js") {
        p.bump();
    }
    members(p, Body::Optional, false);
    p.done(m, ExternBlock);
}

fn member_begins(p: &Parser<'_>) -> bool {
    match p.cur() {
        FnKw | ConstKw | UnsafeKw | AsyncKw | PubKw => true,
        Hash => p.nth(1) == LBracket,
        At => p.nth(1) == Ident,
        _ => false,
    }
}

/// `{ { [Vis] Fn | Const } }`.
fn members(p: &mut Parser<'_>, body: Body, consts: bool) {
    let m = p.marker();
    if !p.expect(LBrace, "`{`") {
        return;
    }
    p.inside(true, |p| {
        while !p.at_end() {
            let i = p.marker();
            prelude(p);
            match p.cur() {
                ConstKw if consts && !matches!(p.nth(1), FnKw | AsyncKw | UnsafeKw) => {
                    const_def(p, i, body);
                }
                FnKw | ConstKw | UnsafeKw | AsyncKw => sigs::fn_def(p, i, body),
                _ => {
                    p.unexpected("a function");
                    while !p.at_end() && !member_begins(p) {
                        p.skip();
                    }
                    p.done(i, ErrorNode);
                }
            }
        }
    });
    p.eat(RBrace);
    p.done(m, MemberList);
}

fn macro_def(p: &mut Parser<'_>, m: Marker) {
    p.bump();
    name(p);
    comma_group(p, LParen, MacroParamList, "a name", |p| {
        p.eat(Ident);
    });
    p.eat(FatArrow);
    token_tree(p, LBrace);
    p.done(m, MacroDef);
}

fn proc_macro(p: &mut Parser<'_>, m: Marker) {
    p.bump();
    p.bump();
    name(p);
    comma_group(p, LParen, ParamList, "a parameter", super::patterns::param);
    sigs::ret(p);
    token_tree(p, LBrace);
    p.done(m, ProcMacroDef);
}

/// Item kinds that may stand inside a block ([R:G18]).
pub(super) fn nests(kind: SyntaxKind) -> bool {
    matches!(
        kind,
        FnDef | ConstDef | StructDef | EnumDef | TypeAlias | UseItem
    )
}
