//! `find`: which files it searches, and which root (spec: "find"; toolchain digest, section 14).
//! What a hit says is the parent's.

use super::*;

#[test]
fn root_defaults_to_the_current_directory() {
    let place = place(&[("inner/a.mty", "needle\n"), ("b.mty", "needle\n")]);
    let launch = launch(&[]).place(&place).cwd(place.work().join("inner"));
    let result = Agent::spawn(launch)
        .ask(find("needle").to_string())
        .result()
        .unwrap();
    assert_eq!(
        result["hits"],
        json!([{"file": "a.mty", "line": 1, "text": "needle"}])
    );
}

#[test]
fn root_selects_the_searched_tree() {
    let place = place(&[
        ("one/a.mty", "needle\n"),
        ("two/b.mty", "needle\n"),
        ("two/docs/c.md", "needle\n"),
    ]);
    let absolute = place.work().join("two");
    for root in [
        "two",
        "./two",
        "two/",
        "one/../two",
        absolute.to_str().unwrap(),
    ] {
        let mut request = find("needle");
        request["root"] = json!(root);
        assert_eq!(hits(&place, &request), ["b.mty:1", "docs/c.md:1"], "{root}");
    }
}

#[test]
fn missing_root_is_path_not_found() {
    let mut request = find("needle");
    request["root"] = json!("no/such/place");
    let exchange = ask(&place(&[]), &request);
    assert_eq!(exchange.errors(), ["path not found: no/such/place"]);
    assert_eq!(exchange.exit_code(), 1);
    assert!(exchange.result().is_none_or(|result| result["ok"] == false));
}

#[test]
fn long_missing_root_is_bounded() {
    for long in ["x/".repeat(50_000), "é".repeat(3_000)] {
        let mut request = find("needle");
        request["root"] = json!(long);
        let exchange = ask(&place(&[]), &request);
        assert_eq!(exchange.exit_code(), 1, "{:?}", exchange.lines);
        assert!(exchange.errors()[0].chars().count() <= 200 + "path not found: ".len());
    }
    let mut request = find("needle");
    request["root"] = json!("a\u{0}b");
    assert_eq!(ask(&place(&[]), &request).exit_code(), 1);
}

#[test]
fn hidden_build_and_ignored_files_are_skipped() {
    let text = "needle\n";
    let place = place(&[
        (".gitignore", "ignored/\n*.gen.mty\n!kept.gen.mty\n"),
        ("sub/.gitignore", "local.mty\n"),
        (".hidden/a.mty", text),
        (".b.mty", text),
        ("target/c.mty", text),
        ("sub/mighty.toml", ""),
        ("sub/target/d.mty", text),
        ("ignored/e.mty", text),
        ("f.gen.mty", text),
        ("kept.gen.mty", text),
        ("sub/local.mty", text),
        ("sub/g.mty", text),
        ("docs/.h.md", text),
        ("targets/i.mty", text),
    ]);
    assert_eq!(
        hits(&place, &find("needle")),
        ["kept.gen.mty:1", "sub/g.mty:1", "targets/i.mty:1"]
    );
}

