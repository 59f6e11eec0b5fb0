//! Which rule holds for which node (formatting.md §4 to §6): one pass over all nodes fills the plan.
//! Every gap between two significant tokens belongs to the innermost node around both, so each is set once.

mod bodies;
mod exprs;
mod lists;
mod spaces;

use super::plan::{Break, Copied, El, Plan};
use crate::SyntaxKind::*;
use crate::tree::{Node, Tree};

/// The plan of a tree without errors.
pub(super) fn plan(tree: &Tree) -> Plan<'_> {
    let mut plan = Plan::new(tree);
    let mut els = Vec::new();
    for node in tree.nodes() {
        Plan::elements(node, &mut els);
        if !els.is_empty() {
            rule(&mut plan, node, &els);
        }
    }
    plan
}

fn rule<'t>(p: &mut Plan<'t>, node: Node<'t>, els: &[El<'t>]) {
    let kind = node.kind();
    let end = els.len() - 1;
    match kind {
        TokenTree => {
            p.copied.push(Copied {
                first: els[0].first,
                last: els[end].last,
                trim: els[0].kind == LParen,
            });
            return;
        }
        Attr => return spaces::attribute(p, els),
        SourceFile => return bodies::file(p, els),
        ItemList => return bodies::items(p, els),
        FieldList | VariantList | MessageList | AgentBody | StateFieldList | SupBody
        | EntryList | ArmList | MemberList => return bodies::list(p, els),
        Block => return bodies::block(p, node, els),
        TypeArgs | FnTypeParams | ErrorUnion => return lists::types(p, els),
        GenericParamList | ParamList | MacroParamList | ArrayExpr | ArgList => {
            if els[0].kind == Pipe {
                spaces::pipe_params(p, els);
            } else {
                lists::comma(p, els, Break::Soft);
            }
            return;
        }
        TupleExpr | TupleType | TuplePat => return lists::tuple(p, els),
        StructLitFields | MapEntries | FieldPatList => return lists::comma(p, els, Break::Line),
        ParenExpr | RepeatExpr => return lists::bracketed(p, els),
        _ => {}
    }
    let link = p.told(node).link;
    if link && kind == MethodCallExpr {
        // Tight, but for the dot, which the outermost link has settled.
        return;
    }
    spaces::between_all(p, kind, els);
    match kind {
        FnDef | ImplDef | ProcMacroDef | Handler | InitDef | LambdaExpr => {
            bodies::signature(p, kind, els);
        }
        Variant | VariantPat => lists::after_name(p, els),
        OnFail => bodies::on_fail(p, els),
        WhereClause => lists::where_clause(p, els),
        OrPat => exprs::alternatives(p, els),
        ConstDef | TypeAlias | ExprBody | MatchArm | ArenaExpr => exprs::value(p, kind, els),
        IfExpr => bodies::if_expr(p, node),
        BinaryExpr | RangeExpr | CastExpr => exprs::operators(p, node, els),
        AssignExpr => exprs::assignment(p, els),
        CallExpr | MethodCallExpr | FieldExpr | IndexExpr | PropagateExpr | AskExpr | SendExpr
        | DeadlineExpr | AwaitExpr | ScopeExpr | TurbofishExpr
            if !link =>
        {
            exprs::chain(p, node, els);
        }
        _ => {}
    }
}
