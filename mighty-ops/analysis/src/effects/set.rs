//! Sets of effects (language.md §15).
//! Must not know where an effect comes from.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of the eight effects. Names that are set aside (`io`, `rand`, `block`) and unknown ones are no members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(crate) struct EffectSet(u8);

/// By bit, in the order in which §15 lists them.
const NAMES: [&str; 8] = [
    "alloc", "net", "fs", "time", "dom", "model", "spawn", "unsafe",
];

impl EffectSet {
    pub(crate) const EMPTY: Self = Self(0);
    pub(crate) const ALLOC: Self = Self(1);
    pub(crate) const NET: Self = Self(1 << 1);
    pub(crate) const FS: Self = Self(1 << 2);
    pub(crate) const TIME: Self = Self(1 << 3);
    pub(crate) const DOM: Self = Self(1 << 4);
    pub(crate) const MODEL: Self = Self(1 << 5);
    pub(crate) const SPAWN: Self = Self(1 << 6);
    pub(crate) const UNSAFE: Self = Self(1 << 7);

    /// The effect of a name in a clause.
    #[must_use]
    pub(crate) fn named(name: &str) -> Self {
        NAMES
            .iter()
            .position(|n| *n == name)
            .map_or(Self::EMPTY, |i| Self(1 << i))
    }

    /// The effect of a call whose callee or receiver path begins with this name.
    #[must_use]
    pub(crate) fn of_head(head: &str) -> Self {
        match head {
            "fs" => Self::FS,
            "net" => Self::NET,
            "clock" => Self::TIME,
            "dom" => Self::DOM,
            "model" => Self::MODEL,
            _ => Self::EMPTY,
        }
    }

    /// The effect of a method by its name alone.
    #[must_use]
    pub(crate) fn of_method(name: &str) -> Self {
        match name {
            "push" | "pop" | "insert" | "encode" | "collect" | "clone" | "to_string" => Self::ALLOC,
            _ => Self::EMPTY,
        }
    }

    /// Whether nothing is in it.
    #[must_use]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `other` is in it.
    #[must_use]
    pub(crate) fn covers(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// What is in it, but not in `other`.
    #[must_use]
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Its names, in the order of §15.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES
            .iter()
            .enumerate()
            .filter(move |(i, _)| self.0 & (1 << i) != 0)
            .map(|(_, n)| *n)
    }
}

impl BitOr for EffectSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for EffectSet {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// `the effect `a`` or `the effects `a`, `b``.
impl fmt::Display for EffectSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.count_ones() == 1 {
            "the effect "
        } else {
            "the effects "
        })?;
        for (i, name) in self.names().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "`{name}`")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_effect_has_its_own_name() {
        let all = [
            EffectSet::ALLOC,
            EffectSet::NET,
            EffectSet::FS,
            EffectSet::TIME,
            EffectSet::DOM,
            EffectSet::MODEL,
            EffectSet::SPAWN,
            EffectSet::UNSAFE,
        ];
        for (set, name) in all.into_iter().zip(NAMES) {
            assert_eq!(EffectSet::named(name), set);
            assert_eq!(set.names().collect::<Vec<_>>(), [name]);
        }
    }

    #[test]
    fn names_set_aside_are_no_members() {
        for name in ["io", "rand", "block", "http", "Fs", ""] {
            assert!(EffectSet::named(name).is_empty());
        }
    }

    #[test]
    fn differences_and_order_are_those_of_sets() {
        let two = EffectSet::FS | EffectSet::ALLOC;
        assert!(two.covers(EffectSet::FS) && !EffectSet::FS.covers(two));
        assert_eq!(two.without(EffectSet::FS), EffectSet::ALLOC);
        assert_eq!(two.to_string(), "the effects `alloc`, `fs`");
        assert_eq!(EffectSet::FS.to_string(), "the effect `fs`");
    }

    #[test]
    fn five_heads_and_no_others() {
        assert_eq!(EffectSet::of_head("clock"), EffectSet::TIME);
        for head in ["http", "time", "llm", "env", "std"] {
            assert!(EffectSet::of_head(head).is_empty());
        }
    }
}