#[test]
fn odd_files_do_no_harm() {
    let place = place(&[
        ("a.mty", "needle\n"),
        ("empty.mty", ""),
        ("dir.mty/inner.mty", "needle\n"),
    ]);
    let work = place.work();
    std::fs::write(
        work.join("binary.mty"),
        b"\xff\xfe\0needle\0\n".repeat(1_000),
    )
    .unwrap();
    std::fs::write(work.join("long.mty"), "x".repeat(4 << 20) + "needle").unwrap();
    std::os::unix::fs::symlink(&work, work.join("loop")).unwrap();
    std::os::unix::fs::symlink("nowhere", work.join("dangling.mty")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        work.join("fifo.mty"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let exchange = ask(&place, &find("needle"));
    assert_eq!(exchange.exit_code(), 0, "{:?}", exchange.lines);
    let hits = exchange.result().unwrap()["hits"].clone();
    let files: Vec<_> = hits
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["file"].as_str().unwrap())
        .collect();
    for file in ["a.mty", "dir.mty/inner.mty"] {
        assert!(files.contains(&file), "{files:?}");
    }
    assert!(
        !files.iter().any(|file| file.starts_with("loop")),
        "{files:?}"
    );
    assert!(files.contains(&"binary.mty") || exchange.lines[0].contains("truncated"));
    for hit in hits.as_array().unwrap() {
        let text = hit["text"].as_str().unwrap();
        assert!(!text.contains(['\n', '\r']), "{text:?}");
    }
}

#[test]
fn module_named_target_is_searched() {
    let place = place(&[
        ("mighty.toml", ""),
        ("src/target/a.mty", "needle\n"),
        ("target/b.mty", "needle\n"),
        ("tools/target/CACHEDIR.TAG", ""),
        ("tools/target/c.mty", "needle\n"),
    ]);
    assert_eq!(hits(&place, &find("needle")), ["src/target/a.mty:1"]);
}

#[test]
fn root_inside_docs_finds_markdown() {
    let text = "needle\n";
    let place = place(&[
        ("docs/a.md", text),
        ("docs/b.MD", text),
        ("docs/c.markdown", text),
        ("docs/guide/d.md", text),
        ("e.md", text),
    ]);
    let mut request = find("needle");
    assert_eq!(
        hits(&place, &request),
        [
            "docs/a.md:1",
            "docs/b.MD:1",
            "docs/c.markdown:1",
            "docs/guide/d.md:1"
        ]
    );
    request["root"] = json!("docs");
    let inside = ["a.md:1", "b.MD:1", "c.markdown:1", "guide/d.md:1"];
    assert_eq!(hits(&place, &request), inside);
    request["root"] = json!("docs/guide");
    assert_eq!(hits(&place, &request), ["d.md:1"]);
    let launch = launch(&[]).place(&place).cwd(place.work().join("docs"));
    let exchange = Agent::spawn(launch).ask(find("needle").to_string());
    assert_eq!(
        exchange.result().unwrap()["hits"].as_array().unwrap().len(),
        4
    );
}

#[test]
fn hostile_ignore_files_do_no_harm() {
    use std::os::unix::fs::symlink;
    let place = place(&[
        ("a.mty", "needle\n"),
        ("sub/b.mty", "needle\n"),
        ("pipes/c.mty", "needle\n"),
        (".git/HEAD", ""),
        (".git/info/x", ""),
    ]);
    let work = place.work();
    for path in [
        ".gitignore",
        ".ignore",
        "sub/.gitignore",
        ".git/info/exclude",
    ] {
        symlink("/dev/zero", work.join(path)).unwrap();
    }
    for path in ["pipes/.gitignore", "pipes/.ignore"] {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            work.join(path),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
    }
    assert_eq!(
        hits(&place, &find("needle")),
        ["a.mty:1", "pipes/c.mty:1", "sub/b.mty:1"]
    );
    // Those above the root are read too.
    let mut request = find("needle");
    request["root"] = json!("pipes");
    assert_eq!(hits(&place, &request), ["c.mty:1"]);
}

#[test]
fn errors_name_the_root_as_it_was_given() {
    let place = place(&[("a.mty", "x\n")]);
    let mut request = find("needle");
    for (root, said) in [
        ("./no//such", "path not found: ./no//such"),
        ("./a.mty", "not a directory: ./a.mty"),
        ("a.mty/../a.mty", "not a directory: a.mty/../a.mty"),
    ] {
        request["root"] = json!(root);
        assert_eq!(ask(&place, &request).errors(), [said]);
    }
    let long = format!("no/{}/the-end.mty", "x".repeat(200));
    request["root"] = json!(long);
    let message = ask(&place, &request).errors().remove(0);
    assert!(message.starts_with("path not found: no/xx"), "{message}");
    assert!(message.ends_with("xx/the-end.mty"), "{message}");
    assert!(message.chars().count() <= 200, "{message}");
}
