//! The words for what went wrong: a broken rule of the wire, or a request this client would not send.
//! Never a byte of what was received: every text here is one of ours.

use thiserror::Error as ThisError;

/// Which rule the peer broke. Carries names from this crate only, so it is safe to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum Violation {
    // bytes
    #[error("a frame is longer than its bound")]
    FrameTooLarge,
    #[error("the stream ended inside a frame")]
    IncompleteFrame,
    #[error("a frame is not UTF-8")]
    NotUtf8,
    #[error("a frame is not one JSON object")]
    NotJsonObject,
    #[error("a frame nests more containers than its bound")]
    TooDeep,
    #[error("an array holds more items than its bound")]
    TooManyItems,
    #[error("an object holds more fields than its bound")]
    TooManyFields,
    #[error("a string or key is longer than its bound")]
    StringTooLong,
    #[error("an object repeats a key")]
    DuplicateKey,
    #[error("a payload is larger than its bound")]
    PayloadTooLarge,

    // fields
    #[error("required field `{0}` is missing")]
    Missing(&'static str),
    #[error("field `{0}` has the wrong type")]
    WrongType(&'static str),
    #[error("field `{0}` is outside its bounds or grammar")]
    OutOfBounds(&'static str),
    #[error("field `{0}` holds a word this client does not know")]
    UnknownWord(&'static str),
    #[error("field `{0}` contradicts another field")]
    Contradiction(&'static str),

    // envelopes
    #[error("unknown protocol or version")]
    UnknownProtocol,
    #[error("unknown frame type")]
    UnknownFrameType,
    #[error("unknown event name")]
    UnknownEvent,
    #[error("unknown error code")]
    UnknownErrorCode,
    #[error("a response must hold exactly one of its result and its error")]
    NotOneOutcome,
    #[error("a successful response or an event has no identity")]
    Unbound,

    // order and correlation
    #[error("the child's instance identity changed")]
    InstanceChanged,
    #[error("a sequence number did not increase from its start")]
    Sequence,
    #[error("a response names a request that is not pending")]
    UnknownRequest,
    #[error("field `{0}` does not match the request, session, run, turn or login it belongs to")]
    IdentityMismatch(&'static str),
    #[error("an event belongs to no admitted run, turn or login")]
    UnknownRun,
    #[error("an event arrived before what must precede it")]
    OutOfOrder,
    #[error("an event arrived after its terminal event")]
    AfterTerminal,
    #[error("authoritative text has a missing part")]
    ReconcileGap,
    #[error("a completed run left text without its authoritative copy")]
    Unreconciled,
    #[error("authoritative content exceeds its bound")]
    ContentLimit,
    #[error("an activity changed after it ended, or changed its kind")]
    Activity,

    // negotiation
    #[error("capability `{0}` was required and is not offered")]
    MissingCapability(&'static str),
    #[error("limit `{0}` is missing, not a positive integer, or more than this client can consume")]
    UnsafeBound(&'static str),
    #[error("the advertised sets contradict each other")]
    InconsistentAdvertisement,
    #[error("what was advertised before has changed")]
    AdvertisementChanged,
    #[error("an event this client cannot consume is advertised")]
    UnknownEventAdvertised,
    #[error("a required transport or version is not advertised")]
    UnsupportedProfile,
}

/// `otherwise`, unless it holds.
pub(crate) fn ensure<E>(holds: bool, otherwise: E) -> Result<(), E> {
    if holds { Ok(()) } else { Err(otherwise) }
}

impl Violation {
    /// The same about a limit that was advertised: no value of a wrong kind is one that this client can consume.
    pub(crate) fn of_limit(self) -> Self {
        match self {
            Self::Missing(name) | Self::WrongType(name) | Self::OutOfBounds(name) => {
                Self::UnsafeBound(name)
            }
            other => other,
        }
    }
}

/// Why a request stayed here: nothing was written, so nothing can have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum NotSent {
    #[error("too many requests are waiting for their answers")]
    TooManyInFlight,
    #[error("this child has used up its request identities; start another")]
    RequestsExhausted,
    #[error("the request is larger than the server accepts")]
    TooLarge,
    #[error("the prompt is blank")]
    BlankPrompt,
    #[error("the prompt is longer than the server accepts")]
    PromptTooLong,
    #[error("an identity is not one a server could have given")]
    BadIdentity,
    #[error("an argument is outside its documented range")]
    BadArgument,
    #[error("the server has not been negotiated with, or was found incompatible")]
    NotNegotiated,
    #[error("the server does not offer `{0}`")]
    NotOffered(&'static str),
}

/// Everything that can end a call of a client.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The peer broke a rule. The client stays unusable.
    #[error("protocol violation: {0}")]
    Violation(#[from] Violation),
    /// The request was not sent; the client stays usable.
    #[error("not sent: {0}")]
    NotSent(#[from] NotSent),
    /// The server answered with an error of its vocabulary (a stable word, never its message).
    #[error("refused: {0}")]
    Refused(&'static str),
    /// The stream ended. Work that was admitted may or may not have happened: do not resend it.
    #[error("the server closed the stream")]
    Closed,
    #[error("the stream failed: {0}")]
    Io(#[from] std::io::Error),
}
