//! `magi-code chat`: a conversation with the model, at a terminal or over pipes.
//! Who is talked with is `talk`'s matter; here is what a person may say to the chat itself.

mod ask;
mod editor;
mod export;
mod files;
mod layout;
mod markdown;
mod plain;
mod screen;
mod slash;
mod talk;
mod terminal;
mod turn;
mod view;

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use consumer::local_agent::Status;
use handlers::configuration::{self, lines};
use host::transport::Stdio;

use crate::client::asker::{Asker, read_keys};
use crate::client::input;
use crate::client::start::Wanted;
use crate::program::{Run, complain, misuse, open_output};
use editor::{Editor, Lines, Typed};
use plain::Plain;
use screen::Screen;
use slash::Slash;
use talk::{Ended, Stopped, Talk};
use terminal::Terminal;
use view::{View, short};

/// Talk with the model
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  magi-code chat
  echo \"What is in this project?\" | magi-code chat
  magi-code chat --continue

In the chat: Alt-Enter or a backslash at the end begins another line, @ and Tab complete a file's name, Ctrl-C cancels a turn
and twice leaves, Ctrl-D leaves, /help says the rest. Without a terminal each line is a prompt, and what would ask is denied.

Exit status: 0 the person left or the input ended, 1 there was nobody to talk with, 2 the command line is wrong, 130 it was
interrupted.")]
pub(crate) struct Chat {
    /// Go on with the last session of this directory
    #[arg(long = "continue", conflicts_with = "session")]
    goes_on: bool,
    /// Go on with this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// What answers, as MODEL or PROVIDER/MODEL
    #[arg(long)]
    model: Option<String>,
    /// Where the turns work; the current directory by default
    #[arg(long)]
    cwd: Option<PathBuf>,
}

const FAILED: i32 = 1;
const INTERRUPTED: i32 = 130;

impl Run for Chat {
    const NAME: &'static str = "chat";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        open_output()?;
        if let Some(why) = self.cwd.as_deref().and_then(input::unusable) {
            return Ok(misuse::<Self>(why));
        }
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let at_terminal = stdio.input.is_terminal()
            && stdio.output.is_terminal()
            && io::stderr().is_terminal()
            && !is_dumb;
        let (wanted, session) = match self.wanted() {
            Ok(wanted) => wanted,
            Err(why) => {
                complain(&why);
                return Ok(FAILED);
            }
        };
        let mut terminal = Terminal::watch(at_terminal)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (input, output) = (File::from(stdio.input), File::from(stdio.output));
        let styled = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let (mut view, typed): (Box<dyn View>, Box<dyn Typed>) = match at_terminal {
            true => (
                Box::new(Screen::new(output, styled)),
                Box::new(Editor::new(styled, wanted.cwd.clone())),
            ),
            false => (Box::new(Plain::new(output)), Box::new(Lines::new(input))),
        };
        let mut talk = Talk::new(wanted, terminal.interrupts());
        if let Some(session) = session {
            talk.of_session(session);
        }
        let mut person = Person {
            talk,
            view: &mut *view,
            asker: Asker::new(if at_terminal { read_keys } else { || None }),
            terminal,
            runtime,
            at_terminal,
        };
        Ok(match person.converse(typed) {
            Ok(status) => status,
            Err(Stopped::Told) => FAILED,
            Err(Stopped::Screen(error)) => {
                complain(&format!(
                    "magi-code chat: the chat cannot be shown any more: {error}"
                ));
                FAILED
            }
        })
    }
}

impl Chat {
    /// How the child is to be started, and the session that is gone on with; else why there is none, in words.
    fn wanted(self) -> Result<(Wanted, Option<String>), String> {
        let told = |reasons: Vec<configuration::Reason>| {
            reasons.iter().map(lines).collect::<Vec<_>>().join("\n")
        };
        let model = self.model.as_deref();
        let model = model.map(|model| configuration::choose(self.cwd.as_deref(), model));
        let model = model.transpose().map_err(told)?;
        let session = match self.goes_on {
            false => self.session,
            true => {
                let latest = configuration::latest_session(self.cwd.as_deref()).map_err(told)?;
                let none = || {
                    "magi-code chat: no session of this directory can be gone on with".to_owned()
                };
                Some(latest.ok_or_else(none)?)
            }
        };
        let wanted = Wanted {
            cwd: self.cwd,
            model,
            max_turns: None,
        };
        Ok((wanted, session))
    }
}

/// The person, what they see, and whom they talk with.
struct Person<'a> {
    talk: Talk,
    view: &'a mut dyn View,
    asker: Asker,
    terminal: Terminal,
    runtime: tokio::runtime::Runtime,
    at_terminal: bool,
}

