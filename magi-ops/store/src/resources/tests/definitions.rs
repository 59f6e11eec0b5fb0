//! Tests of skills and profiles: precedence, disabling, bounds, what is malformed.
//! On a real disk, within a temporary directory.

use super::*;

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
    let loaded = place.read(wanted, &|| false);
    let Err(ResourceError::Profiles(reasons)) = loaded else {
        panic!("{loaded:?}")
    };
    let texts: Vec<_> = reasons.iter().map(ToString::to_string).collect();
    let at = |file: &str| place.path(file).display().to_string();
    assert_eq!(
        texts,
        [
            format!(
                "{}:3:1: the profile names a tool `grpe` that there is not; did you mean `grep`?; use some of `read`, `grep`",
                at("home/agents/a.md")
            ),
            format!(
                "{}:1:1: the profile has no front matter between lines of `---`; begin the file with a line of `---`, its members, and another such line",
                at("home/agents/b.md")
            ),
        ]
    );
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
