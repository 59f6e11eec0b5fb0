//! The committed seeds of the fuzz targets through the same checks, without a fuzzer: CI proves the seeds.
//! The checks live in `fuzz/src`; no check is written here but what the seeds must reach.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/fixture_script.rs"]
#[allow(unreachable_pub)]
mod fixture_script;
#[path = "../../../fuzz/src/input.rs"]
#[allow(unreachable_pub, dead_code)]
mod input;
#[path = "../../../fuzz/src/naive.rs"]
#[allow(unreachable_pub, dead_code)]
mod naive;
#[cfg(feature = "wires")]
#[path = "../../../fuzz/src/provider_wires.rs"]
#[allow(unreachable_pub)]
mod provider_wires;

fn seeds(target: &str) -> impl Iterator<Item = Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(target);
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|seed| fs::read(seed.unwrap().path()).unwrap())
}

#[cfg(feature = "wires")]
#[test]
fn provider_wires_seeds_hold() {
    let mut reached = [(); 5].map(|()| BTreeSet::new());
    for seed in seeds("provider_wires") {
        for (all, said) in reached.iter_mut().zip(provider_wires::check(&seed)) {
            all.extend(said);
        }
    }
    let all = [
        "ContextLength",
        "Cut",
        "Failed",
        "Filtered",
        "Interrupted",
        "Malformed",
        "Overloaded",
        "RateLimited",
        "Reasoning",
        "State",
        "Text",
        "ToolCall",
        "Unauthorized",
        "Usage",
        "Whole",
    ];
    // Thinking that is summarized is never told as it comes.
    let summaries = all.map(|name| if name == "Reasoning" { "Summary" } else { name });
    let set = BTreeSet::from;
    let both = &set(all) | &set(summaries);
    // Gemini's thoughts are all summaries, where those are asked for.
    let expected = [set(all), set(summaries), set(all), both, set(summaries)];
    for (reached, expected) in reached.iter().zip(expected) {
        let reached: BTreeSet<_> = reached.iter().map(String::as_str).collect();
        assert_eq!(reached, expected);
    }
}

#[test]
fn fixture_script_seeds_hold() {
    let reached: BTreeSet<_> = seeds("fixture_script")
        .flat_map(|seed| fixture_script::check(&seed))
        .collect();
    let expected = [
        // what was played
        "Failed",
        "Reasoning",
        "Text",
        "Tool",
        "Usage",
        // where a script was refused
        ".",
        "turns",
        "turns[]",
        "turns[].steps[]",
        "turns[].steps[].chunks",
        "turns[].steps[].color",
        "turns[].steps[].error",
        "turns[].steps[].repeat",
        "turns[].steps[].text",
        "turns[].steps[].tool",
        "turns[].steps[].usage",
        "turns[].steps[].usage.input",
        "turns[].steps[].wait_ms",
    ];
    let reached: BTreeSet<_> = reached.iter().map(String::as_str).collect();
    for name in expected {
        assert!(
            reached.contains(name),
            "no seed reaches {name}: {reached:?}"
        );
    }
}
