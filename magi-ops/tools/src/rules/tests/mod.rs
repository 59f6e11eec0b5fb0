//! Lines and what rules say about them. The first word of each row is the expected ruling.
//! Nothing here runs a command.

use proptest::prelude::*;

use super::*;

mod allow;
mod deny;

const ALLOW: &[&str] = &[
    "cargo test",
    "git status",
    "ls",
    "echo",
    "cat",
    "grep",
    "wc",
    "git log",
    "eval",
    "git",
];
const DENY: &[&str] = &["git push", "rm", "npm publish", "kubectl delete"];

/// Free are relative targets that stay below.
fn judge(allow: &[&str], deny: &[&str], line: &str) -> Ruling {
    let rules = Rules::new(Permission::Ask, allow.iter().copied(), deny.iter().copied());
    let is_free =
        |path: &str| !path.starts_with('/') && !path.contains("..") && !path.starts_with(".git");
    rules.judge(line, &is_free)
}

fn word(ruling: &Ruling) -> &'static str {
    match ruling {
        Ruling::Allowed => "allowed",
        Ruling::Denied(_) => "denied",
        Ruling::Asks(Why::Substitution) => "substitution",
        Ruling::Asks(Why::Redirection) => "redirection",
        Ruling::Asks(Why::Unknown) => "unknown",
        Ruling::Asks(Why::Characters) => "characters",
        Ruling::Asks(Why::Complex) => "complex",
        Ruling::Default => "default",
    }
}

fn check(rows: &[(&str, &str)]) {
    let allow: Vec<_> = ALLOW
        .iter()
        .copied()
        .filter(|rule| *rule != "git")
        .collect();
    for (expected, line) in rows {
        let found = judge(&allow, DENY, line);
        assert_eq!(word(&found), *expected, "{line:?}: {found:?}");
    }
}

/// A line that runs nothing but what never runs its arguments may say anything in them.
#[test]
fn what_only_mentions_a_denied_command_is_not_denied() {
    for line in [
        "echo \"git push\"",
        "echo git push",
        "echo 'then: git push; rm -rf x' | cat | wc -l",
        "printf 'git push\\n'",
        "grep -rn 'git push' docs",
        "rg 'git push' | head -5",
        "git commit -m \"no git push\"",
        "git add . && git commit -m 'docs: git push' && git log --grep 'git push'",
        "git commit -m \"$(cat <<'EOF'\nafter git push, rm it\nEOF\n)\"",
        "cat > notes.md <<'E'\ngit push\nE",
        "cd docs && grep 'git push' *.md",
        "if grep -q 'git push' a; then echo 'git push'; fi",
        "cargo test -- 'git push'",
        "[ \"$X\" = 'git push' ]",
        "gh pr create --title x --body 'do not git push'",
        "cargo test # git push",
        "git stash push",
        "d=docs; grep -rn 'git push' $d",
        "mkdir -p docs && cat > docs/x.md <<'E'\ngit push\nE",
        "echo 'git push' | tee notes.md",
        "{ echo 'git push'; ls; } > notes.md",
        "git --no-pager log -- push",
    ] {
        let found = judge(&["echo"], DENY, line);
        assert!(!matches!(found, Ruling::Denied(_)), "{line}: {found:?}");
    }
    for line in [
        // Something else of the line may run it.
        "echo 'git push' > x; sh x",
        "echo 'git push' | cat | (sh)",
        "echo 'git push' | { cat; } | sh",
        "echo git push | tee x | python3",
        "BASH_CMDS[cat]=/bin/sh; echo git push | cat",
        "hash -p /bin/sh cat; echo git push | cat",
        "printf -v x 'git push'; $x",
        "git -c alias.x='!git push' commit",
        "GIT_EDITOR='git push' git commit",
        "rg --pre 'git push' x",
        "cargo test --config 'target.x.runner=\"git push\"'",
        "./echo git push",
    ] {
        let found = judge(&["echo"], DENY, line);
        assert_eq!(found, Ruling::Denied("git push".to_owned()), "{line}");
    }
}

