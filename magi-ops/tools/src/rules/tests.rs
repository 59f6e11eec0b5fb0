//! Lines and what rules say about them. The first word of each row is the expected ruling.
//! Nothing here runs a command.

use proptest::prelude::*;

use super::*;

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

#[test]
fn sequences_of_allowed_commands_run() {
    check(&[
        ("allowed", "cargo test"),
        ("allowed", "cargo test --workspace -- --nocapture"),
        ("allowed", "cargo  test"),
        ("allowed", "cargo test && git status"),
        ("allowed", "cargo test; git status || ls"),
        ("allowed", "cat a | grep b | wc -l"),
        ("allowed", "cargo test\ngit status\n"),
        ("allowed", "cargo test # and more; rm -rf ~"),
        ("allowed", "# nothing yet\nls"),
        ("allowed", "'cargo' \"test\""),
        ("allowed", "c\\argo te\\\nst"),
        ("allowed", "$'cargo' test"),
        ("allowed", "echo $HOME ${USER} $? $1"),
        ("allowed", "echo 'a; git push' \"b && rm x\""),
        ("allowed", "echo '$(git push)' \\`rm\\`"),
        ("allowed", "ls *.rs {a,b} ~"),
        ("allowed", "ls > out.txt 2>&1"),
        ("allowed", "ls 2>/dev/null >>log </dev/null"),
        ("allowed", "ls >&2 2>&- <&0"),
        ("allowed", "ls &> out"),
        ("allowed", "ls |& wc"),
        ("allowed", "ls & git status"),
        ("default", "cargo"),
        ("default", "cargo build"),
        ("default", "cargo testing"),
        ("default", "cargotest"),
        ("default", "./cargo test"),
        ("default", "/bin/ls"),
        ("default", "LS"),
        ("default", "git -C x status"),
        ("default", ""),
        ("default", "# only words"),
        ("default", "cargo test && make"),
        ("default", "cargo test | tee x"),
    ]);
}

#[test]
fn what_is_more_than_a_sequence_is_not_allowed() {
    check(&[
        ("default", "A=1 ls"),
        ("default", "A=1"),
        ("default", "PATH=/evil:$PATH; ls"),
        ("default", "(ls)"),
        ("default", "{ ls; }"),
        ("default", "! ls"),
        ("default", "time ls"),
        ("default", "coproc ls"),
        ("default", "if ls; then ls; fi"),
        ("default", "for i in a b; do ls; done"),
        ("default", "while ls; do ls; done"),
        ("default", "case a in a) ls;; esac"),
        ("default", "ls() { echo; }"),
        ("default", "ls() { echo; }; ls"),
        ("default", "function ls { echo; }"),
        ("default", "[[ -f a ]]"),
        ("default", "((1))"),
        ("unknown", "((x))"),
        ("unknown", "[[ x -eq 1 ]]"),
        ("unknown", "[[ -v a ]]"),
        ("unknown", "a[x]=1"),
        ("default", "eval ls"),
        ("default", "source ls"),
        ("default", ". ls"),
        ("default", "timeout 5 cargo test"),
        ("default", "env cargo test"),
        ("default", "command cargo test"),
        ("default", "nohup ls"),
        ("default", "bash -c 'cargo test'"),
        ("default", "echo 'unended"),
        ("default", "ls )"),
        ("default", "ls &&"),
        ("default", "echo a=(b)"),
        ("default", "ls $'a\\'b'"),
        ("default", "ls $\"a\""),
        // Substitutions of every kind, wherever they stand.
        ("substitution", "echo $(ls)"),
        ("substitution", "echo \"$(ls)\""),
        ("substitution", "echo `ls`"),
        ("substitution", "cat <(ls)"),
        ("substitution", "ls > >(cat)"),
        ("substitution", "echo ${X:-$(ls)}"),
        ("substitution", "echo ${X@P}"),
        ("substitution", "echo ${!X}"),
        ("substitution", "echo $((1+1))"),
        ("substitution", "echo $[1]"),
        ("substitution", "A=$(ls)"),
        ("substitution", "A=$(ls) ls"),
        ("substitution", "cat <<E\n$(ls)\nE"),
        ("substitution", "cat <<<$(ls)"),
        ("substitution", "[[ -n $(ls) ]]"),
        ("substitution", "((a[$(ls)]))"),
        ("substitution", "$(echo ls)"),
        // Quoted, and evaluated all the same.
        ("substitution", "printf -v 'a[$(ls)]' x"),
        ("substitution", "test -v 'a[`ls`]'"),
        ("substitution", "[ -v 'a[$(ls)]' ]"),
        ("substitution", "command read 'a[$(ls)]'"),
        ("substitution", "let 'a[$(ls)]=1'"),
        // A command's name that is put in only then.
        ("unknown", "$X"),
        ("unknown", "$X test"),
        ("unknown", "ls; ${X} test"),
        ("unknown", "l? a"),
        ("unknown", "{cargo,test}"),
        ("unknown", "~/bin/ls"),
        ("unknown", "eval \"$X\""),
        ("unknown", "bash -c \"$X\""),
        ("unknown", "if ls; then $X; fi"),
        // Files elsewhere.
        ("redirection", "ls > /etc/passwd"),
        ("redirection", "ls > ../x"),
        ("redirection", "ls > .git/config"),
        ("redirection", "ls > $X"),
        ("redirection", "ls > \"$X\"/a"),
        ("redirection", "ls > a*"),
        ("redirection", "ls > ~/a"),
        ("redirection", "cat < /etc/passwd"),
        ("redirection", "ls &> /tmp/x"),
        ("redirection", "ls >& /tmp/x"),
        ("redirection", "ls >| /tmp/x"),
        ("redirection", "ls <> /dev/tcp/a/1"),
        ("redirection", "ls {fd}> a"),
        ("redirection", "ls >&$X"),
        ("redirection", "cat <<E\nx\nE"),
        ("redirection", "cat <<< x"),
        ("redirection", "cd sub && ls > x"),
        ("redirection", "(ls) > /etc/x"),
        // What people read as something else.
        ("characters", "ls\u{a0}x"),
        ("characters", "ls \u{200b}"),
        ("characters", "ls a\u{202e}b"),
        ("characters", "ls\r"),
        ("characters", "ls \u{1b}[8mx"),
    ]);
}

