//! Model providers: one trait, a streamed response, cancellation, failures that keep their reason.
//! No session file is opened and no tool runs here; what goes over a network stands in `wires`.

mod config;
mod credential;
mod demonstration;
mod discovered;
mod error;
mod fixture;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "wires")]
mod http_client;
mod message;
#[cfg_attr(
    not(feature = "wires"),
    expect(
        dead_code,
        reason = "only behind a network all that is known of a model is asked"
    )
)]
mod models;
mod play;
mod provider;
#[cfg_attr(
    not(feature = "wires"),
    expect(dead_code, reason = "wires alone have exchanges")
)]
mod recorder;
mod registry;
mod request;
mod response;
mod script;
#[cfg(feature = "wires")]
mod wires;
#[cfg_attr(
    not(feature = "wires"),
    expect(dead_code, reason = "wires alone write")
)]
mod written;

pub use config::{
    Api, BuildError, ModelLimits, ModelSettings, Patience, ProviderConfig, Reasoning,
};
pub use credential::{Credential, CredentialError, CredentialSource, FixedCredential, Secret};
pub use discovered::{Discover, Discovered, DiscoveredModel, MAX_DISCOVERED};
pub use error::{ErrorKind, MAX_MESSAGE_BYTES, ProviderError};
pub use fixture::{FIXTURE_ID, FIXTURE_MODEL, Fixture};
#[cfg(feature = "wires")]
pub use http_client::HttpClient;
pub use media::Image;
pub use message::{Message, ProviderState, ThinkingLevel, ToolCall, ToolSpec};
pub use models::{known_limits, nearest_level, thinking_levels};
pub use provider::Provider;
pub use recorder::Recorder;
pub use registry::{build, build_with, discovery};
pub use request::{Purpose, Request};
pub use response::{Chunk, Response, Retry, Usage};
pub use script::{MAX_SCRIPT_BYTES, ScriptError};
pub use written::Written;
