//! The context identity: what it depends on and what it does not (spec: "Frames, correlation and
//! compatibility"). How it is shown is tested in lifecycle.rs.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::client::{Agent, launch};
use crate::lifecycle::is_digest;
use crate::support::Place;

fn context_id(launch: crate::support::Launch) -> String {
    let mut agent = Agent::spawn(launch);
    let status = agent.initialize()["status"].clone();
    assert!(is_digest(&status["context_id"]), "{status}");
    agent.end();
    status["context_id"].as_str().unwrap().to_owned()
}

#[test]
fn context_id_is_stable_across_children() {
    let place = Place::new();
    assert_eq!(
        context_id(launch().place(&place)),
        context_id(launch().place(&place))
    );
}

#[test]
fn context_id_is_equal_for_aliases_of_the_storage_root_and_cwd() {
    let place = Place::new();
    let straight = context_id(launch().place(&place));
    let alias = place.root().join("alias");
    symlink(place.mc_home(), &alias).unwrap();
    assert_eq!(
        context_id(launch().place(&place).env("MC_HOME", alias)),
        straight
    );
    let dotted = place
        .home()
        .join("..")
        .join("home")
        .join(".")
        .join(".magi-code");
    assert_eq!(
        context_id(launch().place(&place).env("MC_HOME", dotted)),
        straight
    );
    let cwd = place.root().join("cwd");
    symlink(place.work(), &cwd).unwrap();
    assert_eq!(context_id(launch().place(&place).cwd(cwd)), straight);
}

#[test]
fn context_id_differs_for_other_storage_roots_and_other_cwds() {
    let place = Place::new();
    let here = context_id(launch().place(&place));
    let root = place.root().join("other-root");
    let there = context_id(launch().place(&place).env("MC_HOME", root));
    std::fs::create_dir(place.work().join("inner")).unwrap();
    let inner = context_id(launch().place(&place).cwd(place.work().join("inner")));
    assert!(here != there && here != inner && there != inner);
}

#[test]
fn context_id_does_not_depend_on_settings() {
    let place = Place::new();
    let before = context_id(launch().place(&place));
    place.write_settings(&json!({"thinking_level": "high"}));
    assert_eq!(context_id(launch().place(&place)), before);
}
