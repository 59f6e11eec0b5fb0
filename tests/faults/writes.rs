//! SIGKILL while a tool writes files: each file is whole, the old one or the new one, and nothing else is left.
//! What becomes of the session is the matter of `kills`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::driver::Driver;
use crate::local_agent::LocalAgent;
use crate::seeded::{Random, seed};
use crate::support::Place;

/// Deaths of the test.
const KILLS: u64 = 40;
/// Bytes of each file that is written: long enough to die in the middle of one.
const BYTES: usize = 256 * 1024;

#[test]
fn a_killed_writer_leaves_whole_files_and_nothing_else() {
    let content = |letter: &str| letter.repeat(BYTES);
    let write = |path: &str, letter: &str| json!({"tool": "write", "input": {"path": path, "content": content(letter)}});
    let steps: Vec<Value> = (0..6)
        .flat_map(|n| {
            [
                write("old.txt", ["b", "c"][n % 2]),
                write(&format!("new/{n}.txt"), "n"),
            ]
        })
        .collect();
    let place = Place::with_script(&json!({"turns": [{"steps": steps}]}));
    let mut random = Random::new(seed());
    for _ in 0..KILLS {
        place.write_file("old.txt", &content("a"));
        let mut driver = LocalAgent::ready(&place);
        let session = driver.create();
        driver.begin(&session, "write");
        // The moment of the fault, not a wait for something.
        std::thread::sleep(Duration::from_micros(random.below(60_000)));
        driver.kill();
        let mut found = Vec::new();
        let mut pending = vec![place.work()];
        while let Some(directory) = pending.pop() {
            for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    pending.push(entry.path());
                } else {
                    found.push(entry.path());
                }
            }
        }
        for path in found {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(name.ends_with(".txt"), "left behind: {name}");
            assert_eq!(text.len(), BYTES, "{name} is not whole");
            let first = &text[..1];
            assert_eq!(text, content(first), "{name} is mixed");
        }
        let _ = std::fs::remove_dir_all(place.work().join("new"));
    }
}