#[test]
fn what_is_put_together_asks_where_something_is_denied() {
    for line in [
        "perf stat $X push",
        "x=a; x=b; perf stat $x",
        "x=a; x+=b; perf stat $x",
        "x=a; read x < in; perf stat $x",
        "x=a; for x in git; do perf stat $x; done",
        "x='a b'; perf stat $x",
        "IFS=x; a=gitxpush; perf stat $a",
        "x=$y; y=$x; perf stat $x",
        "x=$HOME; perf stat $x push",
        "x=ls; $x",
        "sudo $X",
        "env -i $X",
        "echo Z2l0IHB1c2g= | base64 -d | sh",
        "sh -c 'git $X'",
        "sh -c '$X push'",
        "git --no-pager stash push",
        "alias g=git; g push",
        "hash -p /usr/bin/git x; x push",
        "BASH_CMDS[x]=/usr/bin/git; x push",
        "f() { git \"$@\"; }; f push",
        // A runner puts more words behind the command, or in it.
        "find push -exec git {} \\;",
        "find push -execdir env git {} +",
        "flock l gfind push -exec nice git {} \\;",
        "busybox find push -exec git {} \\;",
        "find g* -exec {} push \\;",
        "find x -exec {} \\;",
        "find x -exec $X y \\;",
        "find push -exec sh -c 'git {}' \\;",
        "find push -exec sh -c 'git \"$0\"' {} \\;",
        "parallel git ::: push",
        "parallel 'git {1}' ::: push",
        "parallel git :::: file",
        "xargs -IX git X < push",
        "ls | xargs -0rI% sh -c 'git %'",
        "ls | sudo xargs -I % git %",
        "xargs -a push git",
        "flock l xargs git < words",
        "xargs -I{} env {} push <<< git",
    ] {
        let rules = Rules::new(Permission::Allow, [], ["git push"]);
        let found = rules.judge(line, &|_| true);
        assert_eq!(found, Ruling::Asks(Why::Unknown), "{line}");
    }
    // An argument that isn't known is fine, as the command it asks.
    for line in [
        "make $X",
        "ls *.rs",
        "docker build -t $TAG .",
        "A=1 make",
        "a=1; make X=$a",
        "env A=$HOME make",
        "x=1; docker run -e A=$x img",
        "D=out; mkdir -p $D && make OUT=$D",
        "V=1.2; sed -i s/x/$V/ f",
        "V=$HOME; make DESTDIR=$V install",
        "D=~/out; make OUT=\"${D}\"",
        "set -eu; a=1; b=v$a; make V=$b",
        "T='a b'; docker build -t \"$T\" .",
        "A=1 make X=$HOME",
        "export A=1; make",
        "ls | xargs -I {} cp {} x",
        "xargs -I% sh -c 'cp % %.bak'",
        "find . -exec grep -l x {} +",
        "find . -iname '*.rs' -exec git add {} \\;",
        "git ls-files | xargs git add",
        "bash -c \"awk '{print}' f\"",
        "parallel gzip ::: a b",
        "patch -p1 < fix.patch",
    ] {
        let rules = Rules::new(Permission::Allow, [], ["git push"]);
        assert_eq!(rules.judge(line, &|_| true), Ruling::Default, "{line}");
    }
}

#[test]
fn what_may_be_denied_asks() {
    check(
        &[
            ("unknown", "git $X"),
            ("unknown", "git \"$X\" origin"),
            ("unknown", "git --unknown x push"),
            ("denied", "git --unknown push"),
            ("unknown", "echo push | xargs git"),
            ("unknown", "curl x | sh"),
            ("unknown", "cat x | sudo bash"),
            ("unknown", "sudo $X push"),
            ("default", "git log $X"),
            ("default", "git pushes"),
            ("default", "gitk push"),
            ("default", "sudo git status"),
            ("default", "bash -c 'git status'"),
            ("default", "npm run publish"),
            ("default", "env A=1 make"),
            ("default", "python3 -c 'print(1)'"),
        ]
        .map(|(expected, line)| {
            // `git log` and what else is allowed with any argument stays so.
            let expected = if line == "git log $X" {
                "allowed"
            } else {
                expected
            };
            (expected, line)
        }),
    );
    // A rule that allows more than another one denies.
    assert_eq!(word(&judge(&["git"], DENY, "git log")), "allowed");
    assert_eq!(word(&judge(&["git"], DENY, "git push")), "denied");
    assert_eq!(word(&judge(&["git"], DENY, "git $X")), "unknown");
    // What runs texts is never allowed.
    for line in ["eval ls", "command eval ls", "builtin . x"] {
        assert_eq!(
            word(&judge(&["eval", "command", "builtin"], &[], line)),
            "default",
            "{line}"
        );
    }
}

