//! What a dialect tells people who write clients beyond its operations: launch, framing, envelope, order, closing.
//! Data only; `schema` renders it. No dialect is named here.

/// The general part of a dialect's reference page. Texts are Markdown without headings.
#[derive(Clone, Copy, Debug)]
pub struct Guide {
    /// How to start the process, and what it needs around it.
    pub launch: &'static str,
    /// Line ends, sizes, empty lines, the end of input inside a line.
    pub framing: &'static str,
    /// Who may say what to whom, identities, and the order in which a frame is checked.
    pub envelope: &'static str,
    /// Every shape that a frame can have, both ways.
    pub shapes: &'static [Shape],
    /// What people try first, and what to send instead.
    pub guesses: &'static [Guess],
    /// What comes before what.
    pub order: &'static str,
    /// What ends a connection and the process, and the exit statuses.
    pub closing: &'static str,
    /// Bounds that no `limits` object publishes: what is bounded, and how.
    pub bounds: &'static [(&'static str, &'static str)],
}

impl Guide {
    /// Says nothing.
    pub const NONE: Self = Self {
        launch: "",
        framing: "",
        envelope: "",
        shapes: &[],
        guesses: &[],
        order: "",
        closing: "",
        bounds: &[],
    };

    /// Headings and texts around the shapes, in the order of the page; `before` stand before the shapes.
    pub(crate) fn sections(
        &self,
        before: bool,
    ) -> impl Iterator<Item = (&'static str, &'static str)> {
        let (first, second): (&[_], &[_]) = (
            &[
                ("Launch", self.launch),
                ("Framing", self.framing),
                ("Envelope", self.envelope),
            ],
            &[("Order", self.order), ("Closing", self.closing)],
        );
        let sections = if before { first } else { second };
        let said: Vec<_> = sections
            .iter()
            .filter(|(_, text)| !text.is_empty())
            .copied()
            .collect();
        said.into_iter()
    }
}

/// One kind of frame.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
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
    /// The frame, without its LF.
    pub sent: &'static str,
    /// The code, or the message, that answers it.
    pub answered: &'static str,
    /// What is wrong with it and what to send instead.
    pub instead: &'static str,
}
