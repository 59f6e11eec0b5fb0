//! Which processes belong to a guard's command, read from `/proc` (Linux).
//! Only looks; signals are sent by `members`.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use memchr::memmem;
use rustix::process::Pid;

/// Most bytes of an environment: the kernel lets no program start with more.
const MAX_ENVIRONMENT_BYTES: u64 = 6 * 1024 * 1024;

/// A process of a command's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descendant {
    pub(super) pid: Pid,
    /// Its group; `None` when others than the tree may be in it.
    pub(super) group: Option<Pid>,
    /// Not just waiting to be collected.
    pub(super) lives: bool,
}

/// All descendants of `guard`, all of its session and, with a `mark`, every process that has it in its
/// environment, with the descendants of all these; without `guard` and this process. A killed guard has no
/// descendants any more, but its session and the marks remain.
///
/// One whose parent ends while this looks may be missed; it has a new parent when one looks again. Empty
/// without `/proc`; incomplete when `until` comes first, which it does where a tree takes all of the
/// processor.
pub(super) fn descendants(guard: Pid, mark: Option<&str>, until: Instant) -> Vec<Descendant> {
    let mark = mark.map(memmem::Finder::new);
    let session = guard.as_raw_nonzero().get();
    let mut table: HashMap<i32, Process> = HashMap::new();
    let mut children: HashMap<i32, Vec<Pid>> = HashMap::new();
    let mut next = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        if Instant::now() >= until {
            break;
        }
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(number) else {
            continue;
        };
        let stat = fs::read(entry.path().join("stat")).unwrap_or_default();
        let Some(process) = Process::read(&stat) else {
            continue;
        };
        let is_marked = || {
            mark.as_ref()
                .is_some_and(|mark| has_mark(&entry.path(), mark))
        };
        if process.session == session || is_marked() {
            next.push(pid);
        }
        children.entry(process.parent).or_default().push(pid);
        table.insert(pid.as_raw_nonzero().get(), process);
    }

    next.extend(children.remove(&session).unwrap_or_default());
    let mut found = Vec::new();
    // Being seen once also ends this on a table that was torn into a circle.
    let mut seen = HashSet::from([guard, rustix::process::getpid()]);
    while let Some(pid) = next.pop() {
        if seen.insert(pid) {
            let below = children.remove(&pid.as_raw_nonzero().get());
            next.extend(below.unwrap_or_default());
            found.extend(table.get(&pid.as_raw_nonzero().get()).map(|it| (pid, it)));
        }
    }

    // Whatever the command did, it stays in the guard's session or in one that was begun below. Only a mark
    // may have been carried elsewhere, by a queue of jobs that keeps the environment.
    let begun_below = |number: i32| {
        number == session
            || Pid::from_raw(number).is_some_and(|leader| seen.contains(&leader))
            // Its leader ended. Of another namespace's session nothing is known.
            || (number > 0 && !table.contains_key(&number))
    };
    // The guard's own group must not be hit, nor must the host's.
    let spared = [guard, rustix::process::getpgrp()];
    found
        .iter()
        .map(|(pid, process)| Descendant {
            pid: *pid,
            group: Some(process.group)
                .filter(|group| !spared.contains(group) && begun_below(process.session)),
            lives: process.lives,
        })
        .collect()
}

/// How a guard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Works,
    Stopped,
    /// Ended, or another process has its number by now: `mark` is not in its environment.
    Gone,
}

/// How the guard of this number and `mark` is.
pub(super) fn state(guard: Pid, mark: &str) -> State {
    let path = format!("/proc/{}", guard.as_raw_nonzero());
    let stat = fs::read(format!("{path}/stat")).unwrap_or_default();
    match Process::read(&stat) {
        Some(process)
            if process.lives && has_mark(Path::new(&path), &memmem::Finder::new(mark)) =>
        {
            match process.stopped {
                true => State::Stopped,
                false => State::Works,
            }
        }
        _ => State::Gone,
    }
}

/// Whether the environment that a process was started with holds `mark`. Others' can't be read.
fn has_mark(process: &Path, mark: &memmem::Finder<'_>) -> bool {
    let mut environment = Vec::new();
    let file = File::open(process.join("environ"));
    file.and_then(|file| {
        file.take(MAX_ENVIRONMENT_BYTES)
            .read_to_end(&mut environment)
    })
    .is_ok_and(|_| mark.find(&environment).is_some())
}

/// What `/proc/<pid>/stat` tells of a process.
#[derive(Debug, PartialEq, Eq)]
struct Process {
    parent: i32,
    group: Pid,
    session: i32,
    lives: bool,
    stopped: bool,
}