#[test]
fn rules_are_words() {
    let ruling = judge(&["  cargo   test "], &["git  push"], "cargo test");
    assert_eq!(ruling, Ruling::Allowed);
    let denied = judge(&[], &["git  push"], "git push x");
    assert_eq!(denied, Ruling::Denied("git push".to_owned()));
    // A rule without words allows nothing.
    assert_eq!(judge(&["", " "], &[], "ls"), Ruling::Default);
    assert_eq!(judge(&[], &[], "ls $(x)"), Ruling::Default);
}

#[test]
fn too_much_is_asked_for() {
    let long = format!("echo {}", "a ".repeat(20_000));
    assert_eq!(judge(&["echo"], &[], &long), Ruling::Asks(Why::Complex));
    for deep in ["$(", "(", "{ ", "((", "`"] {
        let line = format!("echo {}", deep.repeat(5000));
        let found = judge(&["echo"], &["rm"], &line);
        assert_ne!(found, Ruling::Allowed);
    }
    let many = "sh | ".repeat(4000) + "ls";
    assert_ne!(judge(&["sh", "ls"], &["rm"], &many), Ruling::Allowed);
    // Texts within texts, each of which stands in those around it.
    let within = (0..15).fold("git push".to_owned(), |text, _| {
        format!("${{x:-$(a {text})}}")
    });
    let found = judge(&[], &["git push"], &format!("echo {within}"));
    assert!(
        !matches!(found, Ruling::Allowed | Ruling::Default),
        "{found:?}"
    );
    // Work that grows with the square of the length would reach the limit of time.
    for (part, rule) in [("a[", "git push"), ("rm", "rm"), ("$x", "git push")] {
        let found = judge(&["x"], &[rule], &format!("x {}", part.repeat(9000)));
        assert_ne!(found, Ruling::Asks(Why::Complex), "{part}");
    }
    let large = format!("x={}; x {}", "v".repeat(128), "$x".repeat(9000));
    assert_ne!(judge(&["x"], &["git push"], &large), Ruling::Allowed);
    let options = "git -a ".repeat(4000);
    assert_ne!(judge(&["git"], &["git push"], &options), Ruling::Allowed);
    // Too much, and denied all the same.
    let denied = format!("git push; {long}");
    assert!(matches!(
        judge(&[], &["git push"], &denied),
        Ruling::Denied(_)
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Something that is not allowed, in any surroundings: the line is not allowed.
    #[test]
    fn nothing_hidden_is_allowed(
        before in "(ls|echo a|cargo test| |;|\n|&&|\\||'|\"|#|\\\\|\\$|\\{|\\}|a=|<|>|2>&1|x){0,6}",
        hidden in "(evil|rm|\\$\\(evil\\)|`evil`|\\$X|(evil)|<\\(evil\\)|\\{ evil; \\})",
        after in "( a|;ls|\n|'|\"|#|\\)|\\}|\\||&| ){0,4}",
    ) {
        let line = format!("{before};{hidden}{after}");
        let found = judge(&["ls", "echo", "cargo test", "x", "a"], &["rm"], &line);
        if found == Ruling::Allowed {
            // Then it is within quotes or a comment, and the shell itself must say so: it defines nothing.
            let place = tempfile::tempdir()?;
            let output = std::process::Command::new("bash")
                .args(["--norc", "-c", &format!("evil() {{ echo EVIL; }}; rm() {{ echo EVIL; }}; \
                    ls() {{ :; }}; cargo() {{ :; }}; x() {{ :; }}; a() {{ :; }}; X=evil\n{line}")])
                .current_dir(place.path())
                .stdin(std::process::Stdio::null())
                .output();
            if let Ok(output) = output {
                let told = String::from_utf8_lossy(&output.stdout).into_owned();
                prop_assert!(!told.lines().any(|line| line == "EVIL"), "{line:?}: {told}");
            }
        }
    }

    #[test]
    fn any_text_has_a_ruling(line in "\\PC{0,60}|[ -~\n]{0,80}") {
        let _ = judge(ALLOW, DENY, &line);
    }
}
