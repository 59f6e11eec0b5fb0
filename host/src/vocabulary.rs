//! Closed sets of words of the wire, declared once for whoever sends and whoever reads them. Which words there
//! are is the dialects' matter.

/// A closed set of words. A word outside it has no meaning.
pub trait Word: Copy + 'static {
    /// Every word with its meaning.
    const ALL: &'static [(&'static str, Self)];
    /// The words alone.
    const WORDS: &'static [&'static str];

    /// The word as it stands on the wire.
    fn word(self) -> &'static str;

    /// The meaning of a word, if it has one.
    #[must_use]
    fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, meaning)| *meaning)
    }
}

/// Declares an enum whose variants are words of the wire: serialized, deserialized and described as those.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name { $($(#[$inner])* $variant),+ }

        impl $crate::vocabulary::Word for $name {
            const ALL: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),+];
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn word(self) -> &'static str {
                Self::word(self)
            }
        }

        impl $name {
            /// The word as it stands on the wire.
            #[must_use]
            $vis const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        $crate::wire_word!($name);
    };
}

/// How every word is written, read and described.
#[doc(hidden)]
#[macro_export]
macro_rules! wire_word {
    ($name:ident) => {
        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::vocabulary::Word::word(*self))
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                let word = <::std::borrow::Cow<'de, str> as $crate::serde::Deserialize>::deserialize(deserializer)?;
                <Self as $crate::vocabulary::Word>::from_word(&word)
                    .ok_or_else(|| $crate::serde::de::Error::unknown_variant(&word, <Self as $crate::vocabulary::Word>::WORDS))
            }
        }

        impl $crate::schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                ::core::stringify!($name).into()
            }

            fn json_schema(_: &mut $crate::schemars::SchemaGenerator) -> $crate::schemars::Schema {
                $crate::schemars::json_schema!({ "enum": <Self as $crate::vocabulary::Word>::WORDS })
            }
        }
    };
}
