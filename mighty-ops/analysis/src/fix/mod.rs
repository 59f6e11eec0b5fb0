//! The fix engine: for a diagnostic, the alternatives of the catalogue's Fix column as unified diffs.
//! Must not check programs; what a fix needs stands in the diagnostic's facts or is read off the tree.
//!
//! Each code's builder gives drafts, that is, text edits of the file the diagnostic is about. What they have
//! in common happens here: weak drafts go, so do drafts that break the syntax, and the rest become diffs.

mod agents;
mod apply;
mod arity;
mod convert;
mod cx;
mod delete;
mod diff;
mod draft;
mod effects;
mod index;
mod infer;
mod macros;
mod matches;
mod names;
mod ownership;
mod question;
mod reorder;
mod syntax_band;
mod taint;
mod types;

use crate::diagnostic::Diagnostic;
use crate::package::Package;

pub use apply::{ApplyError, LineEdit, Patch, apply};
pub use diff::unified_diff;
pub use draft::{Confidence, Kind};

use cx::Cx;
use draft::Draft;
use index::Index;

/// What can be done about one diagnostic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What the first alternative does.
    pub kind: Kind,
    /// At least one; most confident first.
    pub alternatives: Vec<Alternative>,
}

impl Fix {
    /// The largest confidence among the alternatives.
    #[must_use]
    pub fn confidence(&self) -> Confidence {
        self.alternatives
            .iter()
            .map(|a| a.confidence)
            .max()
            .unwrap_or(Confidence::FLOOR)
    }
}

/// One way to do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternative {
    /// A few words for a list.
    pub label: String,
    /// A unified diff of the diagnostic's file, LF only.
    pub diff: String,
    /// One sentence: why this helps, and what to look at afterwards.
    pub rationale: String,
    /// At least [`Confidence::FLOOR`].
    pub confidence: Confidence,
}

/// Builds the fixes of one check.
#[derive(Debug)]
pub struct Fixer<'p> {
    package: &'p Package,
    index: Index<'p>,
}

impl<'p> Fixer<'p> {
    /// For the package that was checked.
    #[must_use]
    pub fn new(package: &'p Package) -> Self {
        Self {
            package,
            index: Index::new(package),
        }
    }

    /// The fix of a diagnostic of this package, if there is one. Never panics, whatever the facts say.
    #[must_use]
    pub fn fix(&self, diagnostic: &Diagnostic) -> Option<Fix> {
        let file = self.package.files.get(diagnostic.file.index())?;
        let cx = Cx::new(&self.index, file, diagnostic)?;
        let mut drafts = drafts(&cx)?;
        drafts.retain(|d| d.confidence >= Confidence::FLOOR && self.is_sound(&cx, d));
        // Stable: equals stay in the order of the catalogue.
        drafts.sort_by_key(|d| std::cmp::Reverse(d.confidence));
        let kind = drafts.first()?.kind;
        let mut alternatives: Vec<Alternative> = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let Some(diff) = diff::unified(&file.path, cx.text, &draft.edits) else {
                continue;
            };
            if !self.index.spend_diff(diff.len()) {
                continue;
            }
            if alternatives.iter().all(|a| a.diff != diff) {
                alternatives.push(Alternative {
                    label: draft.label,
                    diff,
                    rationale: draft.rationale,
                    confidence: draft.confidence,
                });
            }
        }
        (!alternatives.is_empty()).then_some(Fix { kind, alternatives })
    }

    /// Whether the edits lie in the text, do not overlap, and add no syntax error (or take one away, where
    /// the diagnostic is one).
    fn is_sound(&self, cx: &Cx<'_>, draft: &Draft) -> bool {
        let hard = cx.is_hard_syntax_error();
        if !cx.index.spend_proof(cx.text.len(), cx.parse.errors.len()) {
            return !hard;
        }
        let Some(edited) = diff::edited(cx.text, &draft.edits) else {
            return false;
        };
        let count = |errors: &[syntax::SyntaxError]| errors.iter().filter(|e| e.is_hard()).count();
        let before = count(&cx.parse.errors);
        let after = count(&syntax::parse(edited).errors);
        if hard {
            after < before
        } else {
            after <= before
        }
    }
}

/// The drafts of a code, in the order of the catalogue.
fn drafts(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let found = match cx.code() {
        1 => syntax_band::duplicated_token(cx),
        2 => syntax_band::unterminated_string(cx),
        3 => syntax_band::escape(cx),
        4 => syntax_band::unit_or_comment(cx),
        6 => syntax_band::underscore(cx),
        10 => syntax_band::wrap_in_fn(cx),
        12 => syntax_band::delimiter(cx),
        20 => delete::later_handler(cx),
        21 => infer::return_type(cx),
        1001 | 2021 => names::value(cx),
        1002 | 2029 => names::import(cx),
        1003 => names::attribute(cx),
        1004 => delete::attribute(cx),
        1090 => delete::earlier_item(cx),
        2001 | 2017 | 2018 | 2019 => convert::mismatch(cx),
        2002 => names::ty(cx),
        2003 => types::annotate_vec(cx),
        2004 => arity::type_arguments(cx),
        2005 => arity::call(cx),
        2006 | 2007 | 2009 | 2030 | 4021 | 4064 => names::member(cx),
        2008 => types::not_callable(cx),
        2010 => question::outside_result(cx),
        2011 => question::error_mismatch(cx),
        2012 => arity::variant_pattern(cx),
        2013 => types::missing_fields(cx),
        2014 => delete::second_field(cx),
        2015 => matches::missing_arms(cx),
        2016 => matches::unreachable(cx),
        2020 => types::parameter(cx),
        2022 => types::not_a_struct(cx),
        2023 => names::type_argument(cx),
        2024 => arity::lambda(cx),
        2025 => ownership::hoist_temporary(cx),
        2026 => agents::unknown_message(cx),
        2027 => convert::cast(cx),
        2028 => types::code_point(cx),
        3001 | 3002 | 3003 | 3008 | 3009 | 3010 => ownership::clone_or_borrow(cx),
        3004..=3006 => reorder::last_use_up(cx),
        3007 => reorder::hoist_owner(cx),
        3011 => ownership::message_argument(cx),
        3013 | 3014 => ownership::make_mut(cx),
        3015 => ownership::initialise(cx),
        4001 | 4050 | 4059 => effects::add(cx),
        4010 => effects::narrow(cx),
        4020 => names::qualified_call(cx),
        4022 => delete::second_impl(cx),
        4030 | 4031 => agents::parameters(cx),
        4032 => agents::missing_handler(cx),
        4033 => delete::handler(cx),
        4040 | 4041 => delete::derive(cx),
        4055..=4057 => effects::row_variable(cx),
        4060 | 4062 => effects::capability_parameter(cx),
        4061 | 4063 => effects::rename_capability(cx),
        4090 => ownership::wrap_unsafe(cx),
        4099 => taint::untaint(cx),
        6001 => names::macro_name(cx),
        6002 => macros::arity(cx),
        6009 => macros::double_brace(cx),
        6010 => macros::plain_hole(cx),
        6013 => macros::tool_description(cx),
        6016 => types::tool_parameter(cx),
        6017 => macros::computer_use_cap(cx),
        _ => None,
    };
    found.filter(|d| !d.is_empty())
}
