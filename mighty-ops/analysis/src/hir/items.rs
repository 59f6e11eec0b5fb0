//! The items of a package with their resolved signatures.
//! Must not hold function bodies; those are in `body`.

use syntax::{NodeId, TextRange};

use super::ids::*;
use crate::package::FileId;
use crate::ty::Ty;

/// What every item has.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    /// Its name; of an `impl` the name of the self type's head, or an empty one.
    pub name: Name,
    /// Where the name stands.
    pub name_range: TextRange,
    /// The whole item, attributes and visibility included.
    pub range: TextRange,
    /// The file.
    pub file: FileId,
    /// The module (perhaps a block) it belongs to.
    pub module: ModuleId,
    /// Its node in the expanded tree of the file; views of `syntax::ast` can be cast from it.
    pub node: NodeId,
    /// `pub` (and not `pub(crate)`).
    pub public: bool,
}

/// A generic parameter. Row variables of effect clauses are declared in the same lists.
#[derive(Debug, Clone)]
pub struct Generic {
    /// The name.
    pub name: Name,
    /// Where it is declared.
    pub range: TextRange,
    /// Its bounds, those of `where` clauses included. Unknown and foreign traits are left out.
    pub bounds: Vec<TraitId>,
    /// Marker bounds by name (`Copy`, `Hash`, `Eq`, `Sendable`).
    pub markers: Vec<Name>,
    /// Whether it is used as a row variable in an effect clause of its item.
    pub is_row: bool,
    /// Whether a bound could not be resolved, so that any method may exist.
    pub open: bool,
}

/// What kind of function it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FnKind {
    /// Of a module or a block.
    Free,
    /// Of an `impl`.
    Method(ImplId),
    /// Of a trait, with or without a default body.
    Trait(TraitId),
    /// Of an agent.
    Agent(AgentId),
    /// Declared in an `extern` block.
    Extern,
    /// `export fn`.
    Export,
}

/// How a method takes its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelfKind {
    /// `self`, `self: &Self`, `&self`: a shared borrow.
    Shared,
    /// `self: &mut Self`, `&mut self`.
    Mut,
    /// `self: Self`: consumes the receiver.
    Value,
}

/// The receiver parameter.
#[derive(Debug, Clone, Copy)]
pub struct SelfParam {
    /// How it is taken.
    pub kind: SelfKind,
    /// The whole parameter.
    pub range: TextRange,
}

/// A parameter other than `self`.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Its name, unless it is destructured.
    pub name: Option<Name>,
    /// Range of its pattern.
    pub range: TextRange,
    /// Its declared type; `None` if there is none, see [`Function::params`].
    pub ty: Option<Ty>,
    /// The node of the declared type.
    pub ty_node: Option<NodeId>,
    /// The node of the whole parameter.
    pub node: NodeId,
}

/// An effect clause.
#[derive(Debug, Clone, Default)]
pub struct Effects {
    /// The clause.
    pub range: TextRange,
    /// Concrete effects in source order.
    pub names: Vec<(Name, TextRange)>,
    /// Row variables in source order.
    pub rows: Vec<(Name, TextRange)>,
}

/// A function of any kind.
#[derive(Debug, Clone)]
pub struct Function {
    pub head: Head,
    pub kind: FnKind,
    /// Own generic parameters; those of the `impl` or trait are there.
    pub generics: Vec<GenericId>,
    pub self_param: Option<SelfParam>,
    /// In source order. The final type of an untyped one is the type of the local that it binds.
    pub params: Vec<Param>,
    /// `...` at the end.
    pub variadic: bool,
    /// The declared result; `Unit` if none is declared.
    pub ret: Ty,
    /// Range of the declared result type.
    pub ret_range: Option<TextRange>,
    pub effects: Option<Effects>,
    pub is_unsafe: bool,
    pub is_const: bool,
    /// The body; its parameters are in [`Body::params`](super::Body::params).
    pub body: Option<BodyId>,
}

/// A field of a struct.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub name: Name,
    pub range: TextRange,
    pub ty: Ty,
    pub ty_range: TextRange,
}

/// A struct; without fields also a value.
#[derive(Debug, Clone)]
pub struct Struct {
    pub head: Head,
    pub generics: Vec<GenericId>,
    pub fields: Vec<Field>,
    /// Whether it has braces.
    pub braced: bool,
    /// Derived names with their places.
    pub derives: Vec<(Name, TextRange)>,
    /// Whether it derives `Copy` validly.
    pub is_copy: bool,
}

/// A variant of an enum.
#[derive(Debug, Clone)]
pub struct Variant {
    pub name: Name,
    pub range: TextRange,
    pub payload: Vec<Ty>,
    pub payload_ranges: Vec<TextRange>,
}

/// An enum.
#[derive(Debug, Clone)]
pub struct Enum {
    pub head: Head,
    pub generics: Vec<GenericId>,
    pub variants: Vec<Variant>,
    pub derives: Vec<(Name, TextRange)>,
    /// Whether it derives `Copy` validly.
    pub is_copy: bool,
}

