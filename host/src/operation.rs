//! What one operation is: its registration record, and how its handler is started and judged.
//! Holds no dialect's envelope and no method's name.

use std::any::TypeId;
use std::future::Future;
use std::pin::Pin;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::{Cx, RawCx};
use crate::dialect::{Dialect, Rules};
use crate::event::SchemaFn;
use crate::fault::{Failure, Fault};
use crate::reply::{Answer, Outcome};

/// How an operation is scheduled on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Answers at once: its handler is a plain function, which cannot wait.
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

pub type HandlerFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;
pub type RunFn = fn(RawCx, &str) -> Result<HandlerFuture, Refused>;
/// Refuses a request whatever its params are.
pub type BeforeFn = fn(RawCx) -> Result<(), Fault>;

/// A registered method of a dialect; made by [`crate::operation!`] only.
pub struct Operation {
    pub dialect: &'static str,
    pub rules: &'static Rules,
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
    /// The engine that the handler works with.
    pub engine: fn() -> Engine,
    pub before: Option<BeforeFn>,
    pub run: RunFn,
}

/// An engine by its type, and the type's name for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine {
    pub id: TypeId,
    pub name: &'static str,
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

/// Glue of [`crate::operation!`]: the engine that a handler takes.
pub fn engine_of<B: 'static, V, R>(_: impl FnOnce(Cx<B>, V) -> R) -> Engine {
    Engine {
        id: TypeId::of::<B>(),
        name: std::any::type_name::<B>(),
    }
}

/// What an operation declares of its failures.
#[derive(Clone, Copy)]
pub struct Declared {
    pub rules: &'static Rules,
    pub method: &'static str,
    pub errors: &'static [&'static str],
}

impl Declared {
    /// The failure, if it is a declared one; else the dialect's internal one: clients were promised the others.
    fn fault(self, failure: impl Failure) -> Fault {
        let fault = failure.into_fault();
        if self.errors.contains(&fault.code) {
            return fault;
        }
        let (method, code) = (self.method, fault.code);
        tracing::error!(method, code, "the operation does not declare this failure");
        self.internal()
    }

    fn internal(self) -> Fault {
        self.rules.fault(self.rules.standard.internal)
    }

    fn outcome<A: Answer>(self, answered: Result<A, impl Failure>) -> Outcome {
        match answered {
            Ok(answer) => answer.into_outcome().unwrap_or_else(|error| {
                let method = self.method;
                tracing::error!(method, %error, "the answer could not be encoded");
                Outcome::failed(self.internal())
            }),
            Err(failure) => Outcome::failed(self.fault(failure)),
        }
    }
}

/// Glue of [`crate::operation!`]: what refuses a request before anybody looks at its params.
///
/// # Errors
/// The refusal. A missing engine refuses nothing here: starting the handler tells of it.
pub fn before<B, F>(
    declared: Declared,
    cx: RawCx,
    check: impl FnOnce(&Cx<B>) -> Result<(), F>,
) -> Result<(), Fault>
where
    B: Send + Sync + 'static,
    F: Failure,
{
    match cx.typed::<B>() {
        Some(cx) => check(&cx).map_err(|failure| declared.fault(failure)),
        None => Ok(()),
    }
}

/// Glue of [`crate::operation!`]: decodes and validates params for a handler of engine `B`.
fn admit<B, P, V, F>(
    declared: Declared,
    cx: RawCx,
    params: &str,
    validate: impl FnOnce(&Cx<B>, P) -> Result<V, F>,
) -> Result<(Cx<B>, V), Refused>
where
    B: Send + Sync + 'static,
    P: DeserializeOwned,
    F: Failure,
{
    let params: P = decode(params)?;
    let cx = cx.typed::<B>().ok_or(Refused::NoEngine)?;
    let valid =
        validate(&cx, params).map_err(|failure| Refused::Invalid(declared.fault(failure)))?;
    Ok((cx, valid))
}

/// Decodes params into their type.
///
/// # Errors
/// The member that does not fit, and why.
pub fn decode<P: DeserializeOwned>(params: &str) -> Result<P, Refused> {
    let mut decoder = serde_json::Deserializer::from_str(params);
    serde_path_to_error::deserialize(&mut decoder).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner().to_string();
        // serde_json appends a position inside the params, which means nothing to the caller.
        let inner = inner.split(" at line ").next().unwrap_or_default();
        Refused::Params(if path == "." || inner.starts_with("missing field") {
            inner.to_owned()
        } else {
            format!("`{path}`: {inner}")
        })
    })
}

/// Glue of [`crate::operation!`]: a handler that may wait.
///
/// # Errors
/// Why the handler did not start.
pub fn start<D, B, P, V, T, F, H, Fut>(
    declared: Declared,
    cx: RawCx,
    params: &str,
    validate: impl FnOnce(&Cx<B>, P) -> Result<V, F>,
    handler: H,
) -> Result<HandlerFuture, Refused>
where
    D: Dialect,
    B: Send + Sync + 'static,
    P: DeserializeOwned,
    T: Serialize,
    F: Failure,
    H: FnOnce(Cx<B>, V) -> Fut,
    Fut: Future<Output = Result<D::Reply<T>, F>> + Send + 'static,
{
    let (cx, params) = admit(declared, cx, params, validate)?;
    let work = handler(cx, params);
    Ok(Box::pin(async move { declared.outcome(work.await) }))
}

