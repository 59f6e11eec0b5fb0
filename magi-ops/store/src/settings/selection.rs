//! Changes of what is selected: provider, model, thinking level, fast mode, in the person's settings or a project's.
//! How a file is changed is `writer`'s matter; what may be selected, that of whoever asks.

use std::fmt::Debug;
use std::path::Path;

use super::edit::{Edit, quoted};
use super::model::ThinkingLevel;
use super::writer::{self, EditError, Refusal, Scope, json};
use super::{Overrides, Settings};
use crate::local::LocalHome;

/// What is to be selected; what is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// The provider and its model.
    pub selection: Option<(String, String)>,
    pub thinking_level: Option<ThinkingLevel>,
    /// Global settings only.
    pub fast: Option<bool>,
}

/// Judges a change by the effect that all layers will have here, and, where the person's settings are changed, by the one that
/// they will have in a directory with nothing of its own.
pub type Accept<'a> = dyn FnMut(&Settings, Option<&Settings>) -> Result<(), Refusal> + 'a;

/// Beside the files, what the effect of settings depends on; see [`super::SettingsStore::load`].
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub env: Overrides<'a>,
    pub tools: &'a [&'a str],
}

/// See [`super::SettingsStore::change`].
pub(super) fn change(
    home: &LocalHome,
    cwd: &Path,
    scope: Scope,
    wanted: &Change,
    seen: Seen<'_>,
    accept: &mut Accept<'_>,
) -> Result<Settings, EditError> {
    let mut edits = Vec::new();
    if let Some((provider, model)) = &wanted.selection {
        edits.push(Edit::set(&["provider"], quoted(provider)));
        edits.push(Edit::set(&["model"], quoted(model)));
    }
    if let Some(level) = wanted.thinking_level {
        edits.push(Edit::set(&["thinking_level"], json(&level)));
    }
    if let Some(fast) = wanted.fast {
        edits.push(Edit::set(&["fast"], fast.to_string()));
    }
    let project = (scope == Scope::Project).then_some(cwd);
    writer::change_seen(
        home,
        project,
        |_| ((), edits.clone()),
        |(), text| {
            let instead = Some((scope, text));
            let load = |env, with_project| {
                let all =
                    Settings::load_with(home.root(), cwd, env, seen.tools, instead, with_project);
                all.map_err(|error| EditError::Effect(Box::new(error)))
            };
            let effect = load(seen.env, true)?;
            let elsewhere = match scope {
                Scope::Global => Some(load(Overrides::default(), false)?),
                Scope::Project => None,
            };
            accept(&effect, elsewhere.as_ref()).map_err(EditError::Refused)?;
            Ok(effect)
        },
    )
}
