//! Conversions between types that disagree: MT2001, MT2017, MT2018, MT2019, MT2027.

use syntax::SyntaxKind;
use syntax::ast::{self, AstNode, Expr};

use super::cx::{Cx, enclosing, is_postfix, receiver};
use super::draft::{Draft, Edit, Kind};
use crate::diagnostic::FixHint;

/// A conversion as text, and whether it keeps every value.
struct Conversion {
    kind: Kind,
    text: String,
    lossless: bool,
    label: String,
}

/// MT2001, MT2017, MT2018, MT2019
pub(super) fn mismatch(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    // The arguments of a macro call are no expressions yet, and the whole call is not what disagrees.
    if matches!(cx.code(), 2017 | 2018) && matches!(cx.expr(), Some(Expr::MacroCall(_)))
        || is_own_macro(cx)
    {
        return None;
    }
    if cx.code() == 2017
        && let Some(draft) = comparison_chain(cx)
    {
        return Some(vec![draft]);
    }
    let FixHint::ExpectedFound { expected, found } = cx.hint() else {
        return None;
    };
    if cx.code() == 2017
        && let Some(draft) = junction(cx, &settled(expected), &settled(found))
    {
        return Some(vec![draft]);
    }
    let (target, expected, found) = site(cx, settled(expected), settled(found))?;
    let (lossless, lossy) = match cx.code() {
        2017 => (60, 60),
        2018 => (65, 65),
        2019 => (70, 70),
        _ => (80, 60),
    };
    let mut drafts = Vec::new();
    // A block-like operand is converted where its value arises.
    let target = tail_of(target);
    if let Some(mut c) = conversion(target, &found, &expected) {
        // `r == 1 != 0` would compare the comparison.
        let parent = target.syntax().parent().filter(|_| cx.code() == 2017);
        let op = parent.and_then(|p| p.own_tokens().next());
        if expected == "Bool"
            && op.is_some_and(|t| !matches!(t.kind(), SyntaxKind::AmpAmp | SyntaxKind::PipePipe))
        {
            c.text = format!("({})", c.text);
        }
        drafts.push(Draft::new(
            c.kind,
            if c.lossless { lossless } else { lossy },
            c.label,
            if c.lossless {
                format!("`{expected}` is wanted here and the value is `{found}`; no value is lost.")
            } else {
                format!("`{expected}` is wanted here and the value is `{found}`; check what happens to values that do not fit.")
            },
            vec![Edit::replace(target.range(), c.text)],
        ));
    }
    if cx.code() == 2019
        && let Some(draft) = change_declaration(cx, &found)
    {
        drafts.push(draft);
    }
    Some(drafts)
}

/// Whether the report stands at or in the call of a macro that the package defines.
fn is_own_macro(cx: &Cx<'_>) -> bool {
    std::iter::once(cx.node())
        .chain(cx.node().ancestors())
        .filter_map(ast::MacroCall::cast)
        .filter_map(ast::HasName::name)
        .any(|name| cx.item::<ast::MacroDef<'_>>(name.text()).is_some())
}

/// `a < b < c` reads as two comparisons joined.
fn comparison_chain(cx: &Cx<'_>) -> Option<Draft> {
    let is_order = |e: Expr<'_>| {
        let op = e.syntax().own_tokens().next().map(syntax::Token::kind);
        matches!(
            op,
            Some(SyntaxKind::Lt | SyntaxKind::LtEq | SyntaxKind::Gt | SyntaxKind::GtEq)
        )
    };
    let outer: ast::BinaryExpr<'_> = cx.enclosing()?;
    is_order(Expr::BinaryExpr(outer)).then_some(())?;
    let mut sides = outer.syntax().children().filter_map(Expr::cast);
    let (left, right) = (sides.next()?, sides.next()?);
    (matches!(left, Expr::BinaryExpr(_)) && is_order(left)).then_some(())?;
    let middle = left.syntax().children().filter_map(Expr::cast).nth(1)?;
    let op = outer.syntax().own_tokens().next()?.text();
    Some(Draft::new(
        Kind::TypeConversion,
        60,
        "compare twice",
        "A comparison gives a `Bool`, which has no order; two comparisons say what is meant.",
        vec![Edit::replace(
            outer.range(),
            format!("{} && {} {op} {}", left.text(), middle.text(), right.text()),
        )],
    ))
}

