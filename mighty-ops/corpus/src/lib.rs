//! Generated Mighty programs of any size: ordinary, well-formed code for the benchmarks of every stage.
//! Must not hold hand-written fixtures or bad programs; those stand beside their tests.

mod units;

/// A program of at least `lines` lines, the same for the same arguments on every machine.
///
/// It is meant to be clean in every stage: parse, types, effects, borrows. Every item has a name of its own,
/// so name tables grow with the text as they do in real programs.
#[must_use]
pub fn program(lines: usize, seed: u64) -> String {
    let mut out = String::with_capacity(lines * 32);
    out.push_str("package corpus\n\n// Generated; do not edit.\n\n");
    let mut dice = Dice(seed | 1);
    let mut count = out.matches('\n').count();
    let mut n = 0;
    while count < lines {
        let unit = units::UNITS[dice.below(units::UNITS.len() as u64) as usize];
        let from = out.len();
        fill(&mut out, unit, n, &mut dice);
        count += line_feeds(&out[from..]);
        n += 1;
    }
    out
}

fn line_feeds(text: &str) -> usize {
    text.bytes().filter(|b| *b == b'\n').count()
}

/// Writes a unit: `$n` its number, `$d` a small number, `$w` a word, `$W` a capitalised word.
fn fill(out: &mut String, unit: &str, n: usize, dice: &mut Dice) {
    let mut rest = unit;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        match rest.as_bytes().get(at + 1) {
            Some(b'n') => out.push_str(&n.to_string()),
            Some(b'd') => out.push_str(&(1 + dice.below(90)).to_string()),
            Some(b'w') => out.push_str(WORDS[dice.below(WORDS.len() as u64) as usize]),
            _ => out.push('$'),
        }
        rest = &rest[(at + 2).min(rest.len())..];
    }
    out.push_str(rest);
}

const WORDS: [&str; 24] = [
    "harbour", "ledger", "meadow", "signal", "lantern", "orchard", "copper", "tide", "basalt",
    "willow", "anchor", "ember", "quarry", "thistle", "saddle", "violet", "marble", "kettle",
    "sparrow", "cedar", "ripple", "granite", "falcon", "juniper",
];

/// A xorshift generator: enough to vary names and numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn same_arguments_same_program() {
        let a = super::program(500, 7);
        assert_eq!(a, super::program(500, 7));
        assert_ne!(a, super::program(500, 8));
        assert!(a.lines().count() >= 500);
        assert!(!a.contains('$'));
    }
}
