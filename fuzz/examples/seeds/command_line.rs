//! Command lines: what is allowed, asks, is denied, or is none.
//! The rules they are judged by are `checks::command_line`'s.

use crate::Seeds;

pub fn seeds() -> Seeds {
    let lines = [
        (
            "sequence",
            "ls && echo a; cat b | cat || ls & echo c\nls".to_owned(),
        ),
        ("quotes", "'ls' \"a b\" c\\ d $'e' 'f'\"g\"\\\nh".to_owned()),
        (
            "variables",
            "echo $HOME \"${USER}\" $? $1 *.rs {a,b} ~".to_owned(),
        ),
        ("comment", "ls # git push; rm\necho a#b".to_owned()),
        (
            "redirections",
            "ls > out 2>&1 >>log </dev/null 2>&- &> all".to_owned(),
        ),
        ("blank", "".to_owned()),
        ("other", "make -j4".to_owned()),
        ("assignment", "PATH=. ls".to_owned()),
        ("block", "{ ls; (echo a); }".to_owned()),
        (
            "if-for-while",
            "if ls; then echo; fi; for i in a b; do ls; done; while ls; do echo; done".to_owned(),
        ),
        ("case", "case a in a|b) ls;; esac".to_owned()),
        ("function", "f() { echo; }; f".to_owned()),
        ("time-coproc", "time ls; coproc ls; ! ls".to_owned()),
        ("unended", "echo \"a".to_owned()),
        (
            "substitution",
            "echo $(ls) `ls` <(ls) ${X:-a} $((1+1)) $[1]".to_owned(),
        ),
        ("nested", "echo \"$(echo \"$(echo `ls`)\")\"".to_owned()),
        ("subscript", "a[x]=1".to_owned()),
        ("arithmetic", "((x++)); [[ x -eq 1 ]]; let y=1".to_owned()),
        ("outside", "ls > /etc/x".to_owned()),
        ("here-document", "cat <<E\ntext $X\nE".to_owned()),
        ("here-string", "cat <<< x".to_owned()),
        ("name", "$X a; l? b".to_owned()),
        ("printf-v", "printf -v PATH .; ls".to_owned()),
        ("underscore", "echo -v; printf $_ .".to_owned()),
        ("invisible", "ls a\u{202e}b\u{a0}c".to_owned()),
        ("carriage-return", "ls\r".to_owned()),
        ("denied", "ls; git push origin".to_owned()),
        (
            "denied-options",
            "git -C . --no-pager -c a=b push".to_owned(),
        ),
        ("denied-quotes", "g''it $'\\x70ush'".to_owned()),
        ("denied-glued", "env -S'git push'".to_owned()),
        (
            "denied-text",
            "python3 -c 'run([\"git\", \"push\"])'".to_owned(),
        ),
        ("denied-deep", "sh -c \"bash -c 'git push'\"".to_owned()),
        ("denied-value", "x='a[$(git push)]'; ((x))".to_owned()),
        ("denied-fed", "echo 'git push' | cat | (sh)".to_owned()),
        ("mention", "echo 'git push' | cat".to_owned()),
        ("maybe", "git $X; env $Y push".to_owned()),
        ("deep", format!("{}ls{}", "(".repeat(300), ")".repeat(300))),
        ("many", format!("{}ls{}", "$(".repeat(20), ")".repeat(20))),
    ];
    let mut seeds: Seeds = lines
        .map(|(name, line)| (name.to_owned(), line.into_bytes()))
        .into();
    seeds.push(("invalid-utf8".to_owned(), b"ls \xff".to_vec()));
    seeds
}