/// `2 * i && 1`: neither side is a `Bool`, so one conversion would not do.
fn junction(cx: &Cx<'_>, left: &str, right: &str) -> Option<Draft> {
    let binary: ast::BinaryExpr<'_> = match cx.expr()? {
        Expr::BinaryExpr(b) => b,
        other => enclosing(other.syntax())?,
    };
    let op = binary.syntax().own_tokens().next()?.kind();
    if !matches!(op, SyntaxKind::AmpAmp | SyntaxKind::PipePipe) || left == "Bool" || right == "Bool"
    {
        return None;
    }
    let mut sides = binary.syntax().children().filter_map(Expr::cast);
    let edits = [(sides.next()?, left), (sides.next()?, right)]
        .into_iter()
        .map(|(side, found)| {
            Some(Edit::replace(
                side.range(),
                conversion(side, found, "Bool")?.text,
            ))
        })
        .collect::<Option<Vec<_>>>()?;
    Some(Draft::new(
        Kind::TypeConversion,
        60,
        "compare both sides with zero",
        "`&&` and `||` join two `Bool`s, and neither side is one.",
        edits,
    ))
}

/// What is to be converted, the type wanted there, and the type it has.
fn site<'a>(cx: &Cx<'a>, expected: String, found: String) -> Option<(Expr<'a>, String, String)> {
    match cx.code() {
        2017 => {
            let binary: ast::BinaryExpr<'_> = match cx.expr()? {
                Expr::BinaryExpr(b) => b,
                // The operand of `!s` disagrees with its operator, not with what stands beside it.
                Expr::PrefixExpr(_) => return None,
                other => enclosing(other.syntax())?,
            };
            let mut sides = binary.syntax().children().filter_map(Expr::cast);
            let (left, right) = (sides.next()?, sides.next()?);
            let op = binary.syntax().own_tokens().next()?;
            if !matches!(op.kind(), SyntaxKind::AmpAmp | SyntaxKind::PipePipe) {
                let compares = matches!(op.text(), "==" | "!=" | "<" | "<=" | ">" | ">=");
                let orders = compares && !matches!(op.text(), "==" | "!=");
                let number = is_int(&expected) || is_float(&expected);
                let text = is_text(&expected) && (compares || op.text() == "+");
                let equal = compares && !orders;
                // Two values of a type help only where the operator is defined for it.
                return (number || text || equal).then_some((right, expected, found));
            }
            // Neither is a `Bool`, and one conversion would leave the other.
            if expected != "Bool" && found != "Bool" {
                return None;
            }
            // These want a `Bool` on both sides, whatever the left one is.
            if expected == "Bool" {
                Some((right, expected, found))
            } else {
                Some((left, "Bool".into(), expected))
            }
        }
        2018 => Some((else_tail(cx)?, expected, found)),
        // A pattern may be reported too; nothing converts there.
        _ => {
            let target = cx.expr().filter(|e| e.range() == cx.range)?;
            Some((target, expected, found))
        }
    }
}

fn else_tail<'a>(cx: &Cx<'a>) -> Option<Expr<'a>> {
    match cx.expr()? {
        Expr::IfExpr(i) => {
            let last = i.syntax().children().filter_map(Expr::cast).last()?;
            Some(tail_of(last))
        }
        Expr::Block(b) => Some(tail_of(Expr::Block(b))),
        other => Some(other),
    }
}

