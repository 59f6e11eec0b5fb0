//! Which processes descend from this one, read from `/proc` (Linux).
//! Only looks; signals are sent by `tree`.

use std::collections::HashMap;
use std::fs;
use std::time::Instant;

use rustix::process::Pid;

/// A process below this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Descendant {
    pub(super) pid: Pid,
    pub(super) group: Pid,
}

/// All descendants of this process. One whose parent ends while this looks may be missed; it has a new
/// parent when one looks again. Empty without `/proc`; incomplete when `until` comes first, which it does
/// where a tree takes all of the processor.
pub(super) fn descendants(until: Instant) -> Vec<Descendant> {
    let mut children: HashMap<i32, Vec<Descendant>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        if Instant::now() >= until {
            break;
        }
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(number) else {
            continue;
        };
        let stat = fs::read(entry.path().join("stat")).unwrap_or_default();
        if let Some((parent, group)) = parent_and_group(&stat) {
            let found = Descendant { pid, group };
            children.entry(parent).or_default().push(found);
        }
    }
    let mut found: Vec<Descendant> = Vec::new();
    let mut parent = rustix::process::getpid();
    for next in 0.. {
        // Taking them out also ends on a table that was torn into a circle.
        let below = children.remove(&parent.as_raw_nonzero().get());
        found.extend(below.unwrap_or_default());
        match found.get(next) {
            Some(next) => parent = next.pid,
            None => break,
        }
    }
    found
}

/// The parent and the process group in the text of `/proc/<pid>/stat`: `pid (name) state parent group …`,
/// where the name may hold anything, parentheses too.
fn parent_and_group(stat: &[u8]) -> Option<(i32, Pid)> {
    let behind_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = std::str::from_utf8(&stat[behind_name..]).ok()?.split(' ');
    let parent = fields.nth(2)?.parse().ok()?;
    Some((parent, number(fields.next()?)?))
}

/// The number of a process or group. While one ends, the kernel gives -1 for its group.
fn number(text: &str) -> Option<Pid> {
    let number = text.parse().ok().filter(|number| *number > 0)?;
    Pid::from_raw(number)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let read = |stat: &[u8]| {
            let (parent, group) = parent_and_group(stat)?;
            Some((parent, group.as_raw_nonzero().get()))
        };
        assert_eq!(read(b"12 (bash) S 7 9 12 0 -1 4194560"), Some((7, 9)));
        assert_eq!(read(b"12 (a) R 1 (b)) S 7 9 12"), Some((7, 9)));
        assert_eq!(read(b"12 (\xff\xfe) D 8 1 1"), Some((8, 1)));
        // What looks dead may still have threads.
        assert_eq!(read(b"12 (gone) Z 7 9 12"), Some((7, 9)));
        // A process of another namespace has no group here.
        assert_eq!(read(b"2 (kthreadd) S 0 0 0"), None);
        for broken in [
            &b""[..],
            b"1 (sh",
            b"1 (sh)",
            b"1 (sh) S",
            b"1 (sh) S x 1",
            b"1 (sh) S 1",
        ] {
            assert_eq!(read(broken), None);
        }
    }

    #[test]
    fn children_of_children_are_found() {
        let mut shell = std::process::Command::new("/bin/sh")
            .args(["-c", "sleep 1000 & echo; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0];
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut ready).unwrap();
        let pid = Pid::from_child(&shell);
        let all = descendants(Instant::now() + std::time::Duration::from_secs(30));
        assert!(all.iter().any(|found| found.pid == pid));
        let sleeping = all.iter().find(|found| {
            let path = format!("/proc/{}/stat", found.pid.as_raw_nonzero());
            let stat = fs::read(path).unwrap_or_default();
            parent_and_group(&stat).is_some_and(|(parent, _)| parent == pid.as_raw_nonzero().get())
        });
        let sleeping = sleeping.unwrap();
        rustix::process::kill_process(sleeping.pid, rustix::process::Signal::KILL).unwrap();
        assert!(shell.wait().is_ok());
    }
}
