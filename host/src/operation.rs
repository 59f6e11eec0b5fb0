//! What one operation is: its registration record, the context its handler gets and the answer it gives.
//! Holds no dialect's envelope and no method's name.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use schemars::{Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::{Cx, RawCx};

/// How an operation is scheduled on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Answers at once and never waits.
    Inline,
    /// At most one at a time on a connection. Overlap is the dialect's busy error; where each answer
    /// precedes the next request ([`crate::dialect::Admission::AfterFlush`]) there is none.
    Exclusive,
    /// Runs beside others.
    Background,
}

impl Class {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Exclusive => "exclusive",
            Self::Background => "background",
        }
    }
}

/// What must have happened on the connection before an operation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    /// The connection's [`crate::Gate`] is open.
    Initialization,
}

/// The rule for an envelope's own session identity, in dialects that have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionField {
    Omitted,
    Optional,
    Required,
}

/// A request's params and the answer to it, both JSON text, as documentation and as a test.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    pub params: &'static str,
    pub answer: &'static str,
}

pub type SchemaFn = fn(&mut SchemaGenerator) -> Schema;
pub type HandlerFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;
pub type RunFn = fn(RawCx, &str) -> Result<HandlerFuture, Refused>;
/// Refuses a request whatever its params are.
pub type BeforeFn = fn(RawCx) -> Result<(), Fault>;

/// A registered method of a dialect; made by [`crate::operation!`] only.
pub struct Operation {
    pub dialect: &'static str,
    pub method: &'static str,
    /// Where it stands in advertised lists; ties go by name.
    pub position: u16,
    pub class: Class,
    pub needs: Needs,
    pub session: SessionField,
    pub doc: &'static [&'static str],
    pub errors: &'static [&'static str],
    pub examples: &'static [Example],
    pub params: SchemaFn,
    pub answer: SchemaFn,
    pub before: Option<BeforeFn>,
    pub run: RunFn,
}

inventory::collect!(Operation);

impl Operation {
    /// Checks the request and makes its handler's future, which does nothing before it is polled.
    ///
    /// # Errors
    /// Why the handler does not start.
    pub fn start(&self, cx: RawCx, params: &str) -> Result<HandlerFuture, Refused> {
        if let Some(before) = self.before {
            before(cx.clone()).map_err(Refused::Invalid)?;
        }
        (self.run)(cx, params)
    }
}

/// Why a request's handler did not start.
#[derive(Debug)]
pub enum Refused {
    /// The params are not of the operation's type. The text names the member and never leaves the
    /// process in dialects whose errors must not echo input.
    Params(String),
    /// The params are of the type and break a bound of the operation, in the dialect's own word.
    Invalid(Fault),
    /// The engine that the handler works with was not supplied: the composition is wrong.
    NoEngine,
}

/// A failure in a dialect's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A word of the dialect's closed vocabulary; empty in dialects without one.
    pub code: &'static str,
    pub message: Cow<'static, str>,
    /// Exit code of the equivalent command, for dialects that report one.
    pub exit_code: i32,
    /// Members of a result that accompanies the failure, as a JSON object.
    pub body: Option<String>,
}

/// Turns a handler's error type into the wire's fault.
pub trait Failure {
    fn into_fault(self) -> Fault;
}

impl Failure for Fault {
    fn into_fault(self) -> Fault {
        self
    }
}

/// What happens on the connection after an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum After {
    #[default]
    Continue,
    /// No later input is admitted; pending work is cancelled and output drains.
    Close,
}

/// Work that continues once the answer stands in the output, such as a run's events. What it leaves
/// is dropped once everything it sent is written, or cannot be.
pub type FollowUp = Pin<Box<dyn Future<Output = Box<dyn Send>> + Send>>;

/// A successful answer.
pub struct Reply<T> {
    value: T,
    exit_code: i32,
    after: After,
    then: Option<FollowUp>,
}

