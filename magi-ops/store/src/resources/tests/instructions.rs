//! Tests of instructions: their order, their bounds, and which files may stand for them.
//! On a real disk, within a temporary directory.

use super::*;

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
    let text = place.load().resources.instructions.remove(0).text;
    let expected = "é".repeat(MAX_INSTRUCTION_BYTES / 2);
    assert_eq!(text, format!("{expected}\n{notice}"));
    let place = place.with("repo/AGENTS.md", vec![0xff; MAX_INSTRUCTION_BYTES]);
    let text = place.load().resources.instructions.remove(0).text;
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
