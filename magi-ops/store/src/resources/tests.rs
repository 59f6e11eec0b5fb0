//! Tests of resources on a real disk: order, precedence, disabling, bounds, refusals, cancellation.
//! Nothing here reaches beyond a temporary directory.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::*;
use crate::MAX_REASONS;

struct Place {
    dir: tempfile::TempDir,
    home: Home,
}

impl Place {
    /// `home/`, and a working directory `repo/in/cwd/` in a repository `repo/`.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("repo/in/cwd/.magi-code")).unwrap();
        fs::create_dir(dir.path().join("repo/.git")).unwrap();
        let home = Home::prepare(&dir.path().join("home")).unwrap();
        Self { dir, home }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    fn with(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let at = self.path(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, content).unwrap();
        self
    }

    fn fifo(self, path: &str) -> Self {
        let at = self.path(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        let mode = 0o600.into();
        rustix::fs::mknodat(rustix::fs::CWD, at, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        self
    }

    fn load_with(&self, extra: &[&str]) -> Result<Resources, ResourceError> {
        let extra: Vec<_> = extra.iter().map(|path| self.named(path, false)).collect();
        self.load_as(false, &extra)
    }

    fn named(&self, path: &str, of_project: bool) -> InstructionFile {
        InstructionFile {
            path: self.path(path),
            of_project,
            named: Reason::of_file(Path::new("/settings.json"), ""),
        }
    }

    fn load_as(
        &self,
        trusted: bool,
        instructions: &[InstructionFile],
    ) -> Result<Resources, ResourceError> {
        let wanted = Wanted {
            trusted,
            projects: None,
            user_home: None,
            instructions,
            tools: &[],
        };
        Resources::load(&self.home, &self.path("repo/in/cwd"), wanted, &|| false)
    }

    /// A symbolic link.
    fn link(self, path: &str, target: &str) -> Self {
        let at = self.path(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(self.path(target), at).unwrap();
        self
    }

    /// A second name of a file.
    fn hard_link(self, path: &str, target: &str) -> Self {
        let at = self.path(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::hard_link(self.path(target), at).unwrap();
        self
    }

    fn load(&self) -> Resources {
        self.load_with(&[]).unwrap()
    }

    fn profile_error(&self) -> String {
        match self.load_with(&[]) {
            Err(ResourceError::Profiles(reasons)) => {
                let reason = &reasons[0].reason;
                reason
                    .strip_prefix("the profile ")
                    .unwrap_or(reason)
                    .to_owned()
            }
            other => panic!("{other:?}"),
        }
    }
}

fn texts(resources: &Resources) -> Vec<(&str, &str)> {
    let text = |i: &'_ Instruction| -> (&'static str, &'static str) {
        (i.source.clone().leak(), i.text.clone().leak())
    };
    resources.instructions.iter().map(text).collect()
}

fn notices(resources: &Resources) -> Vec<&str> {
    let text = |reason: &'_ Reason| -> &'static str { reason.reason.clone().leak() };
    resources.notices.iter().map(text).collect()
}

fn is_refused(loaded: Result<Resources, ResourceError>) -> bool {
    matches!(loaded, Err(ResourceError::Instructions { .. }))
}

#[test]
fn nothing_there_is_nothing() {
    assert_eq!(Place::new().load(), Resources::default());
}

#[test]
fn instructions_go_from_the_general_to_the_near() {
    let place = Place::new()
        .with("AGENTS.md", "above the repository")
        .with("home/AGENTS.md", "global")
        .with("repo/AGENTS.md", "\u{feff}root")
        .with("repo/in/AGENTS.md", " \n")
        .with("repo/in/cwd/AGENTS.md", "near")
        .with("repo/docs/extra.md", "extra")
        .with("home/rules/mine.md", "mine")
        .with("elsewhere/b\"<\n>.md", "b");
    let extra = [
        "home/rules/mine.md",
        "repo/in/cwd/../../docs/extra.md",
        "elsewhere/b\"<\n>.md",
        "repo/AGENTS.md",
        "home/rules/mine.md",
    ];
    let loaded = place.load_with(&extra).unwrap();
    assert_eq!(
        texts(&loaded),
        [
            ("global AGENTS.md", "global"),
            ("AGENTS.md", "root"),
            ("in/cwd/AGENTS.md", "near"),
            ("global rules/mine.md", "mine"),
            ("docs/extra.md", "extra"),
            ("b\u{fffd}\u{fffd}\u{fffd}\u{fffd}.md", "b"),
        ]
    );
    assert!(loaded.notices.is_empty());
}

#[test]
fn without_a_repository_only_the_working_directory_counts() {
    let place = Place::new()
        .with("repo/AGENTS.md", "root")
        .with("repo/in/cwd/AGENTS.md", "near");
    fs::remove_dir(place.path("repo/.git")).unwrap();
    assert_eq!(texts(&place.load()), [("AGENTS.md", "near")]);
    // In a worktree `.git` is a file.
    let place = place.with("repo/in/.git", "gitdir: elsewhere");
    let place = place.with("repo/in/AGENTS.md", "in");
    assert_eq!(
        texts(&place.load()),
        [("AGENTS.md", "in"), ("cwd/AGENTS.md", "near")]
    );
}

#[test]
fn a_long_instruction_is_cut_at_a_line_and_says_so() {
    let line = "a line of thirty-two characters\n";
    let fits = line.repeat(MAX_INSTRUCTION_BYTES / line.len());
    let place = Place::new().with("repo/AGENTS.md", &fits);
    assert_eq!(texts(&place.load()), [("AGENTS.md", fits.as_str())]);
    let place = place.with("repo/AGENTS.md", format!("x{fits}"));
    let loaded = place.load();
    let text = &loaded.instructions[0].text;
    let notice = "[cut here: only the first 65536 bytes are shown]\n";
    let kept = text.strip_suffix(notice).unwrap();
    assert_eq!(kept.len(), MAX_INSTRUCTION_BYTES - line.len() + 1);
    assert!(kept.ends_with(line));
    // Without lines it is cut between characters, also where wrong bytes grow.
    let place = place.with("repo/AGENTS.md", "é".repeat(MAX_INSTRUCTION_BYTES));
    let text = place.load().instructions.remove(0).text;
    let expected = "é".repeat(MAX_INSTRUCTION_BYTES / 2);
    assert_eq!(text, format!("{expected}\n{notice}"));
    let place = place.with("repo/AGENTS.md", vec![0xff; MAX_INSTRUCTION_BYTES]);
    let text = place.load().instructions.remove(0).text;
    let expected = "\u{fffd}".repeat(MAX_INSTRUCTION_BYTES / 3);
    assert_eq!(text, format!("{expected}\n{notice}"));
}

#[test]
fn all_instructions_together_are_bounded() {
    let names: Vec<_> = (0..6).map(|i| format!("home/{i}.md")).collect();
    let text = "word\n".repeat(12_000);
    let place = names
        .iter()
        .fold(Place::new(), |place, name| place.with(name, &text));
    let extra: Vec<_> = names.iter().map(String::as_str).collect();
    let loaded = place.load_with(&extra).unwrap();
    let total: usize = loaded.instructions.iter().map(|i| i.text.len()).sum();
    assert!(total > MAX_INSTRUCTIONS_BYTES - 200 && total < MAX_INSTRUCTIONS_BYTES + 100);
    assert_eq!(loaded.instructions.len(), 5);
    assert!(loaded.instructions[4].text.ends_with("bytes are shown]\n"));
    assert_eq!(
        notices(&loaded),
        ["instructions beyond 262144 bytes were left out"]
    );
    // A file that is asked for must be there even where it no longer fits.
    fs::remove_file(place.path("home/5.md")).unwrap();
    assert!(is_refused(place.load_with(&extra)));
}

#[test]
fn an_additional_file_must_be_there_and_no_pipe_holds_anything_up() {
    assert!(is_refused(Place::new().load_with(&["home/no.md"])));
    assert!(is_refused(Place::new().load_with(&["repo"])));
    let pipe = Place::new().fifo("repo/in/AGENTS.md");
    assert!(is_refused(pipe.load_with(&[])));
    let pipe = Place::new().fifo("home/skills/a/SKILL.md");
    assert_eq!(
        notices(&pipe.load()),
        ["the skill `a` cannot be read: not a regular file"]
    );
    let pipe = Place::new().fifo("home/agents/a.md");
    assert_eq!(pipe.profile_error(), "cannot be read: not a regular file");
}

#[test]
fn a_persons_links_are_followed_but_never_to_what_models_must_not_see() {
    let place = Place::new()
        .with("elsewhere/rules.md", "linked")
        .link("home/AGENTS.md", "elsewhere/rules.md");
    let agents = place.path("home/AGENTS.md");
    assert_eq!(texts(&place.load()), [("global AGENTS.md", "linked")]);
    let place = place
        .with("home/auth.json", "{}")
        .with("home/sessions/s.jsonl", "{}");
    for closed in ["home/auth.json", "home/sessions/s.jsonl"] {
        fs::remove_file(&agents).unwrap();
        symlink(place.path(closed), &agents).unwrap();
        assert!(is_refused(place.load_with(&[])), "{closed}");
        fs::remove_file(&agents).unwrap();
        fs::hard_link(place.path(closed), &agents).unwrap();
        assert!(is_refused(place.load_with(&[])), "{closed}");
        fs::remove_file(&agents).unwrap();
        fs::write(&agents, "").unwrap();
        assert!(is_refused(place.load_with(&[closed])), "{closed}");
    }
    fs::remove_file(&agents).unwrap();
    symlink("/proc/self/environ", &agents).unwrap();
    // Where there is no such tree the link leads nowhere.
    let exists = agents.exists();
    assert_eq!(is_refused(place.load_with(&[])), exists);
}

const PROJECT: &str = "repo/in/cwd/.magi-code";

/// A place with one secret outside of everything, and one each that is closed to models.
fn with_secrets() -> Place {
    Place::new()
        .with("outside/secret.md", skill("a", "canary", ""))
        .with("home/auth.json", skill("a", "canary", ""))
        .with("home/sessions/s.jsonl", skill("a", "canary", ""))
}

fn said(loaded: &Resources) -> String {
    let mut loaded = loaded.clone();
    loaded.notices.clear();
    format!("{loaded:?}")
}

#[test]
fn nothing_of_an_untrusted_project_leads_out_of_it() {
    let secrets = [
        "outside/secret.md",
        "home/auth.json",
        "home/sessions/s.jsonl",
    ];
    let skill_file = format!("{PROJECT}/skills/a/SKILL.md");
    let profile = format!("{PROJECT}/agents/a.md");
    for file in [
        "repo/in/cwd/AGENTS.md",
        "repo/in/AGENTS.md",
        "repo/AGENTS.md",
        &skill_file,
        &profile,
    ] {
        for secret in secrets {
            for place in [
                with_secrets().link(file, secret),
                with_secrets().hard_link(file, secret),
            ] {
                let loaded = place.load();
                assert!(!said(&loaded).contains("canary"), "{file} {secret}");
                let notice = &loaded.notices[0];
                assert_eq!(loaded.notices.len(), 1, "{file} {secret}");
                assert_eq!(notice.file.as_deref(), Some(place.path(file).as_path()));
                // Trusted, it may lie elsewhere, but never among what is closed to models.
                let trusted = place.load_as(true, &[]).unwrap();
                let is_open = secret == secrets[0];
                assert_eq!(
                    said(&trusted).contains("canary"),
                    is_open,
                    "{file} {secret}"
                );
                assert_eq!(trusted.notices.is_empty(), is_open, "{file} {secret}");
            }
        }
    }
    let folders = ["skills", "agents"].map(|folder| format!("{PROJECT}/{folder}"));
    let files = ["outside/skills/a/SKILL.md", "outside/agents/a.md"];
    for (folder, file) in folders.iter().zip(files) {
        let target = Path::new(file).components().take(2).collect::<PathBuf>();
        let place = with_secrets()
            .with(file, skill("a", "canary", ""))
            .link(folder, target.to_str().unwrap());
        let loaded = place.load();
        assert!(!said(&loaded).contains("canary"), "{folder}");
        assert_eq!(
            notices(&loaded),
            ["this is a link, so nothing below it counts"]
        );
        assert!(said(&place.load_as(true, &[]).unwrap()).contains("canary"));
    }
    // A skill's own folder may be the link.
    let place = with_secrets()
        .with("outside/a/SKILL.md", skill("a", "canary", ""))
        .link(&format!("{PROJECT}/skills/a"), "outside/a");
    assert!(place.load().skills.is_empty());
    // What stays inside is fine, but a folder of it.
    let place = with_secrets()
        .with("repo/in/cwd/docs/own.md", "own words")
        .link("repo/in/cwd/AGENTS.md", "repo/in/cwd/docs/own.md");
    assert_eq!(texts(&place.load()), [("in/cwd/AGENTS.md", "own words")]);
    // The person's own skills and profiles hold all the same.
    let place = with_secrets()
        .with("home/skills/b/SKILL.md", skill("b", "global", ""))
        .link(&skill_file, "outside/secret.md");
    assert_eq!(place.load().skills.len(), 1);
    // A link that leads nowhere stops nothing.
    let place = with_secrets().link("repo/in/cwd/AGENTS.md", "outside/none");
    assert_eq!(place.load().notices.len(), 1);
    let place = with_secrets().link("repo/in/cwd/AGENTS.md", "repo/in/cwd/AGENTS.md");
    assert_eq!(place.load().notices.len(), 1);
}

#[test]
fn instructions_that_an_untrusted_project_names_lie_in_it() {
    let place = with_secrets()
        .with("repo/in/cwd/docs/own.md", "own words")
        .with("repo/in/above.md", "canary")
        .link("repo/in/cwd/linked.md", "outside/secret.md")
        .hard_link("repo/in/cwd/named.md", "outside/secret.md");
    let named = |path: &str| place.named(path, true);
    let stray = [
        "outside/secret.md",
        "repo/in/cwd/../above.md",
        "repo/in/cwd/linked.md",
        "repo/in/cwd/named.md",
        "home/auth.json",
    ];
    let mut files: Vec<_> = stray.map(named).into();
    files.push(named("repo/in/cwd/docs/own.md"));
    let loaded = place.load_as(false, &files).unwrap();
    assert_eq!(texts(&loaded), [("in/cwd/docs/own.md", "own words")]);
    assert_eq!(loaded.notices.len(), stray.len());
    assert!(
        loaded
            .notices
            .iter()
            .all(|notice| notice.file.as_deref() == Some(Path::new("/settings.json")))
    );
    let trusted = place.load_as(true, &files[..3]).unwrap();
    assert_eq!(
        trusted.instructions.len(),
        2,
        "one file, named twice, and one"
    );
    let trusted = place.load_as(true, &files).unwrap();
    assert!(
        trusted.instructions.len() == 4 && trusted.notices.len() == 1,
        "credentials stay closed"
    );
    // What is missing was asked for by name.
    assert!(is_refused(
        place.load_as(false, &[named("repo/in/cwd/none.md")])
    ));
    // The person's own may lie anywhere.
    assert_eq!(
        place
            .load_with(&["outside/secret.md"])
            .unwrap()
            .instructions
            .len(),
        1
    );
}

#[test]
fn an_untrusted_projects_profile_gives_no_tool_back() {
    let global = "---\ntools: [read, grep]\n---\n";
    let tools = |project: &str, trusted: bool| {
        let place = Place::new()
            .with("home/agents/primary.md", global)
            .with(&format!("{PROJECT}/agents/primary.md"), project);
        let loaded = place.load_as(trusted, &[]).unwrap();
        let tools = loaded.profiles.first().map(|profile| profile.tools.clone());
        (
            tools.map(|tools| tools.map(|tools| tools.join(" "))),
            loaded.notices.len(),
        )
    };
    let some = |tools: &str| Some(Some(tools.to_owned()));
    assert_eq!(tools("---\nname:\n---\n", false), (some("read grep"), 0));
    assert_eq!(
        tools("---\ntools: [bash, grep]\n---\n", false),
        (some("grep"), 0)
    );
    assert_eq!(
        tools("---\ndisabled: true\n---\n", false),
        (some("read grep"), 1)
    );
    assert_eq!(tools("---\nname:\n---\n", true), (Some(None), 0));
    assert_eq!(
        tools("---\ntools: [bash, grep]\n---\n", true),
        (some("bash grep"), 0)
    );
    assert_eq!(tools("---\ndisabled: true\n---\n", true), (None, 0));
}

#[test]
fn a_tool_that_there_is_not_is_named_where_it_stands() {
    let place = Place::new()
        .with(
            "home/agents/a.md",
            "---\nname: a\ntools: [read, grpe]\n---\n",
        )
        .with("home/agents/b.md", "words");
    let wanted = Wanted {
        tools: &["read", "grep"],
        ..Wanted::default()
    };
    let loaded = Resources::load(&place.home, &place.path("repo/in/cwd"), wanted, &|| false);
    let Err(ResourceError::Profiles(reasons)) = loaded else {
        panic!("{loaded:?}")
    };
    let texts: Vec<_> = reasons.iter().map(ToString::to_string).collect();
    let at = |file: &str| place.path(file).display().to_string();
    assert_eq!(
        texts,
        [
            format!(
                "{}:3:1: the profile names a tool `grpe` that there is not; did you mean `grep`?",
                at("home/agents/a.md")
            ),
            format!(
                "{}:1:1: the profile has no front matter between lines of `---`",
                at("home/agents/b.md")
            ),
        ]
    );
}

fn skill(name: &str, description: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n{more}---\nbody of {description}\n")
}

#[test]
fn a_projects_skill_beats_the_global_one_and_disabling_hides_both() {
    let project = "repo/in/cwd/.magi-code/skills";
    let place = Place::new()
        .with("home/skills/both/SKILL.md", skill("both", "global", ""))
        .with("home/skills/only/SKILL.md", skill("only", "global", ""))
        .with("home/skills/gone/SKILL.md", skill("gone", "global", ""))
        .with(
            "home/skills/off/SKILL.md",
            skill("off", "global", "disabled: true\n"),
        )
        .with("home/skills/README.md", "no skill")
        .with("home/skills/.git/config", "no skill")
        .with(
            &format!("{project}/both/SKILL.md"),
            skill("both", "project", ""),
        )
        .with(
            &format!("{project}/gone/SKILL.md"),
            skill("gone", "project", "disabled: true\n"),
        );
    let loaded = place.load();
    let found = |name: &str, description: &str, directory: &str| Skill {
        name: name.to_owned(),
        description: description.to_owned(),
        body: format!("body of {description}").into(),
        directory: place.path(directory),
    };
    assert_eq!(
        loaded.skills,
        [
            found("both", "project", &format!("{project}/both")),
            found("only", "global", "home/skills/only"),
        ]
    );
    assert!(loaded.notices.is_empty(), "{:?}", loaded.notices);
}

#[test]
fn a_malformed_skill_is_left_out_with_a_notice() {
    let long = "x".repeat(MAX_DESCRIPTION_BYTES + 1);
    let cases = [
        (
            skill("b", "d", ""),
            "has a name that is not its directory's",
        ),
        (
            "no front matter".to_owned(),
            "has no front matter between lines of `---`",
        ),
        ("---\nname: a\n---\n".to_owned(), "has no description"),
        (skill("a", &long, ""), "has a description that is too long"),
        (skill("a", "[d]", ""), "has a field that should be text"),
        (
            skill("a", "d", "disabled: yes\n"),
            "has a field that should be true or false",
        ),
        (
            skill("a", "d", &"#\n".repeat(MAX_SKILL_BYTES / 2)),
            "is too long",
        ),
    ];
    for (content, reason) in cases {
        let place = Place::new()
            .with("repo/in/cwd/.magi-code/skills/a/SKILL.md", content)
            .with("home/skills/a/SKILL.md", skill("a", "global", ""));
        let loaded = place.load();
        assert_eq!(notices(&loaded), [format!("the skill `a` {reason}")]);
        // What can't be read hides nothing.
        assert_eq!(loaded.skills[0].description, "global");
    }
    let place = Place::new()
        .with("home/skills/Upper/SKILL.md", skill("Upper", "d", ""))
        .with("home/skills/empty/other.md", "")
        .with("home/skills/bytes/SKILL.md", b"---\nname: bytes\n---\n\xff");
    let loaded = place.load();
    assert_eq!(
        notices(&loaded),
        [
            "a directory of skills holds one that is no name of a skill",
            "the skill `bytes` is not UTF-8",
            "the skill `empty` is missing",
        ]
    );
    assert!(loaded.skills.is_empty());
    let fits = skill("a", &long[1..], "");
    let place = Place::new().with("home/skills/a/SKILL.md", fits);
    assert_eq!(place.load().skills[0].description, long[1..]);
}

#[test]
fn skills_and_notices_are_bounded() {
    let place = (0..MAX_SKILLS + MAX_REASONS + 2).fold(Place::new(), |place, i| {
        let name = format!("s{i:03}");
        place.with(
            &format!("home/skills/{name}/SKILL.md"),
            skill(&name, "d", ""),
        )
    });
    let place = place.with(
        "repo/in/cwd/.magi-code/skills/z/SKILL.md",
        skill("z", "the project's come first", ""),
    );
    let loaded = place.load();
    assert_eq!(loaded.skills.len(), MAX_SKILLS);
    assert_eq!(loaded.skills[MAX_SKILLS - 1].name, "z");
    let notices = notices(&loaded);
    assert_eq!(notices.len(), MAX_REASONS);
    assert_eq!(notices[0], "the skill `s127` is one too many");
    assert_eq!(notices[MAX_REASONS - 1], "there is more of this kind");
}

#[test]
fn profiles_take_their_fields_and_a_projects_beat_the_global_ones() {
    let full = "---\nname: review\ndescription: Reviews changes\ntools: [read, grep]\n\
                model: small\ncolor: red\n---\n\nLook closely.\n";
    let off = "---\ndisabled: true\ntools: 7\n---\n";
    let project = "repo/in/cwd/.magi-code/agents";
    let place = Place::new()
        .with("home/agents/reviewer.md", full)
        .with("home/agents/plain.md", "---\n# nothing\na:\n---\nglobal")
        .with("home/agents/gone.md", "---\nname:\n---\nglobal")
        .with("home/agents/off.md", off)
        .with("home/agents/notes.txt", "no profile")
        .with(
            "home/agents/old-review.md",
            "---\nname: review\ndisabled: true\n---\n",
        )
        .with(&format!("{project}/plain.md"), "---\nname:\n---\nproject")
        .with(&format!("{project}/gone.md"), off);
    let plain = Profile {
        name: "plain".to_owned(),
        description: String::new(),
        tools: None,
        model: None,
        body: "project".to_owned(),
        named: Reason {
            line: Some(1),
            column: Some(1),
            ..Reason::of_file(&place.path(&format!("{project}/plain.md")), "")
        },
        of_stranger: true,
    };
    let review = Profile {
        name: "review".to_owned(),
        description: "Reviews changes".to_owned(),
        tools: Some(vec!["read".to_owned(), "grep".to_owned()]),
        model: Some("small".to_owned()),
        body: "Look closely.".to_owned(),
        named: Reason {
            line: Some(5),
            column: Some(1),
            key: Some("model".to_owned()),
            ..Reason::of_file(&place.path("home/agents/reviewer.md"), "")
        },
        of_stranger: false,
    };
    assert_eq!(place.load().profiles, [plain, review]);
}

#[test]
fn a_profile_that_is_not_right_is_refused() {
    let error = |content: &str| {
        let place = Place::new().with("home/agents/a.md", content);
        place.profile_error()
    };
    let header = |yaml: &str| error(&format!("---\n{yaml}\n---\n"));
    assert_eq!(error("words"), "has no front matter between lines of `---`");
    assert_eq!(header("a: ["), "has a front matter that is not valid YAML");
    assert_eq!(header("name: A b"), "has a name beyond `[a-z0-9-]{1,64}`");
    assert_eq!(
        header("tools: read"),
        "has a field that should be a list of texts"
    );
    assert_eq!(header("model: [m]"), "has a field that should be text");
    let model = format!("model: {}", "m".repeat(MAX_NAME_BYTES_PLUS_ONE));
    assert_eq!(header(&model), "names a model that is too long");
    assert_eq!(
        header("disabled: 1"),
        "has a field that should be true or false"
    );
    assert_eq!(error(&"x".repeat(MAX_PROFILE_BYTES + 1)), "is too long");
    let place = Place::new()
        .with("home/agents/a.md", "---\nname: same\n---\n")
        .with("home/agents/b.md", "---\nname: same\n---\n");
    assert_eq!(place.profile_error(), "has the name of another");
    let place = Place::new().with("home/agents/Loud.md", "---\nname:\n---\n");
    assert_eq!(place.profile_error(), "has a name beyond `[a-z0-9-]{1,64}`");
    let place = Place::new().with("home/agents", "a file in the way");
    let error = place.profile_error();
    assert!(
        error.starts_with("this directory of profiles cannot be read"),
        "{error}"
    );
    let place = (0..=MAX_PROFILES).fold(Place::new(), |place, i| {
        place.with(&format!("home/agents/p{i}.md"), "---\nname:\n---\n")
    });
    assert_eq!(place.profile_error(), "is one too many");
}

const MAX_NAME_BYTES_PLUS_ONE: usize = crate::settings::MAX_NAME_BYTES + 1;

#[test]
fn a_cancelled_reading_stops_before_the_next_file() {
    let place = Place::new()
        .with("home/AGENTS.md", "a")
        .with("home/skills/a/SKILL.md", skill("a", "d", ""))
        .with("home/agents/a.md", "---\nname:\n---\n");
    let asked = Cell::new(0);
    let load = |limit: usize| {
        asked.set(0);
        Resources::load(
            &place.home,
            &place.path("repo/in/cwd"),
            Wanted::default(),
            &|| {
                asked.set(asked.get() + 1);
                asked.get() > limit
            },
        )
    };
    assert!(load(usize::MAX).is_ok());
    let all = asked.get();
    assert!(all > 8, "{all}");
    for limit in 0..all {
        assert!(matches!(load(limit), Err(ResourceError::Cancelled)));
        assert_eq!(asked.get(), limit + 1);
    }
}

#[test]
fn nothing_of_a_trusted_project_leads_to_credentials_of_other_programs() {
    let skill = "---\nname: a\ndescription: d\n---\n";
    for target in [
        "person/.ssh/id",
        "person/.netrc",
        "else/.aws/x",
        "else/id_rsa",
    ] {
        for hard in [false, true] {
            // A second name tells nothing of a place that is not the person's.
            if hard && target.starts_with("else") {
                continue;
            }
            for file in [
                "repo/AGENTS.md",
                "repo/in/cwd/.magi-code/skills/a/SKILL.md",
                "repo/in/cwd/.magi-code/agents/a.md",
                "repo/in/cwd/named.md",
            ] {
                let place = Place::new().with(target, skill);
                let place = match hard {
                    true => place.hard_link(file, target),
                    false => place.link(file, target),
                };
                let named = [place.named("repo/in/cwd/named.md", true)];
                let named = &named[..usize::from(file.ends_with("named.md"))];
                let user_home = place.path("person");
                let wanted = Wanted {
                    trusted: true,
                    user_home: Some(&user_home),
                    instructions: named,
                    ..Wanted::default()
                };
                let cwd = place.path("repo/in/cwd");
                let found = Resources::load(&place.home, &cwd, wanted, &|| false).unwrap();
                let left = (found.instructions, found.skills, found.profiles);
                assert_eq!(left, (vec![], vec![], vec![]), "{file} {target}");
                assert_eq!(found.notices.len(), 1, "{file} {target}");
                assert!(found.notices[0].reason.contains("credentials"));
            }
        }
    }
    // By its path, and the person's own may.
    let place = Place::new().with("person/.netrc", "words");
    let user_home = place.path("person");
    for (of_project, read) in [(true, 0), (false, 1)] {
        let named = [place.named("person/.netrc", of_project)];
        let wanted = Wanted {
            trusted: true,
            user_home: Some(&user_home),
            instructions: &named,
            ..Wanted::default()
        };
        let cwd = place.path("repo/in/cwd");
        let found = Resources::load(&place.home, &cwd, wanted, &|| false).unwrap();
        assert_eq!(found.instructions.len(), read);
        assert_eq!(found.notices.len(), 1 - read);
    }
}

#[test]
fn a_misspelt_guard_of_a_front_matter_is_a_problem_and_a_stranger_a_notice() {
    for member in ["tols: [read]", "Tools: [read]", "disbled: true"] {
        let place = Place::new().with("home/agents/a.md", format!("---\n{member}\n---\n"));
        let Err(ResourceError::Profiles(reasons)) = place.load_with(&[]) else {
            panic!("{member}")
        };
        assert_eq!((reasons.len(), reasons[0].line), (1, Some(2)));
        assert!(reasons[0].reason.contains("did you mean"), "{member}");
    }
    let skill = |member: &str| {
        let text = format!("---\nname: a\ndescription: d\n{member}\n---\n");
        let found = Place::new().with("home/skills/a/SKILL.md", text).load();
        (found.skills.len(), found.notices.len())
    };
    assert_eq!(skill("disbled: true"), (0, 1));
    assert_eq!(skill("colour: red"), (1, 1));
    assert_eq!(skill("license: MIT"), (1, 0));
    let found = Place::new()
        .with("home/agents/a.md", "---\ncolour: red\n---\n")
        .load();
    assert_eq!((found.profiles.len(), found.notices.len()), (1, 1));
    assert!(found.notices[0].reason.contains("unknown member `colour`"));
}