/// The expression that gives a block its value, through nested blocks.
fn tail_of(expr: Expr<'_>) -> Expr<'_> {
    let mut at = expr;
    while let Expr::Block(block) = at {
        match block.tail() {
            Some(tail) => at = tail,
            None => break,
        }
    }
    at
}

fn change_declaration(cx: &Cx<'_>, found: &str) -> Option<Draft> {
    // Unknown parts cannot be written down.
    if found.contains(['_', '?']) || found.is_empty() {
        return None;
    }
    let function = cx.function()?;
    // Only where nothing else is returned: that would disagree then.
    let returns = function
        .syntax()
        .descendants()
        .filter(|n| n.kind() == SyntaxKind::ReturnExpr)
        .count();
    let tail = function.block().and_then(ast::Block::tail);
    if returns + usize::from(tail.is_some()) > 1 {
        return None;
    }
    let (edit, written) = match function.ret_type() {
        Some(ret) => (
            Edit::replace(ret.ty()?.range(), found),
            ret.ty()?.text().to_owned(),
        ),
        None => (
            Edit::insert(function.params()?.range().end, format!(" -> {found}")),
            "Unit".into(),
        ),
    };
    Some(Draft::new(
        Kind::AddReturnType,
        70,
        format!("declare `-> {found}`"),
        format!(
            "The body gives a `{found}` where the header says `{written}`; callers must expect it."
        ),
        vec![edit],
    ))
}

/// A type with open number literals as what they default to.
fn settled(ty: &str) -> String {
    ty.replace("{integer}", "I32").replace("{float}", "F64")
}

const INTS: [&str; 12] = [
    "I8", "I16", "I32", "I64", "I128", "ISize", "U8", "U16", "U32", "U64", "U128", "USize",
];

fn is_int(ty: &str) -> bool {
    INTS.contains(&ty)
}

fn is_float(ty: &str) -> bool {
    matches!(ty, "F32" | "F64")
}

fn is_text(ty: &str) -> bool {
    matches!(ty, "Str" | "String")
}

/// Bits of the magnitude and whether there is a sign.
fn bits(ty: &str) -> Option<(u16, bool)> {
    let signed = ty.starts_with('I');
    let bits = match ty.get(1..)? {
        "Size" => 64,
        n => n.parse().ok()?,
    };
    Some((bits, signed))
}

fn widens(found: &str, expected: &str) -> bool {
    match (bits(found), bits(expected)) {
        (Some((a, sa)), Some((b, sb))) if is_int(found) && is_int(expected) => {
            (sa == sb && a <= b) || (!sa && sb && a < b)
        }
        _ => match (found, expected) {
            ("F32", "F64") => true,
            (i, "F64") if is_int(i) => bits(i).is_some_and(|(n, _)| n <= 32),
            (i, "F32") if is_int(i) => bits(i).is_some_and(|(n, _)| n <= 16),
            _ => false,
        },
    }
}

/// `Option[T]` and the like, taken apart.
fn inner<'t>(ty: &'t str, head: &str) -> Option<&'t str> {
    ty.strip_prefix(head)?.strip_prefix('[')?.strip_suffix(']')
}

