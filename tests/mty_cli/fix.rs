//! `mty fix`: what it applies, what it asks, whose files it touches (toolchain digest, section 6).
//! The other commands are the parent's.

use super::*;

#[test]
fn fix_does_nothing_without_apply() {
    let dir = dir(&[("a.mty", BAD)]);
    let ran = mty(dir.path(), &["fix", "a.mty"], "");
    assert_eq!(
        (ran.code, ran.out.as_str(), read(&dir, "a.mty").as_str()),
        (0, "", BAD)
    );
    assert!(ran.err.contains("--apply"), "{}", ran.err);
    for args in [
        &["fix", "--apply"][..],
        &["fix", "--apply", "--from-stdin", "--interactive"],
        &["fix", "--apply", "--threshold", "2", "a.mty"],
        &["fix", "--apply", "--code", "nonsense", "a.mty"],
    ] {
        assert_eq!(mty(dir.path(), args, "").code, 2, "{args:?}");
    }
    assert_eq!(mty(dir.path(), &["fix", "--apply", "none.mty"], "").code, 1);
    assert_eq!(read(&dir, "a.mty"), BAD);
}

#[test]
fn fix_applies_what_is_sure_enough_from_the_bottom_up() {
    let text = "fn main() {\n  let a = 1__0\n  let b = 10_; let c = 20_\n  log(a + b + c)\n}\n";
    let dir = dir(&[("a.mty", text)]);
    let dry = mty(dir.path(), &["fix", "--apply", "--dry-run", "a.mty"], "");
    assert_eq!(dry.code, 0);
    let wanted = "--- a/a.mty\n+++ b/a.mty\n@@ -1,5 +1,5 @@\n fn main() {\n-  let a = 1__0\n-  let b = 10_; let c = 20_\n+  let a = 1_0\n+  let b = 10_; let c = 20\n   log(a + b + c)\n }\n";
    assert_eq!(dry.out, wanted);
    assert_eq!(read(&dir, "a.mty"), text);
    let ran = mty(dir.path(), &["fix", "--apply", "a.mty"], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    let wanted = "applied MT0006 — write `20`\napplied MT0006 — write `1_0`\nApplied 2 fixes (MT0006 ×2), 1 unapplied\n";
    assert_eq!(ran.err, wanted);
    // What was in the way of another goes in the next time.
    let again = mty(dir.path(), &["fix", "--apply", "a.mty"], "");
    assert_eq!(
        again.err,
        "applied MT0006 — write `10`\nApplied 1 fixes (MT0006 ×1), 0 unapplied\n"
    );
    let nothing = mty(dir.path(), &["fix", "--apply", "a.mty"], "");
    assert_eq!(
        (nothing.code, nothing.err.as_str()),
        (0, "Applied 0 fixes, 0 unapplied\n")
    );
    assert_eq!(mty(dir.path(), &["check", "a.mty"], "").code, 0);
}

#[test]
fn fix_keeps_to_threshold_code_and_alternative() {
    let text = "enum Hue { Red, Blue }\nfn f(h: Hue) -> I32 { match h { Hue.Red => 0 } }\nfn g() { let n: I32 = \"7\" }\n";
    let dir = dir(&[("a.mty", text)]);
    let dry = |args: &[&str]| {
        let all = [&["fix", "--apply", "--dry-run", "a.mty"], args].concat();
        mty(dir.path(), &all, "")
    };
    assert!(
        dry(&[])
            .err
            .starts_with("applied MT2015 — add `Hue.Blue`\nApplied 1 fixes")
    );
    // The second alternative is below the default threshold, so the best one is taken.
    assert!(
        dry(&["--alternative", "1"])
            .out
            .contains("Hue.Blue => panic")
    );
    assert!(
        dry(&["--alternative", "1", "--threshold", "0.8"])
            .out
            .contains("_ => panic")
    );
    let low = dry(&["--threshold", "0.5", "--code", "mt2001"]);
    assert!(low.err.starts_with("applied MT2001 — "), "{}", low.err);
    assert!(
        dry(&["--code", "MT2001"])
            .err
            .starts_with("Applied 0 fixes")
    );
}

#[test]
fn fix_takes_envelopes_from_stdin() {
    let dir = dir(&[("a.mty", BAD), ("b.mty", BAD)]);
    let told = mty(
        dir.path(),
        &["check", "--format", "json", "a.mty", "b.mty"],
        "",
    )
    .out;
    let ran = mty(dir.path(), &["fix", "--apply", "--from-stdin"], &told);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    assert_eq!(mty(dir.path(), &["check", "a.mty"], "").code, 0);
    assert_eq!(
        read(&dir, "b.mty"),
        BAD,
        "only the file of the first envelope"
    );
    let ran = mty(
        dir.path(),
        &["fix", "--apply", "--from-stdin", "./b.mty"],
        &told,
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(mty(dir.path(), &["check", "b.mty"], "").code, 0);
    // The old lines are gone.
    let stale = mty(dir.path(), &["fix", "--apply", "--from-stdin"], &told);
    assert_eq!(
        (stale.code, stale.err.as_str()),
        (1, "Applied 0 fixes, 1 unapplied\n")
    );
    let broken = mty(
        dir.path(),
        &["fix", "--apply", "--from-stdin"],
        "{\"code\":1}\nnot json\n",
    );
    assert_eq!(broken.code, 1);
    assert!(
        broken.err.contains("standard input, line 1"),
        "{}",
        broken.err
    );
    assert_eq!(
        mty(dir.path(), &["fix", "--apply", "--from-stdin"], "").code,
        0
    );
}

#[test]
fn fix_asks_when_interactive() {
    let text = "fn main() {\n  let a = 1__0\n  let b = 20_\n  log(a + b)\n}\n";
    let dir = dir(&[("a.mty", text)]);
    let ran = mty(
        dir.path(),
        &["fix", "--apply", "--interactive", "a.mty"],
        "n\ny\n",
    );
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("apply MT0006 — write `20`? [y/N]"));
    assert_eq!(read(&dir, "a.mty"), text.replace("1__0", "1_0"));
    let ran = mty(
        dir.path(),
        &["fix", "--apply", "--interactive", "a.mty"],
        "",
    );
    assert!(ran.err.ends_with("Applied 0 fixes, 0 unapplied\n"));
}

#[test]
fn diffs_of_paths_with_blanks_are_taken_by_patch() {
    let dir = dir(&[("a b.mty", BAD)]);
    let ran = mty(dir.path(), &["fix", "--apply", "--dry-run", "a b.mty"], "");
    let head = "--- a/a b.mty\t\n+++ b/a b.mty\t\n@@ ";
    assert!(ran.out.starts_with(head), "{}", ran.out);
    // What is checked is piped back as it came.
    let found = mty(dir.path(), &["check", "--format", "json", "a b.mty"], "");
    let ran = mty(
        dir.path(),
        &["fix", "--apply", "--from-stdin", "a b.mty"],
        &found.out,
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(read(&dir, "a b.mty"), BAD.replace("10_", "10"));
}

#[test]
fn envelopes_of_others_change_no_file_outside_the_project() {
    let dir = dir(&[
        ("pkg/mighty.toml", MANIFEST),
        ("pkg/src/main.mty", BAD),
        ("pkg/sub/here.mty", BAD),
        ("outside.mty", BAD),
    ]);
    let outside = dir.path().join("outside.mty");
    std::os::unix::fs::symlink(&outside, dir.path().join("pkg/src/link.mty")).unwrap();
    let told = mty(
        dir.path(),
        &["check", "--format", "json", "outside.mty"],
        "",
    )
    .out;
    let named =
        |file: &str| told.replace(r#""file":"outside.mty""#, &format!(r#""file":"{file}""#));
    let here = dir.path().join("pkg/sub");
    let args = ["fix", "--apply", "--from-stdin"];
    for file in [
        "../../outside.mty",
        outside.to_str().unwrap(),
        "../src/link.mty",
    ] {
        let ran = mty(&here, &args, &named(file));
        assert_eq!(ran.code, 1, "{file}");
        let root = dir.path().join("pkg").canonicalize().unwrap();
        assert_eq!(
            ran.err,
            format!("error: {file} is outside {}\n", root.display())
        );
        assert_eq!(read(&dir, "outside.mty"), BAD);
    }
    for file in ["here.mty", "../src/main.mty"] {
        let ran = mty(&here, &args, &named(file));
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_ne!(std::fs::read_to_string(here.join(file)).unwrap(), BAD);
    }
    // Without a package it is the directory.
    let ran = mty(&dir.path().join("pkg"), &args, &named("../outside.mty"));
    assert_eq!(ran.code, 1);
    assert_eq!(mty(dir.path(), &args, &told).code, 0);
}