/// A trait.
#[derive(Debug, Clone)]
pub struct Trait {
    pub head: Head,
    pub generics: Vec<GenericId>,
    pub methods: Vec<FnId>,
    pub consts: Vec<ConstId>,
    /// Why it cannot be a `dyn` type: the offending method.
    pub not_object_safe: Option<FnId>,
}

/// `impl Type` or `impl Trait for Type`.
#[derive(Debug, Clone)]
pub struct Impl {
    pub head: Head,
    pub generics: Vec<GenericId>,
    /// Whether a trait is written.
    pub has_trait: bool,
    /// The trait, if it is one of the package.
    pub trait_id: Option<TraitId>,
    /// The written name of the trait, known or not.
    pub trait_name: Option<Name>,
    /// Where the trait is written.
    pub trait_range: Option<TextRange>,
    pub self_ty: Ty,
    pub self_range: TextRange,
    pub methods: Vec<FnId>,
    pub consts: Vec<ConstId>,
}

/// `type A = T`.
#[derive(Debug, Clone)]
pub struct Alias {
    pub head: Head,
    pub generics: Vec<GenericId>,
    /// What it stands for.
    pub ty: Ty,
}

/// A constant of a module, a block, an impl or a trait.
#[derive(Debug, Clone)]
pub struct Const {
    pub head: Head,
    /// The declared type.
    pub ty: Option<Ty>,
    pub ty_range: Option<TextRange>,
    pub body: Option<BodyId>,
    /// The impl or trait it is a member of, by its self type.
    pub owner: Option<Ty>,
}

/// A message of a protocol.
#[derive(Debug, Clone)]
pub struct Message {
    pub name: Name,
    pub name_range: TextRange,
    pub range: TextRange,
    /// Parameters: name, place, type.
    pub params: Vec<(Name, TextRange, Ty)>,
    pub ret: Ty,
}

/// A protocol.
#[derive(Debug, Clone)]
pub struct Protocol {
    pub head: Head,
    pub messages: Vec<Message>,
}

/// A protocol in the header of an agent.
#[derive(Debug, Clone, Copy)]
pub struct ProtocolRef {
    /// The protocol, if it is one of the package.
    pub id: Option<ProtocolId>,
    /// Its last name as written.
    pub name: Name,
    pub range: TextRange,
}

/// A state field.
#[derive(Debug, Clone, Copy)]
pub struct StateField {
    pub name: Name,
    pub name_range: TextRange,
    pub range: TextRange,
    /// The declared type. The final one is in `BodyTypes`, see [`crate::infer::Types::state`].
    pub ty: Option<Ty>,
    /// The initialiser.
    pub body: Option<BodyId>,
}

/// A message handler.
#[derive(Debug, Clone)]
pub struct Handler {
    pub name: Name,
    pub name_range: TextRange,
    pub range: TextRange,
    /// Parameters as written; types may be missing. Final types are those of the body's locals.
    pub params: Vec<Param>,
    /// The written reply type.
    pub written_ret: Option<Ty>,
    pub ret_range: Option<TextRange>,
    /// The reply type: written, else of the first known protocol with the message.
    pub ret: Option<Ty>,
    /// Whether `->` is written: without it and without a protocol there is no reply.
    pub has_arrow: bool,
    /// The message it answers: of the first known protocol that has one of its name.
    pub message: Option<(ProtocolId, u32)>,
    /// No body only in trees with errors.
    pub body: Option<BodyId>,
    pub node: NodeId,
}

/// An agent.
#[derive(Debug, Clone)]
pub struct Agent {
    pub head: Head,
    /// Constructor parameters. Their final types are in [`crate::infer::Types::ctor`].
    pub ctor: Vec<Param>,
    pub protocols: Vec<ProtocolRef>,
    pub state: Vec<StateField>,
    pub handlers: Vec<Handler>,
    pub methods: Vec<FnId>,
    /// `init`: its parameters and body.
    pub init: Option<Init>,
}

/// `init` of an agent.
#[derive(Debug, Clone)]
pub struct Init {
    pub range: TextRange,
    pub params: Vec<Param>,
    /// Whether `-> T` is written.
    pub has_ret: bool,
    pub body: Option<BodyId>,
}

/// A supervisor. Its expressions are no part of any body: everything in it is accepted (§5.2).
#[derive(Debug, Clone)]
pub struct Supervisor {
    pub head: Head,
    /// Children: name, place, the agent or supervisor started.
    pub children: Vec<(Name, TextRange, Option<Name>)>,
}

/// A top-level `sandbox`.
#[derive(Debug, Clone)]
pub struct Sandbox {
    pub head: Head,
    pub body: Option<BodyId>,
}

/// `cap Name`.
#[derive(Debug, Clone)]
pub struct Cap {
    pub head: Head,
}

/// A declarative or procedural macro, as far as names go.
#[derive(Debug, Clone)]
pub struct Macro {
    pub head: Head,
    pub is_proc: bool,
}
