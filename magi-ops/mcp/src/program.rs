//! The program of a server: whether there is one, where it is started, and how it ended.
//! What is said to it stands in `server`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::ready;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tools::process::Command;

use crate::error::{End, StartCause};
use crate::folder::Folder;
use crate::setting::Setting;

/// Bytes kept of each end of what a program writes to standard error.
const KEPT_WORDS: usize = 2 * 1024;

/// How a program ends, for everybody who asks.
pub(crate) type Ended = Shared<BoxFuture<'static, End>>;

/// The life of a server's program.
pub(crate) struct Program {
    pub(crate) ended: Ended,
    /// Ends it when fired or dropped.
    pub(crate) kill: CancellationToken,
    /// Where it was started, unless that is the workspace.
    _folder: Option<Folder>,
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill.cancel();
    }
}

impl Program {
    /// Starts it, and gives its standard input and output, which don't block.
    pub(crate) async fn start(
        command: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
        setting: &Setting,
    ) -> Result<(Self, UnixStream), StartCause> {
        let wanted = (
            command.to_owned(),
            args.to_vec(),
            env.clone(),
            setting.clone(),
        );
        let prepared = tokio::task::spawn_blocking(move || {
            let (command, args, env, setting) = wanted;
            find(&command, &args, &env, &setting)?;
            setting.folder()
        });
        let prepared = prepared.await.map_err(io::Error::other);
        let folder = prepared.map_err(StartCause::Folder).flatten()?;
        let mut program = Command {
            argv: std::iter::once(command.to_owned())
                .chain(args.iter().cloned())
                .collect(),
            env: env.clone().into_iter().collect(),
            keep: KEPT_WORDS,
            ..Command::shell("", setting.cwd.clone())
        };
        if let Some(folder) = &folder {
            // Some programs go by the variable.
            let path = folder.path().to_string_lossy().into_owned();
            program.env.insert(0, ("PWD".to_owned(), path));
            program.cwd = folder.path().to_owned();
        }
        let kill = CancellationToken::new();
        let (stream, life) = program.start(&setting.guard, kill.clone())?;
        let ended = tokio::spawn(life).then(|ended| {
            ready(match ended {
                Ok(ended) => End::from(ended),
                Err(broken) => End::lost(&broken),
            })
        });
        let program = Self {
            ended: ended.boxed().shared(),
            kill,
            _folder: folder,
        };
        Ok((program, stream))
    }

    /// How it ended, if it does so within this time.
    pub(crate) async fn end_within(&self, time: Duration) -> Option<End> {
        timeout(time, self.ended.clone()).await.ok()
    }
}

impl Setting {
    /// An empty folder to start a program in, where the workspace's files are not the person's: what a program looks up
    /// beside itself (`./x`, `python -m`, `node_modules`) must not be somebody else's. Blocks.
    fn folder(&self) -> Result<Option<Folder>, StartCause> {
        let below = self.home.places().servers;
        if self.trusted {
            below.as_deref().map(Folder::clear);
            return Ok(None);
        }
        let below = below.ok_or_else(|| StartCause::Folder(io::ErrorKind::Unsupported.into()))?;
        Folder::make(&below).map(Some).map_err(StartCause::Folder)
    }
}

/// Says why a program could not be executed so: what an attempt would find. Blocks.
pub(crate) fn find(
    command: &str,
    args: &[String],
    env: &BTreeMap<String, String>,
    setting: &Setting,
) -> Result<(), StartCause> {
    sayable(command, args, env).map_err(StartCause::Definition)?;
    // Nothing lies in the empty folder.
    let cwd = setting.trusted.then_some(&*setting.cwd);
    let path = env.get("PATH").map(OsString::from);
    let path = path.or_else(|| std::env::var_os("PATH"));
    let path = path.unwrap_or_else(|| "/bin:/usr/bin".into());
    let from = |place: PathBuf| match place.is_absolute() {
        true => Some(place),
        false => Some(cwd?.join(place)),
    };
    let found = match command.contains('/') {
        true => from(PathBuf::from(command)).map_or_else(missing, |place| executable(&place)),
        false => std::env::split_paths(&path)
            .filter_map(|place| from(place.join(command)))
            .map(|place| executable(&place))
            .reduce(|found, next| match found {
                // A file that can't be executed says more than none.
                Err(error) if error.kind() == io::ErrorKind::NotFound => next,
                Err(error) => next.or(Err(error)),
                Ok(()) => Ok(()),
            })
            .unwrap_or_else(missing),
    };
    found.map_err(|source| StartCause::Program {
        command: command.to_owned(),
        source,
    })
}

/// Errs with what of a definition no program can be told.
fn sayable(
    command: &str,
    args: &[String],
    env: &BTreeMap<String, String>,
) -> Result<(), &'static str> {
    let mut texts = std::iter::once(command)
        .chain(args.iter().map(String::as_str))
        .chain(env.iter().flat_map(|(name, value)| [&**name, &**value]));
    if command.is_empty() {
        Err("`command` is empty")
    } else if texts.any(|text| text.contains('\0')) {
        Err("a word or a variable of it holds the character U+0000, which no program can be given")
    } else if env.keys().any(|name| name.is_empty() || name.contains('=')) {
        Err("the name of a variable in `env` is empty or holds `=`, which ends it")
    } else {
        Ok(())
    }
}

fn missing() -> io::Result<()> {
    Err(io::ErrorKind::NotFound.into())
}

fn executable(place: &Path) -> io::Result<()> {
    let about = std::fs::metadata(place)?;
    match about.is_file() && about.permissions().mode() & 0o111 != 0 {
        true => Ok(()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_program_can_be_told_is_no_definition() {
        let env = |name: &str| BTreeMap::from([(name.to_owned(), "c".to_owned())]);
        let word = |word: &str| vec![word.to_owned()];
        assert_eq!(sayable("x", &word("a=b\n"), &env("A")), Ok(()));
        for (command, args, env, why) in [
            ("", Vec::new(), env("A"), "`command` is empty"),
            ("x\0", Vec::new(), env("A"), "U+0000"),
            ("x", word("a\0b"), env("A"), "U+0000"),
            ("x", Vec::new(), env("A\0"), "U+0000"),
            ("x", Vec::new(), env("A=B"), "holds `=`"),
            ("x", Vec::new(), env(""), "is empty"),
        ] {
            let told = sayable(command, &args, &env);
            assert!(told.is_err_and(|told| told.contains(why)), "{told:?}");
        }
    }
}