impl Person<'_> {
    /// Until the person leaves. The exit status.
    fn converse(&mut self, mut typed: Box<dyn Typed>) -> Result<i32, Stopped> {
        self.notices()?;
        let status = self.runtime.block_on(self.talk.begin(self.view))?;
        if self.at_terminal {
            self.greet(&status)?;
        }
        let mut wants_to_leave = false;
        loop {
            self.terminal.is_idle(true);
            let line = typed.next(self.view);
            self.terminal.is_idle(false);
            match line? {
                editor::Line::Text(text) => {
                    wants_to_leave = false;
                    if self.say(text)? == Ended::Leave {
                        return Ok(INTERRUPTED);
                    }
                }
                editor::Line::Interrupted if wants_to_leave => {
                    self.leave()?;
                    return Ok(INTERRUPTED);
                }
                editor::Line::Interrupted => {
                    wants_to_leave = true;
                    self.view
                        .remark("(Ctrl-C again leaves, and so does Ctrl-D)")?;
                }
                editor::Line::End => {
                    self.leave()?;
                    return Ok(0);
                }
            }
        }
    }

    /// What of the configuration is ignored.
    fn notices(&mut self) -> io::Result<()> {
        let found = configuration::examine(self.talk.wanted.cwd.as_deref())?;
        found
            .notices
            .iter()
            .try_for_each(|notice| self.view.remark(&lines(notice)))?;
        #[cfg(feature = "log")]
        crate::log::odd()
            .iter()
            .try_for_each(|odd| self.view.remark(odd))?;
        Ok(())
    }

    fn greet(&mut self, status: &Status) -> io::Result<()> {
        let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "(not shown)".to_owned());
        let session = self.talk.session().map(|id| format!(" · session {id}"));
        self.view.remark(&format!(
            "{}/{}{} · /help says what may be typed",
            name(&status.provider),
            name(&status.model),
            session.unwrap_or_default()
        ))?;
        if status.provider.as_deref() == Some("fixture") {
            self.view.remark(
                "This is the offline demonstration: no model is asked. `magi-code` without arguments says what to do next.",
            )?;
        }
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Stopped> {
        self.runtime.block_on(self.talk.leave(self.view))?;
        if let Some(id) = self.talk.session().filter(|_| self.at_terminal) {
            let text = format!("`magi-code chat --session {id}` goes on here.");
            self.view.remark(&text)?;
        }
        Ok(())
    }

    /// What the person typed.
    fn say(&mut self, text: String) -> Result<Ended, Stopped> {
        let done = match slash::read(&text) {
            Ok(None) => return self.prompt(text),
            Ok(Some(slash)) => self.command(slash),
            Err(why) => Ok(self.view.remark(&why)?),
        };
        match done {
            // What went wrong was told, and the chat goes on.
            Ok(()) | Err(Stopped::Told) => Ok(Ended::GoOn),
            Err(error) => Err(error),
        }
    }

    fn prompt(&mut self, text: String) -> Result<Ended, Stopped> {
        let text = files::with_mentions(text, self.talk.wanted.cwd.as_deref());
        if let Err(why) = input::judge(&text) {
            if !text.trim().is_empty() {
                self.view.remark(&why)?;
            }
            return Ok(Ended::GoOn);
        }
        let _quiet = self.terminal.quiet();
        let turn = self.talk.turn(text, self.view, &mut self.asker);
        match self.runtime.block_on(turn) {
            Err(Stopped::Told) => Ok(Ended::GoOn),
            ended => ended,
        }
    }

    fn command(&mut self, slash: Slash) -> Result<(), Stopped> {
        match slash {
            Slash::Help => self.view.say(slash::HELP)?,
            Slash::Status | Slash::Model(None) => {
                let status = self.runtime.block_on(self.talk.status(self.view))?;
                let tokens = self.talk.tokens();
                let name = |name: &Option<String>| {
                    name.clone().unwrap_or_else(|| "(not shown)".to_owned())
                };
                let text = format!(
                    "model    {}/{}\nsession  {}\ntokens   {} in, {} out",
                    name(&status.provider),
                    name(&status.model),
                    self.talk.session().unwrap_or("none yet"),
                    short(tokens.input),
                    short(tokens.output)
                );
                self.view.say(&text)?;
            }
            Slash::Model(Some(named)) => {
                match configuration::choose(self.talk.wanted.cwd.as_deref(), &named) {
                    Ok(chosen) => {
                        let status = self.runtime.block_on(self.talk.choose(chosen, self.view))?;
                        self.greet(&status)?;
                    }
                    Err(reasons) => {
                        for reason in &reasons {
                            self.view.remark(&lines(reason))?;
                        }
                    }
                }
            }
            Slash::Export(file) => {
                let history = self.runtime.block_on(self.talk.history(self.view))?;
                let text = match history {
                    None => "There is nothing to export yet.".to_owned(),
                    Some(history) => {
                        let session = self.talk.session().unwrap_or("session").to_owned();
                        export::to_file(&history, &session, file.as_deref())
                    }
                };
                self.view.say(&text)?;
            }
        }
        Ok(())
    }
}