impl<T> Reply<T> {
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            value,
            exit_code: 0,
            after: After::Continue,
            then: None,
        }
    }

    /// Continues with `work` after the answer is queued, so that no event can precede it. The request
    /// identity stays reserved until the work has ended and its last event is written (in dialects that
    /// reserve identities). What the work returns is kept as long: a reservation in an engine, for one,
    /// that must survive the attempt to write how it ended.
    #[must_use]
    pub fn then<R: Send + 'static>(
        mut self,
        work: impl Future<Output = R> + Send + 'static,
    ) -> Self {
        self.then = Some(Box::pin(
            async move { Box::new(work.await) as Box<dyn Send> },
        ));
        self
    }

    /// Closes the connection after this answer.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.after = After::Close;
        self
    }

    /// The exit code that the equivalent command would give.
    #[must_use]
    pub fn exit_code(mut self, code: i32) -> Self {
        self.exit_code = code;
        self
    }
}

impl<T> From<T> for Reply<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// A handler's outcome, encoded but not yet in an envelope.
pub struct Outcome {
    /// The answer as JSON text, or the failure.
    pub result: Result<String, Fault>,
    pub exit_code: i32,
    pub after: After,
    pub then: Option<FollowUp>,
}

impl Outcome {
    #[must_use]
    pub fn failed(fault: Fault) -> Self {
        Self {
            exit_code: fault.exit_code,
            result: Err(fault),
            after: After::Continue,
            then: None,
        }
    }
}

/// Glue of [`crate::operation!`]: what refuses a request before anybody looks at its params.
///
/// # Errors
/// The refusal. A missing engine refuses nothing here: starting the handler tells of it.
pub fn before<B, F>(cx: RawCx, check: impl FnOnce(&Cx<B>) -> Result<(), F>) -> Result<(), Fault>
where
    B: Send + Sync + 'static,
    F: Failure,
{
    match cx.typed::<B>() {
        Some(cx) => check(&cx).map_err(Failure::into_fault),
        None => Ok(()),
    }
}

/// Glue of [`crate::operation!`]: decodes and validates params, starts the handler, encodes its answer.
///
/// # Errors
/// Why the handler did not start.
pub fn start<B, P, V, T, F, H, Fut>(
    cx: RawCx,
    params: &str,
    validate: impl FnOnce(&Cx<B>, P) -> Result<V, F>,
    handler: H,
) -> Result<HandlerFuture, Refused>
where
    B: Send + Sync + 'static,
    P: DeserializeOwned,
    T: Serialize,
    F: Failure,
    H: FnOnce(Cx<B>, V) -> Fut,
    Fut: Future<Output = Result<Reply<T>, F>> + Send + 'static,
{
    let mut decoder = serde_json::Deserializer::from_str(params);
    let params: P = serde_path_to_error::deserialize(&mut decoder).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner().to_string();
        // serde_json appends a position inside the params, which means nothing to the caller.
        let inner = inner.split(" at line ").next().unwrap_or_default();
        Refused::Params(if path == "." || inner.starts_with("missing field") {
            inner.to_owned()
        } else {
            format!("`{path}`: {inner}")
        })
    })?;
    let cx = cx.typed::<B>().ok_or(Refused::NoEngine)?;
    let params = validate(&cx, params).map_err(|failure| Refused::Invalid(failure.into_fault()))?;
    let work = handler(cx, params);
    Ok(Box::pin(async move {
        match work.await {
            Ok(reply) => match serde_json::to_string(&reply.value) {
                Ok(text) => Outcome {
                    result: Ok(text),
                    exit_code: reply.exit_code,
                    after: reply.after,
                    then: reply.then,
                },
                Err(_) => Outcome::failed(Fault {
                    code: "",
                    message: Cow::Borrowed("answer could not be encoded"),
                    exit_code: 1,
                    body: None,
                }),
            },
            Err(failure) => Outcome::failed(failure.into_fault()),
        }
    }))
}