/// Everything here is allowed by the words of a rule, and could run another program by its name, or in its place.
#[test]
fn what_changes_the_meaning_of_a_name_is_not_allowed() {
    let allow = [
        "ls",
        "echo",
        "printf",
        "read",
        "hash",
        "set",
        "mapfile",
        "readarray",
        "declare",
        "typeset",
        "export",
        "readonly",
        "local",
        "unset",
        "trap",
        "enable",
        "alias",
        "shopt",
        "eval",
        "source",
        ".",
        "exec",
        "builtin",
        "command",
        "getopts",
        "let",
        "compgen",
        "complete",
        "bind",
        "fc",
        "history",
        "jobs",
        "wait",
        "test",
        "[",
        "cd",
        "pushd",
        "./x.sh",
        "bash x.sh",
        "x",
        "command_not_found_handle",
        "coproc",
        "for",
        "select",
    ];
    for line in [
        "printf -v PATH .; ls",
        "printf -vPATH .; ls",
        "printf -v 'BASH_CMDS[ls]' ./x",
        "echo -vPATH; printf $_ .; ls",
        "echo -vPATH; printf \"${_}\" .; ls",
        "printf %n PATH; ls",
        "printf '%% %-5ln' PATH; ls",
        "printf \"%$#n\" PATH; ls",
        "read PATH; ls",
        "read -r PATH < in; ls",
        "hash -p ./x ls; ls",
        "BASH_CMDS[ls]=./x; ls",
        "BASH_ALIASES[ls]=./x; ls",
        "PS4='$(./x)'; set -x; ls",
        "set -x; ls",
        "PROMPT_COMMAND=./x; ls",
        "BASH_ENV=./x ls",
        "PATH=. ls",
        "mapfile PATH < in; ls",
        "mapfile -C ./x -c 1 < in",
        "readarray PATH < in; ls",
        "declare PATH=.; ls",
        "declare -n y=PATH; y=.; ls",
        "typeset PATH=.; ls",
        "export PATH=.; ls",
        "readonly PATH=.; ls",
        "unset PATH; ls",
        "trap ./x EXIT; ls",
        "enable -f ./x ls; ls",
        "enable -n echo; echo",
        "alias ls=./x; ls",
        "shopt -s expand_aliases; ls",
        "exec ./x; ls",
        "builtin read PATH; ls",
        "command read PATH; ls",
        "getopts a PATH; ls",
        "let PATH=1; ls",
        "compgen -C ./x; ls",
        "complete -C ./x ls",
        "bind -x '\"a\": ./x'",
        "fc -s ls",
        "history -s ls",
        "jobs -x ./x",
        "wait -p PATH; ls",
        "wait -np PATH; ls",
        "test -v 'a[x]'",
        "[ -v 'a[x]' ]",
        "for PATH in .; do ls; done",
        "select PATH in .; do ls; done",
        "ls ${PATH:=.}; ls",
        "ls {PATH}>out; ls",
        "ls $((PATH=1)); ls",
        "coproc ls",
        "command_not_found_handle() { ./x; }; y",
        "function ls { ./x; }; ls",
        "ls() { ./x; }; ls",
        // Names of files are those of the session's directory.
        "cd sub && ./x.sh",
        "pushd sub; ./x.sh",
        "cd sub && bash x.sh",
        "./x.sh; cd sub",
    ] {
        assert_ne!(judge(&allow, &[], line), Ruling::Allowed, "{line}");
        assert_ne!(
            judge(&allow, &["git push"], line),
            Ruling::Allowed,
            "{line}"
        );
    }
    for line in [
        "cd sub && ls",
        "printf '%s' $X",
        "printf 'name: %-10s %d%%now\\n' $X 5",
        "[ \"$X\" = y ] && echo y",
        "test -n \"$X\"",
        "./x.sh a && bash x.sh",
        "././x.sh",
        ".//x.sh",
        "command -v ls",
        "cd sub; x",
    ] {
        assert_eq!(
            judge(&allow, &["git push"], line),
            Ruling::Allowed,
            "{line}"
        );
    }
    // By a path it is a program, not the shell's own command.
    assert_eq!(
        judge(&["/usr/bin/printf"], &[], "/usr/bin/printf -v x"),
        Ruling::Allowed
    );
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
fn a_denied_command_is_found_in_every_text_and_behind_every_program() {
    for line in [
        // Glued to an option, or a text behind one.
        "env -S'git push'",
        "env -S 'git push'",
        "env -vS'git push'",
        "env --split-string='git push'",
        "env --split-string=git\\ push",
        "su -c'git push'",
        "su --command='git push' me",
        "su - me -c \"git push\"",
        "script -qc'git push' /dev/null",
        "script --command 'git push'",
        "time -- git push",
        "time -p -- git push",
        "flock /tmp/l -c'git push'",
        "xterm -e 'git push'",
        "tmux new-session 'git push'",
        "screen -dm git push",
        // Texts that the shell evaluates.
        "x='a[$(git push)]'; ((x))",
        "x='a[$(git push)]'; [[ x -eq 1 ]]",
        "x='a[$(git push)]'; let x",
        "let 'a[$(git push)]=1'",
        "test -v 'a[$(git push)]'",
        "[ -v 'a[$(git push)]' ]",
        "declare -i x='a[$(git push)]'",
        "x='a[$(git push)]'; echo $((x))",
        "x='a[$(git push)]'; echo ${y:x}",
        "export PS4='$(git push)'; set -x; ls",
        "PS4='$(git push)'; set -x; ls",
        "PROMPT_COMMAND='git push'",
        "PS0='`git push`'",
        "compgen -C 'git push'",
        "compgen -W '$(git push)'",
        "complete -C 'git push' x",
        "BASH_ALIASES[x]='git push'; x",
        "mapfile -C 'git push' -c 1 < in",
        "bind -x '\"a\":git push'",
        "trap -- 'git push' 0",
        "BASH_ENV=<(echo git push) bash -c :",
        "for c in 'git push'; do $c; done",
        "set -- git push; \"$@\"",
        "read x <<< 'git push'; $x",
        "x='git push'; $x",
        "x=(git push); \"${x[@]}\"",
        "x=git\\ push; eval $x",
        "command_not_found_handle() { git push; }; y",
        // Programs that run others; there is no list of them.
        "perf stat git push",
        "perf record -- git push",
        "i386 git push",
        "x86_64 git push",
        "setarch x86_64 git push",
        "setarch -R git push",
        "capsh -- -c 'git push'",
        "npm exec -c 'git push'",
        "npm exec -- git push",
        "npx -c 'git push'",
        "ssh -o ProxyCommand='git push' h",
        "ssh -oProxyCommand='git push' h",
        "ssh h git push",
        "make --eval='all:;git push'",
        "make --eval 'all: ; git push'",
        "make SHELL='git push'",
        "vi -c ':!git push' -c :q",
        "vim -es '+!git push'",
        "emacs --eval '(shell-command \"git push\")'",
        "find . -exec git {} push \\;",
        "find . -execdir git push \\;",
        "toybox git push",
        "busybox sh -c 'git push'",
        "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
        "pnpm exec git push",
        "pnpm dlx git push",
        "yarn exec -- git push",
        "yarn run git push",
        "bundle exec git push",
        "conda run -n x git push",
        "poetry run git push",
        "uv run -- git push",
        "pipenv run git push",
        "rye run git push",
        "hatch run git push",
        "mise exec -- git push",
        "asdf exec git push",
        "nix develop -c git push",
        "nix-shell --run 'git push'",
        "guix shell -- git push",
        "flatpak-spawn --host git push",
        "git submodule foreach git push",
        "git submodule foreach 'git push || :'",
        "git bisect run git push",
        "git rebase --exec 'git push' main",
        "git rebase -x'git push' main",
        "git -c alias.x='!git push' x",
        "git -c alias.x=push x",
        "git -c core.pager='git push' log",
        "git -c core.sshCommand='git push' fetch",
        "git fetch --upload-pack='git push'",
        "git grep -O'git push' x",
        "git difftool -x 'git push'",
        "git filter-branch --tree-filter 'git push'",
        "git config alias.x '!git push'",
        "/usr/lib/git-core/git-push",
        "git-push origin",
        "python3 -c 'import os; os.system(\"git push\")'",
        "python3 -c 'import subprocess; subprocess.run([\"git\", \"push\"])'",
        "perl -e 'exec qw(git push)'",
        "node -e 'spawn(\"git\", [\"push\"])'",
        "xargs env <<E\ngit\npush\nE",
        "sh -c 'git${IFS}push'",
        "perf stat gi$@t push",
        "perf stat git$9push",
        "ruby -e '`git push`'",
        "node -e 'require(\"child_process\").execSync(\"git push\")'",
        "awk 'BEGIN { system(\"git push\") }'",
        "sed '1e git push' x",
        "tar cf x y --to-command='git push'",
        "tar cf x y --checkpoint-action=exec='git push'",
        "rsync -e 'git push' a b:",
        "sort --compress-program='git push' x",
        "man -P 'git push' ls",
        "less '+!git push' x",
        "gdb -ex '!git push'",
        "crontab <<< '* * * * * git push'",
        "at now <<< 'git push'",
        "systemd-run git push",
        "entr -r git push < x",
        "strace -f -o x git push",
        "wget --use-askpass='git push' x",
        "osascript -e 'do shell script \"git push\"'",
        "printf 'g\\x69t pu\\163h' | sh",
        "echo -e 'git\\x20push' | sh",
        "printf '\\147\\151\\164 push' | bash",
        "sh -c $'g\\u0069t push'",
        "bash -c 'git -c \"a.b=c d\" push'",
        "bash -c 'git >x push'",
        "bash -c '{git,push}'",
        "GIT Push",
        "cat <<E | sh\ngit push\nE",
        "coproc git push",
        "echo 'git push' | at now",
    ] {
        let found = judge(&["ls", "echo"], &["git push"], line);
        assert_eq!(found, Ruling::Denied("git push".to_owned()), "{line}");
    }
    for (rule, line) in [
        ("rm", "perf stat rm x"),
        ("rm", "su -c'rm x'"),
        ("rm", "find . -exec rm {} +"),
        ("rm", "x=rm; \"$x\" f"),
        ("./deploy.sh", "././deploy.sh"),
        ("./deploy.sh", "bash deploy.sh"),
        ("./deploy.sh", "cd . && sh ./deploy.sh now"),
        ("/usr/bin/git push", "git push"),
        ("git push*", "git push origin"),
        ("git push *", "git push"),
        ("Bash(git push:*)", "git push"),
        ("'git' push", "git push"),
        ("sudo git push", "sudo -E git push"),
        ("git push --force", "git push -u --force"),
    ] {
        let found = judge(&["ls"], &[rule], line);
        assert!(
            matches!(found, Ruling::Denied(_)),
            "{rule}: {line}: {found:?}"
        );
    }
    // Words of a rule within other words.
    for (rule, line) in [
        ("rm", "docker run --rm x"),
        ("rm", "make rm.o"),
        ("rm", "make firm rm-all"),
        ("git push", "make legit push"),
        ("git push", "make .git push"),
        ("git push", "git clone x.git push"),
        ("npm publish", "npm run publish"),
    ] {
        let found = judge(&["ls"], &[rule], line);
        assert_eq!(found, Ruling::Default, "{rule}: {line}");
    }
}

#[test]
fn what_is_put_together_asks_where_something_is_denied() {
    for line in [
        "perf stat $X push",
        "x=git; perf stat $x push",
        "x=r; y=m; perf stat $x$y",
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
        "export A=1; make",
    ] {
        let rules = Rules::new(Permission::Allow, [], ["git push"]);
        assert_eq!(rules.judge(line, &|_| true), Ruling::Default, "{line}");
    }
}

#[test]
fn a_denied_command_is_found_however_deep() {
    check(&[
        ("denied", "git push"),
        ("denied", "git push origin main"),
        ("denied", "/usr/bin/git push"),
        ("denied", "gi\\t push"),
        ("denied", "\\git push"),
        ("denied", "\"git\" push"),
        ("denied", "g''it 'pu'sh"),
        ("denied", "$'git' push"),
        ("denied", "$'g\\x69t' $'\\160ush'"),
        ("denied", "$\"git\" push"),
        ("denied", "git pu\\\nsh"),
        ("denied", "git -C . push"),
        ("denied", "git -c a=b --no-pager push"),
        ("denied", "git --git-dir x push"),
        ("denied", "kubectl -n prod delete pod x"),
        ("denied", "cargo test && git push"),
        ("denied", "cargo test; git push"),
        ("denied", "cargo test | rm x"),
        ("denied", "cargo test & git push"),
        ("denied", "ls\nrm x"),
        ("denied", "A=1 B=2 git push"),
        ("denied", "A=$(git push)"),
        ("denied", "echo $(git push)"),
        ("denied", "echo \"$(git push)\""),
        ("denied", "echo \"a `git push` b\""),
        ("denied", "echo `echo \\`rm x\\``"),
        ("denied", "echo $(echo $(rm x))"),
        ("denied", "cat <(git push)"),
        ("denied", "ls > >(rm x)"),
        ("denied", "echo ${X:-$(git push)}"),
        ("denied", "echo \"${X:-\"$(git push)\"}\""),
        ("denied", "echo $((1 + $(git push)))"),
        ("denied", "echo ${X[$(git push)]}"),
        ("denied", "a=(1 $(git push))"),
        ("denied", "cat <<E\n$(git push)\nE"),
        ("denied", "cat <<-E\n\t`git push`\n\tE"),
        ("denied", "cat <<<\"$(git push)\""),
        ("denied", "bash <<E\ngit push\nE"),
        ("denied", "bash <<'E'\ngit push\nE"),
        ("denied", "sh <<<'git push'"),
        ("denied", "cat <<E | sh\ngit push\nE"),
        ("denied", "echo git push | sh"),
        ("denied", "echo 'git push' | bash -s"),
        ("denied", "f() { git push; }"),
        ("denied", "f() { git push; }; f"),
        ("denied", "function f { (git push); }"),
        ("denied", "(git push)"),
        ("denied", "{ git push; }"),
        ("denied", "! git push"),
        ("denied", "time git push"),
        ("denied", "time -p git push"),
        ("denied", "coproc git push"),
        ("denied", "if git push; then ls; fi"),
        (
            "denied",
            "if ls; then ls; elif ls; then ls; else git push; fi",
        ),
        ("denied", "while git push; do ls; done"),
        ("denied", "until ls; do git push; done"),
        ("denied", "for i in $(git push); do ls; done"),
        ("denied", "for ((i=0;i<$(git push);i++)); do ls; done"),
        ("denied", "select x in a; do git push; done"),
        ("denied", "case $(git push) in a) ls;; esac"),
        ("denied", "case a in a) ls;; b) git push;; esac"),
        ("denied", "[[ -n $(git push) ]]"),
        ("denied", "[[ a == b || ( -f $(rm x) ) ]]"),
        ("denied", "((a[$(git push)]))"),
        ("denied", "ls 2> $(rm x)"),
        ("denied", "printf -v 'a[$(git push)]' x"),
        ("denied", "unset 'a[`rm x`]'"),
        ("denied", "git\tpush"),
        ("denied", "git \\\n  push"),
        ("denied", "ls;git push;ls"),
        ("denied", "ls&&git push"),
        ("denied", "ls|git push"),
        ("denied", "if true;then git push;fi"),
        ("denied", ">x git push"),
        ("denied", "2>/dev/null A=1 git push"),
        ("denied", "git >x push"),
        ("denied", "a=1;git push"),
        ("denied", "{ { (git push); }; }"),
        ("denied", "f() ( git push )"),
        ("denied", "echo a\\;git push; git push"),
        ("denied", "case x in (a|b) git push ;& *) ls ;;& esac"),
        ("denied", "cat <<A <<B\n$(rm x)\nA\nB"),
        ("denied", "cat <<\"A\" | bash\ngit push\nA"),
        ("denied", "ls #x\ngit push"),
        ("denied", "echo ${X#$(git push)}"),
        ("denied", "echo ${X/$(git push)/b}"),
        ("denied", "echo \"a$(echo \"b$(git push)\")\""),
        ("denied", "export A=$(git push)"),
        ("denied", "declare -a a=($(git push))"),
        ("denied", "[ $(git push) ]"),
        // Behind what runs other commands.
        ("denied", "env git push"),
        ("denied", "env A=1 git push"),
        ("denied", "env -i A=1 /usr/bin/git push"),
        ("denied", "env -S 'git push'"),
        ("denied", "command git push"),
        ("denied", "command -p git push"),
        ("denied", "builtin command git push"),
        ("denied", "exec git push"),
        ("denied", "exec -a x git push"),
        ("denied", "sudo git push"),
        ("denied", "sudo -u root -E git push"),
        ("denied", "doas git push"),
        ("denied", "nohup git push &"),
        ("denied", "timeout 5 git push"),
        ("denied", "timeout -k 1 5 git push"),
        ("denied", "nice -n 5 git push"),
        ("denied", "ionice -c 3 git push"),
        ("denied", "stdbuf -o0 git push"),
        ("denied", "setsid -f git push"),
        ("denied", "xargs git push"),
        ("denied", "ls | xargs rm"),
        ("denied", "ls | xargs -n1 -I{} rm {}"),
        ("denied", "echo push | xargs git push"),
        ("denied", "find . -exec rm {} \\;"),
        ("denied", "find . -type f -execdir git push {} +"),
        ("denied", "parallel rm ::: a b"),
        ("denied", "watch 'git push'"),
        ("denied", "watch git push"),
        ("denied", "flock /tmp/l -c 'git push'"),
        ("denied", "script -c 'git push' /dev/null"),
        ("denied", "su -c 'git push' me"),
        ("denied", "ssh host git push"),
        ("denied", "bash -c 'git push'"),
        ("denied", "bash -lc 'cd x && git push'"),
        ("denied", "sh -c \"git push\""),
        ("denied", "/bin/sh -ec 'ls; git push'"),
        ("denied", "zsh -c 'git push'"),
        ("denied", "busybox sh -c 'rm x'"),
        ("denied", "busybox rm x"),
        ("denied", "sudo bash -c 'sh -c \"git push\"'"),
        ("denied", "bash -c 'bash -c \"bash -c \\\"git push\\\"\"'"),
        ("denied", "env bash -c $'git\\x20push'"),
        ("denied", "eval git push"),
        ("denied", "eval 'git push'"),
        ("denied", "eval 'git' \"push\""),
        ("denied", "trap 'git push' EXIT"),
        ("denied", "alias x='git push'; x"),
        ("denied", "$SUDO git push"),
        ("denied", "strace -f git push"),
        ("denied", "unshare -r git push"),
        ("denied", "sudo -- git push"),
        ("denied", "sudo A=1 git push"),
        ("denied", "env -u A -C /tmp git push"),
        ("denied", "env -- git push"),
        ("denied", "/usr/bin/env git push"),
        ("denied", "command -- git push"),
        ("denied", "xargs -a f git push"),
        ("denied", "xargs sh -c 'git push'"),
        ("denied", "bash -c 'git \"$@\"; git push' x"),
        ("denied", "bash -O extglob -c 'git push'"),
        ("denied", "bash <(echo git push); git push"),
        ("denied", "sudo sh <<<'git push'"),
        ("denied", "sh -s <<E\nls\ngit push\nE"),
        ("denied", "source /dev/stdin <<<'git push'"),
        ("denied", "printf 'git push' | sudo -u me bash"),
        ("denied", "timeout 1 sh -c 'nohup git push'"),
        ("denied", "find . -name x -exec sh -c 'rm x' \\;"),
        ("denied", "setsid nohup nice git push"),
        ("denied", "script -qc 'git push'"),
        ("denied", "tmux new -d 'git push'"),
        // The shell runs what stands in front of what it doesn't understand.
        ("denied", "git push\n)"),
        ("denied", "ls; git push\nif"),
        ("denied", "echo 'unended\ngit push' ; (git push"),
        ("denied", "echo \"$(git push\""),
    ]);
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
