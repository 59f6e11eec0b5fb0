//! The form of a case.

use analysis::FixHint;
use syntax::TextRange;

/// A program with the reported range between `«` and `»`.
pub(crate) struct Case {
    pub(crate) code: u16,
    source: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) title: Option<&'static str>,
    hint: Option<fn(&str) -> FixHint>,
    /// Confidence and whole program after each alternative, in order.
    pub(crate) fixed: Vec<(f64, &'static str)>,
}

pub(crate) fn case(code: u16, kind: &'static str, source: &'static str) -> Case {
    Case {
        code,
        source,
        kind,
        title: None,
        hint: None,
        fixed: Vec::new(),
    }
}

impl Case {
    /// One more alternative.
    pub(crate) fn to(mut self, confidence: f64, fixed: &'static str) -> Self {
        self.fixed.push((confidence, fixed));
        self
    }

    /// Facts for a report made by hand; a rule that fires gives its own.
    pub(crate) fn with(mut self, hint: fn(&str) -> FixHint) -> Self {
        self.hint = Some(hint);
        self
    }

    /// Words of a report made by hand.
    pub(crate) fn titled(mut self, title: &'static str) -> Self {
        self.title = Some(title);
        self
    }

    pub(crate) fn text(&self) -> String {
        self.source.replace(['«', '»'], "")
    }

    pub(crate) fn range(&self) -> TextRange {
        let start = self.source.find('«').unwrap();
        let end = self.source.find('»').unwrap() - '«'.len_utf8();
        TextRange::new(start as u32, end as u32)
    }

    pub(crate) fn hint(&self, text: &str) -> FixHint {
        self.hint.map_or(FixHint::None, |hint| hint(text))
    }
}

/// The range of the first occurrence of a text.
pub(crate) fn at(text: &str, needle: &str) -> TextRange {
    let start = text.find(needle).unwrap();
    TextRange::new(start as u32, (start + needle.len()) as u32)
}

/// A near name.
pub(crate) fn near(to: &str) -> FixHint {
    FixHint::Rename {
        to: to.to_owned(),
        distance: 1,
    }
}

/// Two types that disagree.
pub(crate) fn wants(expected: &str, found: &str) -> FixHint {
    FixHint::ExpectedFound {
        expected: expected.to_owned(),
        found: found.to_owned(),
    }
}