/// Registers one operation. The handler is `async fn(Cx<Engine>, Params) -> Result<Reply<Answer>, Failure>`;
/// everything else (capability, dispatch, schema, reference page, example test) follows from this record.
///
/// `validate: fn(&Cx<Engine>, Params) -> Result<Valid, Failure>` states the bounds that the type of the params
/// does not; they count as validation, whatever the connection's state is, and the handler gets what it gives.
/// `before: fn(&Cx<Engine>) -> Result<(), Failure>` refuses a request whatever its params are.
///
/// `docs/adding-an-operation.md` walks through it.
#[macro_export]
macro_rules! operation {
    (
        $(#[doc = $doc:literal])*
        dialect: $dialect:ident,
        method: $method:literal,
        position: $position:literal,
        class: $class:ident,
        needs: $needs:ident,
        $(session: $session:ident,)?
        $(before: $before:path,)?
        params: $params:ty,
        $(validate: $validate:path,)?
        answer: $answer:ty,
        errors: [$($error:ident),* $(,)?],
        $(example: $example:literal => $example_answer:literal,)*
        handler: $handler:path $(,)?
    ) => {
        const _: () = {
            fn run(
                cx: $crate::RawCx,
                params: &str,
            ) -> ::core::result::Result<$crate::HandlerFuture, $crate::Refused> {
                $crate::start::<_, $params, _, $answer, _, _, _>(
                    cx,
                    params,
                    $crate::validation!($($validate)?),
                    $handler,
                )
            }
            $crate::inventory::submit! {
                $crate::Operation {
                    dialect: $crate::dialect_name!($dialect),
                    method: $method,
                    position: $position,
                    class: $crate::Class::$class,
                    needs: $crate::Needs::$needs,
                    session: $crate::session_field!($($session)?),
                    doc: &[$($doc),*],
                    errors: &[$($crate::word!($dialect, $error)),*],
                    examples: &[$($crate::Example { params: $example, answer: $example_answer }),*],
                    params: |generator| generator.subschema_for::<$params>(),
                    answer: |generator| generator.subschema_for::<$answer>(),
                    before: $crate::before_params!($($before)?),
                    run,
                }
            }
        };
    };
}

/// Registers one event of a dialect and ties its data type to its name.
#[macro_export]
macro_rules! event {
    (
        $(#[doc = $doc:literal])*
        dialect: $dialect:ident,
        name: $name:literal,
        position: $position:literal,
        delivery: $delivery:ident,
        data: $data:ty $(,)?
    ) => {
        impl $crate::WireEvent for $data {
            const NAME: &'static str = $name;
        }
        $crate::inventory::submit! {
            $crate::EventKind {
                dialect: $crate::dialect_name!($dialect),
                name: $name,
                position: $position,
                delivery: $crate::Delivery::$delivery,
                doc: &[$($doc),*],
                data: |generator| generator.subschema_for::<$data>(),
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! validation {
    () => {
        |_, params| ::core::result::Result::Ok(params)
    };
    ($validate:path) => {
        $validate
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! before_params {
    () => {
        ::core::option::Option::None
    };
    ($before:path) => {
        ::core::option::Option::Some(|cx| $crate::before(cx, $before))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! session_field {
    () => {
        $crate::SessionField::Omitted
    };
    ($rule:ident) => {
        $crate::SessionField::$rule
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! dialect_name {
    (LOCAL_AGENT) => {
        $crate::dialect::LOCAL_AGENT
    };
    (APPLICATION_SERVICE) => {
        $crate::dialect::APPLICATION_SERVICE
    };
    (MTY_AGENT) => {
        $crate::dialect::MTY_AGENT
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! word {
    (LOCAL_AGENT, $word:ident) => {
        $crate::dialect::local_agent::Word::$word.code()
    };
    (APPLICATION_SERVICE, $word:ident) => {
        $crate::dialect::application_service::Word::$word.code()
    };
    (MTY_AGENT, $word:ident) => {
        $crate::dialect::mty_agent::Word::$word.code()
    };
}