/// Glue of [`crate::operation!`]: a handler that cannot wait, because it is no `async fn`.
///
/// # Errors
/// Why the handler did not start.
pub fn start_inline<D, B, P, V, T, F, H>(
    declared: Declared,
    cx: RawCx,
    params: &str,
    validate: impl FnOnce(&Cx<B>, P) -> Result<V, F>,
    handler: H,
) -> Result<HandlerFuture, Refused>
where
    D: Dialect,
    B: Send + Sync + 'static,
    P: DeserializeOwned,
    V: Send + 'static,
    T: Serialize,
    F: Failure,
    H: FnOnce(Cx<B>, V) -> Result<D::Reply<T>, F> + Send + 'static,
{
    let (cx, params) = admit(declared, cx, params, validate)?;
    // Not before it is polled: the connection's state and class are judged first.
    Ok(Box::pin(
        async move { declared.outcome(handler(cx, params)) },
    ))
}

/// Registers one operation of a dialect, which is named by the path of its type. The handler is
/// `async fn(Cx<Engine>, Params) -> Result<Reply<Answer>, Failure>`, or a plain `fn` where the class is `Inline`;
/// everything else (capability, dispatch, schema, reference page, example test) follows from this record. A
/// failure that is not among `errors` is logged and told as the dialect's internal one.
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
        dialect: $dialect:path,
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
            type Words = <$dialect as $crate::Dialect>::Word;
            const DECLARED: $crate::Declared = $crate::Declared {
                rules: <$dialect as $crate::Dialect>::RULES,
                method: $method,
                errors: &[$(Words::$error.code()),*],
            };
            $(
                const _: $crate::SessionField = $crate::SessionField::$session;
                const _: () = ::core::assert!(
                    <$dialect as $crate::Dialect>::SESSIONS,
                    "an envelope of this dialect names no session",
                );
            )?
            fn run(
                cx: $crate::RawCx,
                params: &str,
            ) -> ::core::result::Result<$crate::HandlerFuture, $crate::Refused> {
                $crate::run_as!(
                    $class, $dialect, $params, $answer,
                    (DECLARED, cx, params, $crate::validation!($($validate)?), $handler)
                )
            }
            $crate::inventory::submit! {
                $crate::Operation {
                    dialect: <$dialect as $crate::Dialect>::NAME,
                    rules: <$dialect as $crate::Dialect>::RULES,
                    method: $method,
                    position: $position,
                    class: $crate::Class::$class,
                    needs: $crate::Needs::$needs,
                    session: $crate::session_field!($($session)?),
                    doc: &[$($doc),*],
                    errors: DECLARED.errors,
                    examples: &[$($crate::Example { params: $example, answer: $example_answer }),*],
                    params: |generator| generator.subschema_for::<$params>(),
                    answer: |generator| generator.subschema_for::<$answer>(),
                    engine: || $crate::engine_of($handler),
                    before: $crate::before_params!(DECLARED $(, $before)?),
                    run,
                }
            }
        };
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! run_as {
    (Inline, $dialect:path, $params:ty, $answer:ty, ($($given:expr),*)) => {
        $crate::start_inline::<$dialect, _, $params, _, $answer, _, _>($($given),*)
    };
    ($class:ident, $dialect:path, $params:ty, $answer:ty, ($($given:expr),*)) => {
        $crate::start::<$dialect, _, $params, _, $answer, _, _, _>($($given),*)
    };
}

/// Registers one event of a dialect, so that this process advertises it. With `name` and `delivery` it also ties the
/// data type to them; without, the type's own crate has done so with [`crate::wire_event!`].
#[macro_export]
macro_rules! event {
    (
        $(#[doc = $doc:literal])*
        dialect: $dialect:path,
        name: $name:literal,
        position: $position:literal,
        delivery: $delivery:ident,
        data: $data:ty $(,)?
    ) => {
        $crate::wire_event!($data, $name, $delivery);
        $crate::event! { $(#[doc = $doc])* dialect: $dialect, position: $position, data: $data }
    };
    (
        $(#[doc = $doc:literal])*
        dialect: $dialect:path,
        position: $position:literal,
        data: $data:ty $(,)?
    ) => {
        $crate::inventory::submit! {
            $crate::EventKind {
                dialect: <$dialect as $crate::Dialect>::NAME,
                name: <$data as $crate::WireEvent>::NAME,
                position: $position,
                delivery: <$data as $crate::WireEvent>::DELIVERY,
                doc: &[$($doc),*],
                data: |generator| generator.subschema_for::<$data>(),
            }
        }
    };
}

/// Ties an event's data type to its name and to what its consumers must expect of its delivery.
#[macro_export]
macro_rules! wire_event {
    ($data:ty, $name:literal, $delivery:ident) => {
        impl $crate::WireEvent for $data {
            const NAME: &'static str = $name;
            const DELIVERY: $crate::Delivery = $crate::Delivery::$delivery;
        }
        $crate::may_drop!($delivery, $data);
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
    ($declared:ident) => {
        ::core::option::Option::None
    };
    ($declared:ident, $before:path) => {
        ::core::option::Option::Some(|cx| $crate::before($declared, cx, $before))
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
macro_rules! may_drop {
    (MustArrive, $data:ty) => {};
    (MayDrop, $data:ty) => {
        impl $crate::MayDrop for $data {}
    };
}
