//! The alphabets that secrets are made of. Which secret has which is said by the data files.
//! No judgement of a string stands here.

/// Characters of a run, all of ASCII: letters or digits of a kind, and signs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alphabet {
    letter: fn(&u8) -> bool,
    signs: &'static str,
}

const fn of(letter: fn(&u8) -> bool, signs: &'static str) -> Alphabet {
    Alphabet { letter, signs }
}

/// By their names in the data.
const NAMED: [(&str, Alphabet); 11] = [
    ("digit", of(u8::is_ascii_digit, "")),
    ("hex", of(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'), "")),
    ("upper", of(|b| matches!(b, b'0'..=b'9' | b'A'..=b'Z'), "")),
    ("alnum", of(u8::is_ascii_alphanumeric, "")),
    ("plain", of(u8::is_ascii_alphanumeric, "_-")),
    ("dotted", of(u8::is_ascii_alphanumeric, "_-.")),
    ("tilde", of(u8::is_ascii_alphanumeric, "_-.~")),
    ("path", of(u8::is_ascii_alphanumeric, "_-/")),
    // And its URL variant.
    ("base64", of(u8::is_ascii_alphanumeric, "_-/+=")),
    // Hashed passwords of crypt(5).
    ("crypt", of(u8::is_ascii_alphanumeric, "./$=,+-")),
    // What stands between a name in JSON and its value.
    ("glue", of(|_| false, "\"\\: ")),
];

impl Alphabet {
    /// What strings drawn by lot are made of.
    pub(super) const RANDOM: Self = of(u8::is_ascii_alphanumeric, "_-/+=.");

    pub(super) fn named(name: &str) -> Option<Self> {
        let named = NAMED.iter().find(|(own, _)| *own == name);
        named.map(|(_, alphabet)| *alphabet)
    }

    pub(super) fn allows(self, byte: u8) -> bool {
        (self.letter)(&byte) || self.signs.as_bytes().contains(&byte)
    }

    /// Whether a full stop may stand within, but not at the end: there it ends a sentence.
    pub(super) fn has_dots(self) -> bool {
        self.signs.contains('.')
    }

    /// Whether names of things are made of it too, which have no digits.
    pub(super) fn is_of_names(self) -> bool {
        (self.letter)(&b'z')
    }
}
