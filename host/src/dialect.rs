//! What a dialect is to the loops: its rules as data, its words, and a codec between its frames and requests.
//! No dialect is named here; each is a crate of its own.

use std::time::Duration;

use serde::Serialize;

use crate::correlate::Identities;
use crate::fault::{Failure, Fault};
use crate::frame::FrameRules;
use crate::guide::Guide;
use crate::reply::Answer;
use crate::scan::ScanLimits;

/// A dialect, as its operations name it: `host::operation! { dialect: the_crate::TheDialect, … }`.
pub trait Dialect: Sized + 'static {
    const NAME: &'static str;
    const RULES: &'static Rules;
    /// Whether a request's envelope may name a session. Where it can't, `session:` does not compile.
    const SESSIONS: bool;
    /// The closed vocabulary of failures; an enum whose `code` is a constant function.
    type Word: Failure;
    /// A successful answer: what can follow it depends on the loop.
    type Reply<T: Serialize>: Answer;
}

/// A published limit.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub name: &'static str,
    pub value: u64,
    /// What is counted, its unit and what happens beyond it.
    pub meaning: &'static str,
}

impl Limit {
    #[must_use]
    pub const fn new(name: &'static str, value: u64, meaning: &'static str) -> Self {
        Self {
            name,
            value,
            meaning,
        }
    }
}

/// Declares the limits of a version of a protocol, each with its value and its meaning: once for who publishes and who
/// reads them.
#[macro_export]
macro_rules! limits {
    ($(#[$meta:meta])* pub struct Limits { $($name:ident = $value:expr, $meaning:literal;)+ }) => {
        $(#[$meta])*
        #[derive(::core::clone::Clone, ::core::fmt::Debug, ::core::cmp::PartialEq, ::core::cmp::Eq)]
        #[derive($crate::serde::Serialize, $crate::serde::Deserialize)]
        #[serde(crate = "host::serde")]
        pub struct Limits {
            $(
                // Not in schemas: `limits` there says what they mean.
                #[cfg_attr(doc, doc = $meaning)]
                #[serde(deserialize_with = "host::read::positive")]
                pub $name: usize,
            )+
        }

        impl Limits {
            /// Those of this server.
            pub const VERSION_1: Self = Self { $($name: $value),+ };
            pub const NAMES: &'static [&'static str] = &[$(::core::stringify!($name)),+];
            pub(crate) const PUBLISHED: &'static [$crate::dialect::Limit] =
                &[$($crate::dialect::Limit::new(::core::stringify!($name), $value as u64, $meaning)),+];

            /// Each limit by its name.
            #[must_use]
            pub fn each(&self) -> ::std::vec::Vec<(&'static str, usize)> {
                ::std::vec![$((::core::stringify!($name), self.$name)),+]
            }
        }
    };
}

/// When the loop admits the next frame while output is pending.
#[derive(Clone, Copy, Debug)]
pub enum Admission {
    /// Freely while fewer than `room` frames are pending; beyond that one frame each `pause`. A reader
    /// that lags for a moment is not taken for a stalled one, and reading never stops altogether.
    Paced { room: usize, pause: Duration },
    /// Only when everything is written, and not while an exclusive operation runs: each answer and each
    /// outbound batch precedes the next input.
    AfterFlush,
}

/// The output's bounds.
#[derive(Clone, Copy, Debug)]
pub struct OutputRules {
    /// Frames that may be pending at once; one more ends the process.
    pub queue_frames: usize,
    /// Largest frame in bytes including its LF.
    pub frame_bytes: usize,
    /// From a frame's entry into the queue to its last byte; partial progress does not extend it.
    pub deadline: Option<Duration>,
    /// A frame that cannot be sent ends the process with a diagnostic instead of a failure answer.
    pub strict: bool,
}

/// The words that the shared machinery needs.
#[derive(Clone, Copy, Debug)]
pub struct Standard {
    pub unsupported: &'static str,
    pub invalid_params: &'static str,
    pub invalid_session: &'static str,
    pub not_initialized: &'static str,
    pub duplicate: &'static str,
    pub exhausted: &'static str,
    pub busy: &'static str,
    /// A handler failed in a way that has no better word.
    pub internal: &'static str,
    /// An answer passed an output bound.
    pub oversize: &'static str,
}

/// Everything about a dialect that is data.
#[derive(Debug)]
pub struct Rules {
    pub name: &'static str,
    pub version: u16,
    /// The method that opens a connection; it is advertised before all others.
    pub opening: Option<&'static str>,
    pub frame: FrameRules,
    pub scan: ScanLimits,
    pub limits: &'static [Limit],
    /// The closed vocabulary of failures: code and meaning.
    pub words: &'static [(&'static str, &'static str)],
    pub identities: Identities,
    pub admission: Admission,
    /// Requests that a process serves at once over all its connections, where one connection serves one.
    pub requests: usize,
    pub output: OutputRules,
    /// From the end of input to the last drained byte and finished request.
    pub closing: Duration,
    /// How much longer requests of [`crate::Class::Background`] are waited for, which nothing cancels; what the last of them
    /// answers has `closing` to itself.
    pub background: Duration,
    /// From the end of draining to the end of cleanup; slower teardown is left to process exit.
    pub cleanup: Duration,
    pub standard: Standard,
    /// What its reference page says beyond its operations.
    pub guide: Guide,
}

impl Rules {
    #[must_use]
    pub fn limit(&self, name: &str) -> Option<u64> {
        self.limits
            .iter()
            .find(|limit| limit.name == name)
            .map(|limit| limit.value)
    }

    /// The limits as a JSON object; its members are sorted by name.
    #[must_use]
    pub fn limits_object(&self) -> serde_json::Map<String, serde_json::Value> {
        self.limits
            .iter()
            .map(|limit| (limit.name.to_owned(), limit.value.into()))
            .collect()
    }

    /// A failure with one of the dialect's words and its fixed message.
    #[must_use]
    pub fn fault(&self, code: &'static str) -> Fault {
        let message = self
            .words
            .iter()
            .find(|(word, _)| *word == code)
            .map_or("", |(_, meaning)| meaning);
        Fault {
            code,
            message: message.into(),
            exit_code: 1,
            body: None,
        }
    }
}

/// Identity fields of a request that are safe to send back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub id: Option<std::sync::Arc<str>>,
    pub session_id: Option<std::sync::Arc<str>>,
    pub method: Option<String>,
}