fn conversion(expr: Expr<'_>, found: &str, expected: &str) -> Option<Conversion> {
    let text = expr.text();
    let make = |kind, text: String, lossless, label: &str| {
        Some(Conversion {
            kind,
            text,
            lossless,
            label: label.to_owned(),
        })
    };
    let numeric = |ty: &str| is_int(ty) || is_float(ty);
    // `as` binds tighter than every binary operator.
    let cast = |to: &str| {
        let operand = if is_postfix(expr) || matches!(expr, Expr::PrefixExpr(_)) {
            text.to_owned()
        } else {
            format!("({text})")
        };
        format!("{operand} as {to}")
    };
    match (found, expected) {
        (f, e) if is_int(f) && is_float(e) && text.bytes().all(|b| b.is_ascii_digit()) => make(
            Kind::TypeConversion,
            format!("{text}.0"),
            true,
            "write a float",
        ),
        (f, e) if numeric(f) && numeric(e) => {
            let label = format!("convert with `as {e}`");
            make(Kind::TypeConversion, cast(e), widens(f, e), &label)
        }
        ("Bool", e) if is_int(e) => {
            let label = format!("convert with `as {e}`");
            make(Kind::TypeConversion, cast(e), true, &label)
        }
        ("Char", e) if is_int(e) => {
            let label = format!("convert with `as {e}`");
            let wide = bits(e).is_some_and(|(n, _)| n >= 32);
            make(Kind::TypeConversion, cast(e), wide, &label)
        }
        (f, "Bool") if is_int(f) => make(
            Kind::TypeConversion,
            compared(expr, "0"),
            false,
            "compare with zero",
        ),
        (f, "Bool") if is_float(f) => make(
            Kind::TypeConversion,
            compared(expr, "0.0"),
            false,
            "compare with zero",
        ),
        (f, e) if is_text(f) && numeric(e) => {
            let zero = if is_float(e) { "0.0" } else { "0" };
            make(
                Kind::TypeConversion,
                format!("{}.parse().unwrap_or({zero})", receiver(expr)),
                false,
                "parse the text",
            )
        }
        ("Str", "String") => make(
            Kind::TypeConversion,
            format!("String({text})"),
            true,
            "make a `String`",
        ),
        (f, e)
            if is_text(e) && (numeric(f) || matches!(f, "Bool" | "Char" | "Duration" | "Size")) =>
        {
            // Without parentheses `1.to_str()` is fine, but `-1.to_str()` is not what it seems.
            make(
                Kind::TypeConversion,
                format!("{}.to_str()", receiver(expr)),
                true,
                "convert with `.to_str()`",
            )
        }
        (f, e) if inner(e, "Option") == Some(f) => make(
            Kind::WrapInSome,
            format!("Some({text})"),
            true,
            "wrap in `Some`",
        ),
        (f, e) if inner(f, "Option") == Some(e) && super::cx::has_default(e) => make(
            Kind::TypeConversion,
            format!(
                "{}.unwrap_or({})",
                receiver(expr),
                super::cx::default_value(e)
            ),
            false,
            "take the value or a default",
        ),
        (f, e) if e.split_once('!').map(|(ok, _)| ok) == Some(f) => make(
            Kind::TypeConversion,
            format!("Ok({text})"),
            true,
            "wrap in `Ok`",
        ),
        (f, e) if e.strip_prefix('&').is_some_and(|e| e == f) => make(
            Kind::TakeReference,
            format!("&{}", receiver(expr)),
            true,
            "take a reference",
        ),
        (f, e) if e.strip_prefix("&mut ").is_some_and(|e| e == f) => make(
            Kind::TakeReference,
            format!("&mut {}", receiver(expr)),
            false,
            "take a mutable reference",
        ),
        (f, e) if f.trim_start_matches('&').trim_start_matches("mut ") == e && f != e => make(
            Kind::AddClone,
            format!("{}.clone()", receiver(expr)),
            true,
            "clone the value",
        ),
        _ => None,
    }
}

fn compared(expr: Expr<'_>, zero: &str) -> String {
    format!("{} != {zero}", receiver(expr))
}

/// MT2027
pub(super) fn cast(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let cast: ast::CastExpr<'_> = cx.enclosing()?;
    let operand = cast.operand()?;
    let to = cast.ty()?.text();
    let found = match cx.hint() {
        FixHint::ExpectedFound { found, .. } => &settled(found),
        _ => match operand.unparen()? {
            Expr::Literal(l) => match l.syntax().first_token()?.kind() {
                SyntaxKind::Str | SyntaxKind::RawStr => "Str",
                _ => return None,
            },
            _ => return None,
        },
    };
    let replaced = |text: String, hundredths, label: &str, why: &str| {
        let edits = vec![Edit::replace(cast.range(), text)];
        Some(vec![Draft::new(
            Kind::TypeConversion,
            hundredths,
            label,
            why,
            edits,
        )])
    };
    let value = receiver(operand);
    match (found, to) {
        (f, "Char") if is_int(f) => {
            let wide = if f == "U32" {
                operand.text().to_owned()
            } else {
                format!("{value} as U32")
            };
            replaced(
                format!("Char.from_u32({wide}).unwrap_or('?')"),
                80,
                "use `Char.from_u32`",
                "Not every number is a character; `?` stands for those that are none.",
            )
        }
        (f, to) if is_text(f) && (is_int(to) || is_float(to)) => {
            let zero = if is_float(to) { "0.0" } else { "0" };
            replaced(
                format!("{value}.parse().unwrap_or({zero})"),
                60,
                "parse the text",
                "A text is read, not cast; the default stands for texts that are no number.",
            )
        }
        (f, "Bool") if is_float(f) => replaced(
            format!("({value} != 0.0)"),
            60,
            "compare with zero",
            "A float has no truth of its own.",
        ),
        ("Bool", to) if is_float(to) => replaced(
            format!("{value} as I32 as {to}"),
            60,
            "convert by way of an integer",
            "`true` becomes 1 and `false` 0.",
        ),
        (_, to) if is_text(to) => replaced(
            format!("{value}.to_str()"),
            60,
            "convert with `.to_str()`",
            "Every value has a text form, which `as` does not give.",
        ),
        _ => None,
    }
}
