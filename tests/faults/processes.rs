//! The processes beneath a child, and what of them outlives it.

use std::time::{Duration, Instant};

/// Parent of a process that is no zombie.
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold anything.
    let mut fields = stat.rsplit(')').next()?.split_whitespace();
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.next()?.parse().ok(),
    }
}

/// Everything that descends from `pid` now.
pub(crate) fn beneath(pid: u32) -> Vec<u32> {
    let all: Vec<(u32, u32)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent(pid)?)))
        .collect();
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        let children = all.iter().filter(|(_, of)| *of == parent);
        found.extend(children.map(|(pid, _)| pid));
        at += 1;
    }
    found.remove(0);
    found
}

/// None of them lives a second later.
#[track_caller]
pub(crate) fn assert_gone(pids: &[u32]) {
    let began = Instant::now();
    while let Some(pid) = pids.iter().find(|pid| parent(**pid).is_some()) {
        assert!(
            began.elapsed() < Duration::from_secs(1),
            "{pid} is left: {:?}",
            std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}