/// A refusal of something that is not a correlated request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub identity: Identity,
    pub code: &'static str,
    /// Close the connection after delivering it.
    pub closes: bool,
}

/// What a frame turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Decoded<'f> {
    Request {
        identity: Identity,
        /// The params' JSON text; an object unless `fault` says otherwise.
        params: &'f str,
        /// A reason to refuse it, once its identity is admitted.
        fault: Option<&'static str>,
    },
    Refused(Refusal),
}

impl Decoded<'_> {
    /// Whether it is a request without a fault.
    #[must_use]
    pub fn is_request(&self) -> bool {
        matches!(self, Self::Request { fault: None, .. })
    }
}

/// A message that breaks an output bound of its own dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an outbound message passed a protocol bound")]
pub struct Unencodable;

/// The codec of a dialect with concurrent requests; one per connection.
pub trait Codec: Dialect + Send {
    /// Decodes one frame, its LF excluded.
    fn decode<'f>(&mut self, frame: &'f [u8]) -> Decoded<'f>;
    /// The answer to a frame over its bound.
    fn oversize(&self) -> Refusal;
    /// The answer to input that ended inside a frame.
    fn incomplete(&self) -> Refusal;
    /// Encodes an answer, its LF included.
    fn answer(
        &mut self,
        identity: &Identity,
        result: Result<&str, &Fault>,
    ) -> Result<Vec<u8>, Unencodable>;
    /// Encodes an event, its LF included.
    fn event(&mut self, origin: &Identity, name: &str, data: &str) -> Result<Vec<u8>, Unencodable>;
}

/// Appends `text` as a JSON string.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    // Writing a string into a Vec cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// Appends `text` as a JSON string, or `null`.
pub fn push_nullable(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => push_string(out, text),
        None => out.extend_from_slice(b"null"),
    }
}

/// Declares a dialect's closed failure vocabulary: an enum with `ALL`, `code`, `meaning` and its [`Failure`].
#[macro_export]
macro_rules! vocabulary {
    ($(#[$meta:meta])* $name:ident { $($word:ident => $code:literal, $meaning:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $(#[doc = $meaning] $word),* }

        impl $name {
            /// Every word with its fixed meaning, in the order of the specification.
            pub const ALL: &'static [(&'static str, &'static str)] = &[$(($code, $meaning)),*];

            /// The code as it stands on the wire.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$word => $code),* }
            }

            /// The code, by the name that all vocabularies have for it.
            #[must_use]
            pub const fn word(self) -> &'static str {
                self.code()
            }

            /// The fixed message.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$word => $meaning),* }
            }
        }

        impl $crate::vocabulary::Word for $name {
            const ALL: &'static [(&'static str, Self)] = &[$(($code, Self::$word)),*];
            const WORDS: &'static [&'static str] = &[$($code),*];

            fn word(self) -> &'static str {
                self.code()
            }
        }

        $crate::wire_word!($name);

        impl $crate::Failure for $name {
            fn into_fault(self) -> $crate::Fault {
                $crate::Fault {
                    code: self.code(),
                    message: self.meaning().into(),
                    exit_code: 1,
                    body: None,
                }
            }
        }
    };
}
