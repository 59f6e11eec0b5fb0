//! `magi-code config`: what is selected, and another selection, for this project or for all.
//! What may be selected and where it is kept is no matter of this file.

use clap::ValueEnum;
use handlers::configuration::{
    Configuration, Reason, Scope, Setting, ThinkingLevel, effective, lines, set, shown,
};
use host::transport::Stdio;

use crate::program::{Run, complain, misuse, print};

/// See or change the provider, the model, the thinking level and fast mode
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  magi-code config
  magi-code config set model fixture/fixture-model
  magi-code config set thinking_level high --scope project

Exit status: 0 it is done, 1 it is not, for reasons that stand on stderr, 2 the command line is wrong.")]
pub(crate) struct Config {
    #[command(subcommand)]
    command: Option<ConfigCommand>,
}

#[derive(clap::Subcommand)]
enum ConfigCommand {
    /// Print what is selected here: environment before project before global settings
    #[command(after_help = "\
Examples:
  magi-code config get
  magi-code config get model

Exit status: 0 it is printed, 1 it can't be read, 2 the command line is wrong.")]
    Get {
        /// Print the value of this key alone
        #[arg(value_enum)]
        key: Option<Key>,
    },
    /// Change the settings of everything, or of this directory's project
    #[command(after_help = "\
Examples:
  magi-code config set model fixture/fixture-model
  magi-code config set fast true

Exit status: 0 it is stored, 1 it is not, 2 the command line is wrong.")]
    Set {
        #[arg(value_enum)]
        key: Key,
        /// A provider's name, `[PROVIDER/]MODEL`, a thinking level, or `true` or `false`
        value: String,
        /// Whose settings are changed
        #[arg(long, value_enum, default_value = "global")]
        scope: Place,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Key {
    Provider,
    Model,
    ThinkingLevel,
    Fast,
}

#[derive(Clone, Copy, ValueEnum)]
enum Place {
    Global,
    Project,
}

/// The levels by their words.
const LEVELS: [(&str, ThinkingLevel); 6] = [
    ("default", ThinkingLevel::Default),
    ("low", ThinkingLevel::Low),
    ("medium", ThinkingLevel::Medium),
    ("high", ThinkingLevel::High),
    ("x_high", ThinkingLevel::XHigh),
    ("max", ThinkingLevel::Max),
];

impl Run for Config {
    const NAME: &'static str = "config";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        match self.command {
            None => answer(stdio, None, effective()),
            Some(ConfigCommand::Get { key }) => answer(stdio, key, effective()),
            Some(ConfigCommand::Set { key, value, scope }) => {
                let setting = match setting(key, value) {
                    Ok(setting) => setting,
                    Err(why) => return Ok(misuse::<Self>(why)),
                };
                let scope = match scope {
                    Place::Global => Scope::Global,
                    Place::Project => Scope::Project,
                };
                let done = set(scope, &setting);
                if let Ok(now) = &done
                    && is_masked(now, &setting)
                {
                    complain(
                        "It is stored, but does not count here: this project's settings or the environment say otherwise.",
                    );
                }
                answer(stdio, None, done)
            }
        }
    }
}

fn setting(key: Key, value: String) -> Result<Setting, String> {
    Ok(match key {
        Key::Provider => Setting::Provider(value),
        Key::Model => Setting::Model(value),
        Key::ThinkingLevel => {
            let found = LEVELS.iter().find(|(word, _)| *word == value);
            let words = LEVELS.map(|(word, _)| word).join(", ");
            let (_, level) = found.ok_or_else(|| format!("a thinking level is one of {words}"))?;
            Setting::Level(*level)
        }
        Key::Fast => match value.as_str() {
            "true" => Setting::Fast(true),
            "false" => Setting::Fast(false),
            _ => return Err("`fast` is true or false".to_owned()),
        },
    })
}

/// Whether something above what was written says otherwise.
fn is_masked(now: &Configuration, setting: &Setting) -> bool {
    match setting {
        Setting::Provider(provider) => now.provider != *provider,
        Setting::Model(model) => {
            now.model != *model && format!("{}/{}", now.provider, now.model) != *model
        }
        Setting::Level(level) => now.configured_level != *level,
        Setting::Fast(fast) => now.fast != *fast,
    }
}

fn answer(
    stdio: Stdio,
    key: Option<Key>,
    now: Result<Configuration, Vec<Reason>>,
) -> anyhow::Result<i32> {
    let now = match now {
        Ok(now) => now,
        Err(reasons) => {
            let why: Vec<_> = reasons.iter().map(lines).collect();
            complain(&why.join("\n"));
            return Ok(1);
        }
    };
    let level = |level| {
        let found = LEVELS.iter().find(|(_, own)| *own == level);
        found.map_or("default", |(word, _)| word)
    };
    let level = match (level(now.configured_level), level(now.level)) {
        (saved, real) if saved == real || key.is_some() => saved.to_owned(),
        (saved, real) => format!("{saved} (this model's nearest is {real})"),
    };
    let all = [
        (Key::Provider, "provider", shown(&now.provider)),
        (Key::Model, "model", shown(&now.model)),
        (Key::ThinkingLevel, "thinking_level", level),
        (Key::Fast, "fast", now.fast.to_string()),
    ];
    let text: String = all
        .iter()
        .filter(|(own, ..)| key.is_none_or(|key| key == *own))
        .map(|(_, name, value)| match key {
            Some(_) => format!("{value}\n"),
            None => format!("{name:<16}{value}\n"),
        })
        .collect();
    print(stdio, &text)
}
