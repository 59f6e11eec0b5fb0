//! What is known of programs that run other programs: data for looking behind them.
//! No rule is applied here.

/// How a program stands to the words behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Runs its arguments as one command line, or a file as many: what stands there can't be told by its words.
    Text,
    /// Runs a command that stands among its arguments, as words or as one text.
    Wrapper,
    /// As a wrapper, with words that it reads from its standard input.
    Feeder,
    /// A shell.
    Shell,
    Other,
}

const TEXTS: &[&str] = &["eval", "source", "."];

const WRAPPERS: &[&str] = &[
    "alias",
    "bind",
    "builtin",
    "busybox",
    "bwrap",
    "caffeinate",
    "cargo-watch",
    "chpst",
    "chronic",
    "chroot",
    "chrt",
    "command",
    "complete",
    "coproc",
    "cpulimit",
    "daemonize",
    "dbus-launch",
    "dbus-run-session",
    "direnv",
    "doas",
    "docker",
    "dotenv",
    "dumb-init",
    "enable",
    "entr",
    "env",
    "exec",
    "expect",
    "fakeroot",
    "faketime",
    "fd",
    "fdfind",
    "find",
    "firejail",
    "flock",
    "gdb",
    "gosu",
    "hyperfine",
    "ifne",
    "ionice",
    "ld.so",
    "linux32",
    "linux64",
    "ltrace",
    "mapfile",
    "mispipe",
    "nice",
    "nix-shell",
    "nodemon",
    "nohup",
    "npx",
    "nsenter",
    "numactl",
    "pipenv",
    "pkexec",
    "podman",
    "poetry",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "readarray",
    "reptyr",
    "rlwrap",
    "rr",
    "run-parts",
    "run0",
    "runcon",
    "screen",
    "script",
    "sem",
    "setarch",
    "setpriv",
    "setsid",
    "setuidgid",
    "sg",
    "softlimit",
    "sshpass",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su-exec",
    "sudo",
    "systemd-cat",
    "systemd-inhibit",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "tini",
    "tmux",
    "torify",
    "torsocks",
    "trap",
    "tsocks",
    "unbuffer",
    "unshare",
    "uv",
    "valgrind",
    "watch",
    "watchexec",
    "xvfb-run",
];

const FEEDERS: &[&str] = &[
    "at", "batch", "parallel", "runuser", "rush", "ssh", "su", "xargs",
];

const SHELLS: &[&str] = &[
    "ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "ksh93", "lksh", "mksh", "nu", "oil",
    "osh", "pdksh", "posh", "pwsh", "rbash", "sh", "tcsh", "xonsh", "yash", "zsh",
];

/// The shell's own commands that evaluate a word as the name of an array's member: what stands between its
/// brackets may be a substitution, quoted or not.
const EVALUATORS: &[&str] = &[
    "[",
    "declare",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "readonly",
    "test",
    "typeset",
    "unset",
    "wait",
];

/// Whether `program` may run what stands in the text of its words.
pub(super) fn evaluates(program: &str) -> bool {
    EVALUATORS.contains(&program)
}

/// What `program` is, by any path to it.
pub(super) fn kind(program: &str) -> Kind {
    let name = base(program);
    let name = name.strip_prefix('\\').unwrap_or(name);
    if TEXTS.contains(&program) {
        Kind::Text
    } else if SHELLS.contains(&name) {
        Kind::Shell
    } else if FEEDERS.contains(&name) {
        Kind::Feeder
    } else if WRAPPERS.contains(&name) {
        Kind::Wrapper
    } else {
        Kind::Other
    }
}

/// A program's name without the way to it.
pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The options of well-known programs that stand in front of the word which says what to do, and have a value
/// of their own behind them.
pub(super) fn options_with_value(program: &str) -> &'static [&'static str] {
    match base(program) {
        "git" => &[
            "-C",
            "-c",
            "--git-dir",
            "--work-tree",
            "--namespace",
            "--exec-path",
            "--config-env",
            "--attr-source",
            "--super-prefix",
        ],
        "cargo" => &["-C", "-Z", "--config", "--color", "--manifest-path"],
        "docker" | "podman" => &[
            "-H",
            "--host",
            "-c",
            "--context",
            "--config",
            "-l",
            "--log-level",
            "--tlscacert",
            "--tlscert",
            "--tlskey",
            "--url",
            "--connection",
        ],
        "kubectl" | "oc" => &[
            "-n",
            "--namespace",
            "--context",
            "--kubeconfig",
            "--cluster",
            "--user",
            "-s",
            "--server",
            "--token",
            "--as",
        ],
        "helm" => &["-n", "--namespace", "--kube-context", "--kubeconfig"],
        "npm" | "pnpm" | "yarn" => &[
            "--prefix",
            "-C",
            "-w",
            "--workspace",
            "--dir",
            "--cwd",
            "--filter",
            "-F",
        ],
        "systemctl" => &["-H", "--host", "-M", "--machine", "-t", "--type"],
        "gh" => &["-R", "--repo"],
        "aws" => &["--profile", "--region", "--endpoint-url", "--output"],
        "gcloud" => &["--project", "--account", "--configuration"],
        "make" => &["-C", "-f", "-j"],
        "pip" | "pip3" => &["--python", "--log", "--proxy"],
        "apt" | "apt-get" => &["-o", "-c", "-t"],
        _ => &[],
    }
}
