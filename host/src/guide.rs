//! What a dialect tells people who write clients beyond its operations: launch, framing, envelope, order, closing.
//! Data, and which of it holds for what is linked; `schema` renders it. No dialect is named here.

/// The general part of a dialect's reference page. Texts are Markdown without headings.
#[derive(Clone, Copy, Debug)]
pub struct Guide {
    /// How to start the process, and what it needs around it.
    pub launch: &'static [Part],
    /// Line ends, sizes, empty lines, the end of input inside a line.
    pub framing: &'static [Part],
    /// Who may say what to whom, identities, and the order in which a frame is checked.
    pub envelope: &'static [Part],
    /// Every shape that a frame can have, both ways.
    pub shapes: &'static [Shape],
    /// What people try first, and what to send instead.
    pub guesses: &'static [Guess],
    /// What comes before what.
    pub order: &'static [Part],
    /// What ends a connection and the process, and the exit statuses.
    pub closing: &'static [Part],
    /// Bounds that no `limits` object publishes.
    pub bounds: &'static [Bound],
    /// Every operation and event of the protocol, and in a few words what it is for. Those that are not linked are
    /// named as such.
    pub whole: &'static [(&'static str, &'static str)],
}

/// Lines of a text. Items of an ordered list are numbered anew, so that none is missing where a part is.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Operations and events without which it would explain what is not there.
    pub with: &'static [&'static str],
    pub text: &'static str,
}

/// A part that holds for every build.
#[must_use]
pub const fn always(text: &'static str) -> Part {
    Part { with: &[], text }
}

/// A part that holds where these operations and events are linked.
#[must_use]
pub const fn with(with: &'static [&'static str], text: &'static str) -> Part {
    Part { with, text }
}

/// What is bounded, and how.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// As in [`Part`].
    pub with: &'static [&'static str],
    pub what: &'static str,
    pub bound: &'static str,
}

impl Bound {
    #[must_use]
    pub const fn new(
        with: &'static [&'static str],
        what: &'static str,
        bound: &'static str,
    ) -> Self {
        Self { with, what, bound }
    }
}

impl Guide {
    /// Says nothing.
    pub const NONE: Self = Self {
        launch: &[],
        framing: &[],
        envelope: &[],
        shapes: &[],
        guesses: &[],
        order: &[],
        closing: &[],
        bounds: &[],
        whole: &[],
    };

    /// Headings and texts around the shapes, in the order of the page; `before` stand before the shapes. `linked` tells
    /// which operations and events there are.
    pub(crate) fn sections(
        &self,
        before: bool,
        linked: &dyn Fn(&str) -> bool,
    ) -> Vec<(&'static str, String)> {
        let sections: &[(_, &[Part])] = match before {
            true => &[
                ("Launch", self.launch),
                ("Framing", self.framing),
                ("Envelope", self.envelope),
            ],
            false => &[("Order", self.order), ("Closing", self.closing)],
        };
        let held = sections
            .iter()
            .map(|(title, parts)| (*title, text(parts, linked)));
        held.filter(|(_, text)| !text.is_empty()).collect()
    }

    pub(crate) fn shapes(
        &self,
        linked: &dyn Fn(&str) -> bool,
    ) -> impl Iterator<Item = &'static Shape> {
        self.shapes.iter().filter(|shape| all(shape.with, linked))
    }

    pub(crate) fn guesses(
        &self,
        linked: &dyn Fn(&str) -> bool,
    ) -> impl Iterator<Item = &'static Guess> {
        self.guesses.iter().filter(|guess| all(guess.with, linked))
    }

    pub(crate) fn bounds(
        &self,
        linked: &dyn Fn(&str) -> bool,
    ) -> impl Iterator<Item = &'static Bound> {
        self.bounds.iter().filter(|bound| all(bound.with, linked))
    }

    /// What of the protocol is not linked.
    pub(crate) fn elsewhere(
        &self,
        linked: &dyn Fn(&str) -> bool,
    ) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
        self.whole.iter().filter(|(name, _)| !linked(name))
    }
}

fn all(names: &[&str], linked: &dyn Fn(&str) -> bool) -> bool {
    names.iter().all(|name| linked(name))
}

/// The parts that hold, one behind the other, with the items of ordered lists numbered.
fn text(parts: &[Part], linked: &dyn Fn(&str) -> bool) -> String {
    let held = parts.iter().filter(|part| all(part.with, linked));
    let lines = held.flat_map(|part| part.text.lines());
    let mut number = 0;
    let numbered = lines.map(|line| match line.strip_prefix("1. ") {
        Some(item) => {
            number += 1;
            format!("{number}. {item}")
        }
        None => {
            // Only blank lines between items end a list.
            if !line.is_empty() && !line.starts_with(' ') {
                number = 0;
            }
            line.to_owned()
        }
    });
    let text = numbered.collect::<Vec<_>>().join("\n");
    text.trim().to_owned()
}

/// One kind of frame.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// As in [`Part`].
    pub with: &'static [&'static str],
    /// Its key under `envelope` in the schema document.
    pub name: &'static str,
    /// Its heading on the page.
    pub title: &'static str,
    /// Its JSON Schema, as JSON text: every member, with a description.
    pub schema: &'static str,
    /// A whole frame of this kind, without its LF.
    pub example: &'static str,
}

/// A frame that is not of this dialect, which people send all the same.
#[derive(Clone, Copy, Debug)]
pub struct Guess {
    /// As in [`Part`].
    pub with: &'static [&'static str],
    /// The frame, without its LF.
    pub sent: &'static str,
    /// The code, or the message, that answers it.
    pub answered: &'static str,
    /// What is wrong with it and what to send instead.
    pub instead: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_linked_is_not_explained_and_leaves_no_gap() {
        let parts = [
            always("Begin.\n\n"),
            always("1. one"),
            with(&["b"], "1. two"),
            with(&["a", "b"], "1. never"),
            with(&["a"], "1. three\n\nEnd."),
        ];
        let linked = |name: &str| name == "a";
        assert_eq!(text(&parts, &linked), "Begin.\n\n1. one\n2. three\n\nEnd.");
        assert_eq!(text(&parts[3..4], &linked), "");
    }
}
