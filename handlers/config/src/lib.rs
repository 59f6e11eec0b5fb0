//! `config.get` and `config.set` of application-service, one file each; here what both answer.
//! Translates only; settings and what may be selected are the engine's matter.

mod get;
mod set;

use agent::Configuration;
use application_service::messages::{Effective, Selection};
use application_service::words::{Layer, Scope};
use magi::application_service::thinking;

/// The effective settings, and which layers there are.
fn effective(configuration: Configuration) -> Effective {
    Effective {
        selection: Selection {
            provider_id: configuration.provider,
            model_id: configuration.model,
        },
        thinking_level: thinking(configuration.level),
        configured_thinking_level: thinking(configuration.configured_level),
        available_thinking_levels: configuration.levels.into_iter().map(thinking).collect(),
        fast: configuration.fast,
        precedence: vec![Layer::Environment, Layer::Project, Layer::Global],
        writable_scopes: match configuration.has_project {
            true => vec![Scope::Global, Scope::Project],
            false => vec![Scope::Global],
        },
        global_only: vec!["fast".into()],
    }
}
