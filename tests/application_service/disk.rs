//! A home that is full and one that is read-only, under what changes settings, credentials and catalogs: nothing that could not be
//! stored is called stored, and what was there is there. In file systems of the child's own; sessions are the matter of `faults`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Service, launch};
use crate::server::{Answer, Model};
use crate::support::{Launch, Place};

const FILES: [&str; 2] = ["settings.json", "auth.json"];

/// A service behind `mount`, a shell command that knows the home as `$0`. `None` where the system grants no name spaces.
fn behind(place: &Arc<Place>, mount: &str) -> Option<Service> {
    let granted = Command::new("unshare")
        .args(["-Urm", "sh", "-c", "mount -t tmpfs none /mnt"])
        .stderr(Stdio::null())
        .status();
    if !granted.is_ok_and(|status| status.success()) {
        return None;
    }
    let Launch { program, args, .. } = launch();
    let mut wrapped = Launch::new("unshare", &["-Urm", "sh", "-c"]).place(place);
    wrapped.args.push(format!("{mount} && exec \"$@\"").into());
    wrapped.args.push(place.mc_home().into());
    wrapped.args.push(program.into());
    wrapped.args.extend(args);
    let mut service = Service::spawn(wrapped);
    service.initialize();
    Some(service)
}

fn place(model: &Model) -> Arc<Place> {
    let place = Place::with_settings(&json!({"fast": true, "providers": {
        "mine": {"api": "openai-chat", "base_url": model.base()},
    }}));
    let stored =
        json!({"version": 1, "providers": {"anthropic": {"generation": 1, "api_key": "k"}}});
    fs::write(place.mc_home().join("auth.json"), stored.to_string()).unwrap();
    place
}

fn models() -> Model {
    let body = json!({"data": [{"id": "a"}, {"id": "b"}]}).to_string();
    Model::answering(vec![Answer::raw("application/json", body); 2])
}

/// Asks for one change of each kind; the codes of the failures.
fn changes(service: &mut Service) -> [Value; 4] {
    [
        ("config.set", json!({"scope": "global", "fast": false})),
        (
            "config.set",
            json!({"scope": "project", "thinking_level": "low"}),
        ),
        (
            "auth.logout",
            json!({"provider_id": "anthropic", "confirmed": true}),
        ),
        ("catalog.refresh", json!({"provider_id": "mine"})),
    ]
    .map(|(method, payload)| service.call(method, &payload)["error"]["code"].clone())
}

fn contents(home: &Path) -> [Vec<u8>; 2] {
    FILES.map(|name| fs::read(home.join(name)).unwrap())
}

fn names(home: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path.clone());
            }
            all.push(path);
        }
    }
    all.sort();
    all
}

#[test]
fn a_full_disk_changes_nothing_and_says_so() {
    let model = models();
    let place = place(&model);
    let mount = "cp -a \"$0\" \"$0.kept\" && mount -t tmpfs -o size=256k,mode=700 none \"$0\" && cp -a \"$0.kept/.\" \"$0\"";
    let Some(mut service) = behind(&place, mount) else {
        return;
    };
    let home = Path::new("/proc")
        .join(service.server.pid().to_string())
        .join("root")
        .join(place.mc_home().strip_prefix("/").unwrap());
    // The locks of all three are there.
    service.ok("config.set", &json!({"scope": "global", "fast": true}));
    let mut filler = fs::File::create(home.join("filler")).unwrap();
    while filler.write(&[0; 4096]).is_ok_and(|n| n > 0) {}
    let (before, there) = (contents(&home), names(&home));
    let [global, _, logout, refresh] = changes(&mut service);
    assert_eq!(
        [global, logout, refresh],
        [
            "settings_write_failed",
            "internal_error",
            "catalog_refresh_failed"
        ]
    );
    assert_eq!(contents(&home), before);
    let left: Vec<_> = names(&home)
        .into_iter()
        .filter(|path| {
            !there.contains(path) && fs::metadata(path).is_ok_and(|it| it.len() > 0 && it.is_file())
        })
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(service.ok("config.get", &json!({}))["fast"], true);
    // With room again all of it is done.
    drop(filler);
    fs::remove_file(home.join("filler")).unwrap();
    assert_eq!(changes(&mut service), [(); 4].map(|()| Value::Null));
    assert_eq!(service.ok("config.get", &json!({}))["fast"], false);
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn a_home_that_is_read_only_is_read_and_not_changed() {
    let model = models();
    let place = place(&model);
    // Everything that a home has is there.
    let mut service = Service::ready_in(&place);
    service.ok("auth.status", &json!({}));
    assert_eq!(service.finish().code, Some(0));
    let (before, there) = (contents(&place.mc_home()), names(&place.mc_home()));
    let mount = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\"";
    let Some(mut service) = behind(&place, mount) else {
        return;
    };
    assert_eq!(
        changes(&mut service),
        [
            "settings_write_failed",
            "settings_write_failed",
            "internal_error",
            "catalog_refresh_failed"
        ]
    );
    assert_eq!(service.ok("config.get", &json!({}))["fast"], true);
    let models = service.ok("catalog.models", &json!({"provider_id": "mine"}));
    assert_eq!(models["state"], "unavailable");
    service.ok("status", &json!({}));
    service.ok("auth.status", &json!({}));
    assert_eq!(service.finish().code, Some(0));
    assert_eq!(contents(&place.mc_home()), before);
    assert_eq!(names(&place.mc_home()), there);
    assert!(!place.work().join(".magi-code").exists());
}
