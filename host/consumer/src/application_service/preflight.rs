//! Before the first mutation: is this a server whose every promise and every event this client can hold?
//! A refusal here is the client's own; the server has done nothing wrong by being newer.

use std::borrow::Cow;

use application_service::messages::{ActivityFlags, Capabilities};

use super::VERSION;
use super::event::EVENTS;
use super::limits::Limits;
use crate::Violation;
use crate::fields::Fields;
use crate::violation::ensure;

/// What a client cannot do without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Operation names. More than eight are checked here only (spec: "Initialization and negotiation").
    pub operations: &'static [&'static str],
    /// `turn.activity` with its capability object.
    pub activity: bool,
}

/// Whether this client can follow what is advertised of activities.
fn followed(flags: &ActivityFlags) -> Result<(), Violation> {
    // These would mean behaviour that version 1 does not define and this client cannot follow.
    if flags.approvals
        || flags.steering
        || flags.mcp_server_lifecycle
        || flags.raw_tool_output
        || flags.activity_replay
    {
        return Err(Violation::UnsupportedProfile);
    }
    ensure(
        (1..=super::limits::LOCAL.string_bytes).contains(&(flags.max_summary_bytes as usize)),
        Violation::UnsafeBound("max_summary_bytes"),
    )
}

/// What a server says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// In the answer to `initialize` only: name and package version.
    pub server: Option<(String, String)>,
    pub protocol_versions: Vec<u64>,
    pub operations: Vec<Cow<'static, str>>,
    pub events: Vec<Cow<'static, str>>,
    pub transports: Vec<Cow<'static, str>>,
    pub limits: Limits,
    pub activity: Option<ActivityFlags>,
}

impl Advertisement {
    /// Reads the capability object, as `capabilities` answers it.
    ///
    /// # Errors
    /// The first rule it breaks.
    pub fn read(fields: Fields<'_>) -> Result<Self, Violation> {
        let limits = Limits::read(fields.object("limits")?)?;
        let capabilities: Result<Capabilities, _> = fields.whole("capabilities");
        let capabilities = capabilities.map_err(|violation| match violation.of_limit() {
            limit @ Violation::UnsafeBound("max_summary_bytes") => limit,
            _ => violation,
        })?;
        for (name, set) in [
            ("operations", &capabilities.operations),
            ("events", &capabilities.events),
            ("transports", &capabilities.transports),
        ] {
            if set.iter().any(|text| text.len() > limits.max_name_bytes) {
                return Err(Violation::OutOfBounds(name));
            }
        }
        capabilities.activity.as_ref().map_or(Ok(()), followed)?;
        Ok(Self {
            server: None,
            protocol_versions: capabilities.protocol_versions,
            operations: capabilities.operations,
            events: capabilities.events,
            transports: capabilities.transports,
            activity: capabilities.activity,
            limits,
        })
    }

    /// Reads the answer to `initialize`, whose two limits objects must agree.
    ///
    /// # Errors
    /// The first rule it breaks.
    pub fn of_initialize(fields: Fields<'_>) -> Result<Self, Violation> {
        ensure(
            fields.count("protocol_version")? == VERSION,
            Violation::UnknownProtocol,
        )?;
        let outer = Limits::read(fields.object("limits")?)?;
        let inner = Self::read(fields.object("capabilities")?)?;
        ensure(
            outer.agrees_with(&inner.limits),
            Violation::InconsistentAdvertisement,
        )?;
        let server = (
            fields.bounded("server_name", 256)?,
            fields.bounded("server_version", 256)?,
        );
        Ok(Self {
            server: Some(server),
            ..inner
        })
    }

    /// Judges the whole advertisement. Only a [`Profile`] lets anything but discovery be sent.
    ///
    /// # Errors
    /// Why this client and this server cannot work together.
    pub fn accept(&self, requirements: &Requirements) -> Result<Profile, Violation> {
        let has = |set: &[Cow<'static, str>], name: &str| set.iter().any(|known| known == name);
        if !self.protocol_versions.contains(&VERSION) || !has(&self.transports, "stdio") {
            return Err(Violation::UnsupportedProfile);
        }
        for name in requirements.operations {
            ensure(
                has(&self.operations, name),
                Violation::MissingCapability(name),
            )?;
        }
        // There is no subscription: whatever is advertised can arrive (spec: "complete event set, no subscriptions").
        if self
            .events
            .iter()
            .any(|event| !EVENTS.contains(&event.as_ref()))
        {
            return Err(Violation::UnknownEventAdvertised);
        }
        let promised = |operation: &str, events: &[&str]| {
            !has(&self.operations, operation) || events.iter().all(|event| has(&self.events, event))
        };
        if !promised(
            "turn.start",
            &["turn.started", "turn.assistant_delta", "turn.terminal"],
        ) || !promised(
            "auth.login.start",
            &["auth.login.progress", "auth.login.terminal"],
        ) {
            return Err(Violation::InconsistentAdvertisement);
        }
        let active = has(&self.events, "turn.activity");
        if active && !self.activity.is_some_and(|features| features.events) {
            return Err(Violation::InconsistentAdvertisement);
        }
        if requirements.activity && !active {
            return Err(Violation::MissingCapability("turn.activity"));
        }
        Ok(Profile {
            operations: self.operations.clone(),
            events: self.events.clone(),
            limits: self.limits.clone(),
            activity: self.activity.filter(|_| active),
        })
    }
}

/// A server this client has agreed to work with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pub operations: Vec<Cow<'static, str>>,
    pub events: Vec<Cow<'static, str>>,
    pub limits: Limits,
    /// Where `turn.activity` is advertised.
    pub activity: Option<ActivityFlags>,
}

impl Profile {
    /// Whether the server offers this operation.
    #[must_use]
    pub fn offers(&self, operation: &str) -> bool {
        self.operations.iter().any(|name| name == operation)
    }
}
