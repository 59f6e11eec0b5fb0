//! Wrong configurations as data: links, what of a project leads out of it or does not count, and profiles. The form of a
//! case stands in `cases`.

use super::cases::{At, CONFIGURATION, Case, File, PROFILE, PROJECT, SETTINGS, case};

/// The settings of somebody who trusts the workspace.
const TRUSTING: (&str, &str) = (SETTINGS, "{\"projects\": {\"@WORK\": {\"trusted\": true}}}");

/// A content of `-> PATH` is a link, and `@HOME` and `@WORK` stand for the two directories.
pub(super) const CASES: &[Case] = &[
    case(
        &[(SETTINGS, "-> nowhere")],
        File(SETTINGS),
        None,
        &["link that cannot be followed", "remove the link"],
        CONFIGURATION,
    ),
    case(
        &[("home/auth.json", "-> nowhere")],
        File("home/auth.json"),
        None,
        &["link that cannot be followed", "what the link leads to"],
        None,
    ),
    case(
        &[("home/else.json", "[]"), ("home/auth.json", "-> else.json")],
        At("home/auth.json", 1, 1),
        None,
        &["no JSON object", "what the link leads to"],
        None,
    ),
    case(
        &[("home/auth.json/file", "")],
        File("home/auth.json"),
        None,
        &["no regular file", "put it right or remove it"],
        None,
    ),
    case(
        &[(PROJECT, "{\"instructions\": [\"/etc/hostname\"]}")],
        At(PROJECT, 1, 19),
        Some("instructions.0"),
        &["outside the workspace", "magi-code trust"],
        None,
    ),
    case(
        &[(PROJECT, "{\"instructions\": [\"../../x.md\"]}")],
        At(PROJECT, 1, 19),
        Some("instructions.0"),
        &["outside the workspace"],
        None,
    ),
    case(
        &[
            (PROJECT, "{\"instructions\": [\"in.md\"]}"),
            ("work/in.md", "-> /etc/hostname"),
        ],
        At(PROJECT, 1, 19),
        Some("instructions.0"),
        &["link out of the workspace"],
        None,
    ),
    case(
        &[TRUSTING, ("work/AGENTS.md", "-> nowhere")],
        File("work/AGENTS.md"),
        None,
        &["link that cannot be followed", "remove the link"],
        None,
    ),
    case(
        &[("home/AGENTS.md", "-> nowhere")],
        File("home/AGENTS.md"),
        None,
        &["link that cannot be followed", "remove the link"],
        None,
    ),
    case(
        &[TRUSTING, ("work/.magi-code/skills/a", "-> nowhere")],
        At("work/.magi-code/skills/a/SKILL.md", 1, 1),
        None,
        &["link that cannot be followed", "left out"],
        None,
    ),
    // What an owner who trusts already can do is not to trust.
    case(
        &[
            TRUSTING,
            ("home/auth.json", "{}"),
            ("work/AGENTS.md", "-> @HOME/auth.json"),
        ],
        File("work/AGENTS.md"),
        None,
        &[
            "credentials",
            "put a file of its own in its place, or remove it",
        ],
        None,
    ),
    case(
        &[("work/.magi-code", "-> @HOME")],
        File("work/.magi-code"),
        None,
        &["link to your own home", "remove the link"],
        None,
    ),
    case(
        &[("work/.magi-code", "-> nowhere")],
        File("work/.magi-code"),
        None,
        &["link that cannot be followed"],
        None,
    ),
    case(
        &[
            ("home/agents/a.md", "---\ntools: [read]\n---\n"),
            (
                "work/.magi-code/agents/a.md",
                "---\nname: a\ntools: [read, bash]\n---\n",
            ),
        ],
        At("work/.magi-code/agents/a.md", 3, 1),
        Some("tools"),
        &["`bash`", "does not give back", "magi-code trust"],
        None,
    ),
    case(
        &[("home/agents/a.md", "---\nname: a\nmodel: gpt-9\n---\n")],
        At("home/agents/a.md", 3, 1),
        Some("model"),
        &["tasks with this profile fail", "offers no model `gpt-9`"],
        None,
    ),
    case(
        &[("home/agents/a.md", "---\ntools: read\n---\n")],
        At("home/agents/a.md", 2, 1),
        None,
        &["list of texts", "`[read, grep]`"],
        PROFILE,
    ),
    case(
        &[("home/agents/a.md", "words")],
        At("home/agents/a.md", 1, 1),
        None,
        &["no front matter", "begin the file with"],
        PROFILE,
    ),
    case(
        &[("home/agents/A.md", "---\nmodel: m\n---\n")],
        At("home/agents/A.md", 1, 1),
        None,
        &["`[a-z0-9-]{1,64}`", "also for the file"],
        PROFILE,
    ),
    case(
        &[("home/agents/a.md", "---\ndisable: true\n---\n")],
        At("home/agents/a.md", 2, 1),
        None,
        &["`disable`", "rename it to `disabled`"],
        PROFILE,
    ),
    case(
        &[("home/agents/a.md", "-> nowhere")],
        At("home/agents/a.md", 1, 1),
        None,
        &["link that cannot be followed", "remove the link"],
        PROFILE,
    ),
];