impl Process {
    /// From `pid (name) state parent group session …`, where the name may hold anything, parentheses too.
    fn read(stat: &[u8]) -> Option<Self> {
        let behind_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
        let mut fields = std::str::from_utf8(&stat[behind_name..]).ok()?.split(' ');
        let state = fields.nth(1)?;
        Some(Self {
            parent: fields.next()?.parse().ok()?,
            group: number(fields.next()?)?,
            session: fields.next()?.parse().ok()?,
            stopped: matches!(state, "T" | "t"),
            // What looks dead may still have threads: their number is the 20th field, after 13 others.
            lives: !matches!(state, "Z" | "X")
                || fields.nth(13).and_then(|threads| threads.parse().ok()) > Some(1),
        })
    }
}

/// The number of a process or group. While one ends, the kernel gives -1 for its group.
fn number(text: &str) -> Option<Pid> {
    let number = text.parse().ok().filter(|number| *number > 0)?;
    Pid::from_raw(number)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let read = |stat: &[u8]| {
            let read = Process::read(stat)?;
            let group = read.group.as_raw_nonzero().get();
            Some((read.parent, group, read.session, read.lives))
        };
        assert_eq!(
            read(b"12 (bash) S 7 9 5 0 -1 4194560"),
            Some((7, 9, 5, true))
        );
        assert_eq!(read(b"12 (a) R 1 (b)) S 7 9 5"), Some((7, 9, 5, true)));
        assert_eq!(read(b"12 (\xff\xfe) D 8 1 1"), Some((8, 1, 1, true)));
        let dead = b"12 (gone) Z 7 9 5 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 77 0";
        assert_eq!(read(dead), Some((7, 9, 5, false)));
        // What looks dead may still have threads.
        let dying = b"12 (gone) Z 7 9 5 0 -1 4 0 0 0 0 0 0 0 0 20 0 3 0 77 0";
        assert_eq!(read(dying), Some((7, 9, 5, true)));
        // A process of another namespace has no group here.
        assert_eq!(read(b"2 (kthreadd) S 0 0 0"), None);
        for broken in [
            &b""[..],
            b"1 (sh",
            b"1 (sh)",
            b"1 (sh) S",
            b"1 (sh) S x 1 1",
            b"1 (sh) S 1",
            b"1 (sh) S 1 1",
        ] {
            assert_eq!(read(broken), None);
        }
    }

    /// A shell that leads a session and runs `line` with `$0` as `word`, once it has said that it is ready.
    fn shell(line: &str, word: &str) -> Child {
        let mut shell = Command::new("setsid")
            .args(["sh", "-c", line, word])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0];
        let output = shell.stdout.as_mut().unwrap();
        output.read_exact(&mut ready).unwrap();
        shell
    }

    fn look(guard: Pid, mark: Option<&str>) -> Vec<Descendant> {
        descendants(guard, mark, Instant::now() + Duration::from_secs(30))
    }

    fn end(mut shell: Child, all: &[Descendant]) {
        for found in all {
            let _ = rustix::process::kill_process(found.pid, rustix::process::Signal::KILL);
        }
        shell.kill().unwrap();
        assert!(shell.wait().is_ok());
    }

    #[test]
    fn children_of_children_are_found() {
        let shell = shell("sh -c 'sleep 1000 & echo; wait' & wait", "sh");
        let root = Pid::from_child(&shell);
        let all = look(root, None);
        end(shell, &all);
        // A shell, and below it what becomes `sleep` in a moment.
        assert_eq!(all.len(), 2);
        // Theirs is the root's group.
        assert!(all.iter().all(|found| found.group.is_none() && found.lives));
    }

    #[test]
    fn a_mark_is_found_wherever_its_process_is() {
        let mark = uuid::Uuid::new_v4().to_string();
        // Nothing of it is below this number or in its session.
        let gone = {
            let mut child = Command::new("/bin/true").spawn().unwrap();
            let pid = Pid::from_child(&child);
            assert!(child.wait().is_ok());
            pid
        };
        let line = "SOME_MARK=$0 sh -c '
            (setsid sh -c \"env -i sleep 1000 & echo; wait\" &)
            exec sleep 1000
        ' & wait";
        let shell = shell(line, &mark);
        let deadline = Instant::now() + Duration::from_secs(30);
        // A sleeper, the shell in its own session, its sleeper without environment; and until it is
        // collected what started that shell.
        let all = loop {
            let mut all = look(gone, Some(&mark));
            all.retain(|found| found.lives);
            if all.len() == 3 || Instant::now() >= deadline {
                break all;
            }
            std::thread::yield_now();
        };
        let others = look(gone, Some("another mark"));
        end(shell, &all);
        assert!(others.is_empty(), "{others:?}");
        assert_eq!(all.len(), 3, "{all:?}");
        // The first is in a session that was not begun below: its group is not to be hit.
        let alone = all.iter().filter(|found| found.group.is_none());
        assert_eq!(alone.count(), 1, "{all:?}");
    }
}
