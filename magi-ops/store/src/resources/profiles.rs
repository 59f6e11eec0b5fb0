//! Profiles of the primary agent and of subagents: `agents/<name>.md` of the home directory and of the project.
//! Whether the tools and the model that they name exist is decided above.

use std::collections::BTreeMap;
use std::path::Path;

use super::front_matter::{Document, Fault};
use super::reader::{Left, Owner, Reader};
use super::{MAX_DESCRIPTION_BYTES, ResourceError, Scopes, faulty, ignored, is_name, unknown};
use crate::file::RELINK;
use crate::reason::{Reason, Reasons, did_you_mean, listed, near_miss, shown};
use crate::settings::{MAX_NAME_BYTES, is_of_server};

/// Longest profile, in bytes.
pub const MAX_PROFILE_BYTES: usize = 64 * 1024;
/// Most profiles of one directory.
pub const MAX_PROFILES: usize = 64;
/// What a subagent without a profile is told by: one of this name would look like it.
const UNNAMED: &str = "default";
/// What a front matter may hold.
const MEMBERS: [&str; 5] = ["name", "description", "tools", "model", "disabled"];
/// Most tools of one profile.
const MAX_TOOLS: usize = 256;

/// One enabled profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// 1 to 64 of `[a-z0-9-]`; the file's name where the profile says none.
    pub name: String,
    /// At most [`MAX_DESCRIPTION_BYTES`]; empty where the profile says none.
    pub description: String,
    /// The tools that such an agent may use; `None` are all.
    pub tools: Option<Vec<String>>,
    /// The model that it uses, at most [`MAX_NAME_BYTES`]; `None` is the selected one.
    pub model: Option<String>,
    /// What it is told.
    pub body: String,
    /// Where its model is named, or the profile itself, for what is said of it.
    pub named: Reason,
    /// Whether it is a project's that is not trusted: its model is one of what the settings offer.
    pub of_stranger: bool,
}

/// By name, with the place that names its tools; `None` is one that is disabled.
type Found = BTreeMap<String, Option<(Profile, Reason)>>;

pub(super) fn load(
    reader: &Reader<'_>,
    scopes: &Scopes<'_>,
    tools: &[&str],
    notices: &mut Reasons,
) -> Result<Vec<Profile>, ResourceError> {
    let mut problems = Reasons::default();
    let mut read = |directory: &Path, owner, notices: &mut Reasons| {
        directory_of(reader, directory, owner, tools, notices, &mut problems)
    };
    let mut all = read(&scopes.global.join("agents"), Owner::Person, notices)?;
    if let Some(directory) = scopes.of_project("agents", notices) {
        let own = read(&directory, scopes.owner, notices)?;
        let is_trusted = !matches!(scopes.owner, Owner::Stranger(_));
        for (name, profile) in own {
            let global = all.get(&name).and_then(Option::as_ref);
            let restricted = global.and_then(|(global, _)| global.tools.clone());
            let profile = match (restricted, profile) {
                // The person's own profile keeps such an agent from tools: a stranger's must not give them back.
                (Some(_), None) if !is_trusted => {
                    let path = directory.join(format!("{name}.md"));
                    let why = "a project that is not trusted cannot disable a profile that restricts tools";
                    notices.add(ignored(&path, why, scopes.owner));
                    continue;
                }
                (Some(restricted), Some((profile, named))) if !is_trusted => {
                    let profile = restrict(profile, named.clone(), restricted, notices);
                    Some((profile, named))
                }
                // A project's profile that is disabled hides the global one.
                (_, profile) => profile,
            };
            all.insert(name, profile);
        }
    }
    if !problems.is_empty() {
        return Err(ResourceError::Profiles(problems.into_vec()));
    }
    Ok(all
        .into_values()
        .flatten()
        .map(|(profile, _)| profile)
        .collect())
}

/// The profile of a project that is not trusted, with no tool that the person's own of its name leaves out. `named` is
/// where it names its tools.
fn restrict(profile: Profile, named: Reason, own: Vec<String>, notices: &mut Reasons) -> Profile {
    let Some(wanted) = profile.tools else {
        return Profile {
            tools: Some(own),
            ..profile
        };
    };
    let (tools, left_out): (Vec<_>, Vec<_>) =
        wanted.into_iter().partition(|tool| own.contains(tool));
    if !left_out.is_empty() {
        let why = "your own profile of this name leaves out, and a project that is not trusted does not give back";
        notices.add(Reason {
            reason: format!("{why}, {}", listed(&left_out)),
            ..named.help(super::TRUST)
        });
    }
    Profile {
        tools: Some(tools),
        ..profile
    }
}

fn directory_of(
    reader: &Reader<'_>,
    directory: &Path,
    owner: Owner<'_>,
    tools: &[&str],
    notices: &mut Reasons,
    problems: &mut Reasons,
) -> Result<Found, ResourceError> {
    let mut found = Found::new();
    let mut invalid = |path: &Path, fault: Fault| problems.add(faulty(path, "the profile", fault));
    let listing = match reader.names(directory)? {
        Ok(listing) => listing,
        Err(error) => {
            let why = format!("this directory of profiles cannot be read: {error}");
            problems.add(Reason::of_file(directory, why).help(super::READABLE));
            return Ok(found);
        }
    };
    let mut count = 0;
    for name in &listing.names {
        let path = directory.join(name);
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        if is_hidden || path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        count += 1;
        if count > MAX_PROFILES {
            let help = format!("keep at most {MAX_PROFILES} in a directory");
            invalid(&path, Fault::new("is one too many").help(help));
            break;
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        // It was there a moment ago.
        let missing = || match path.is_symlink() {
            true => Fault::new("is a link that cannot be followed").help(RELINK),
            false => Fault::new("is missing"),
        };
        let text = reader.text(&path, MAX_PROFILE_BYTES, owner, missing);
        let parsed = text.and_then(|text| Ok(parse(&text, &stem, tools, &path, notices)?));
        let (name, mut profile) = match parsed {
            Ok(parsed) => parsed,
            Err(Left::Stopped(error)) => return Err(error),
            Err(Left::Ignored(why)) => {
                notices.add(ignored(&path, why, owner));
                continue;
            }
            Err(Left::Faulty(fault)) => {
                invalid(&path, fault);
                continue;
            }
        };
        if let Some((profile, _)) = &mut profile {
            profile.of_stranger = matches!(owner, Owner::Stranger(_));
        }
        match (found.get_mut(&name), profile) {
            (Some(Some(_)), Some(_)) => invalid(
                &path,
                Fault::new("has the name of another").help("rename one of the two"),
            ),
            // A disabled one beside it is no collision.
            (Some(_), None) => {}
            (Some(slot), profile) => *slot = profile,
            (None, profile) => {
                found.insert(name, profile);
            }
        }
    }
    if listing.more {
        let why = "this directory of profiles has too many entries";
        problems.add(Reason::of_file(directory, why).help("keep profiles alone in it"));
    }
    Ok(found)
}

fn parse(
    text: &str,
    stem: &str,
    known: &[&str],
    path: &Path,
    notices: &mut Reasons,
) -> Result<(String, Option<(Profile, Reason)>), Fault> {
    let document = Document::parse(text)?;
    let at = |key: &str, reason: &str, help: String| {
        Err(Fault::at(document.place(key), reason).help(help))
    };
    let shorten = |most: usize| format!("shorten it to {most} bytes");
    let name = document.text("name")?.unwrap_or(stem);
    if !is_name(name) {
        let help = "use 1 to 64 of a-z, 0-9 and `-`, also for the file where no name is said";
        return at(
            "name",
            "has a name beyond `[a-z0-9-]{1,64}`",
            help.to_owned(),
        );
    }
    if name == UNNAMED {
        let help = "give it another name: a task without a profile is told by this one".to_owned();
        return at("name", "has the name `default`, which is taken", help);
    }
    if document.flag("disabled")? {
        return Ok((name.to_owned(), None));
    }
    for member in document.unknown(&MEMBERS, &["tools", "disabled"])? {
        notices.add(unknown(member, path));
    }
    let description = document.text("description")?.unwrap_or_default();
    if description.len() > MAX_DESCRIPTION_BYTES {
        let help = shorten(MAX_DESCRIPTION_BYTES);
        return at("description", "has a description that is too long", help);
    }
    let model = document.text("model")?;
    if model.is_some_and(|model| model.len() > MAX_NAME_BYTES) {
        return at(
            "model",
            "names a model that is too long",
            shorten(MAX_NAME_BYTES),
        );
    }
    let tools = document.list("tools")?;
    if tools.is_some_and(|tools| tools.len() > MAX_TOOLS) {
        return at(
            "tools",
            "names too many tools",
            format!("name at most {MAX_TOOLS}"),
        );
    }
    let is_known =
        |tool: &String| known.is_empty() || known.contains(&tool.as_str()) || is_of_server(tool);
    if let Some(tool) = tools
        .unwrap_or_default()
        .iter()
        .find(|tool| !is_known(tool))
    {
        let meant = did_you_mean(near_miss(tool, known.iter().copied()));
        let reason = format!("names a tool `{}` that there is not{meant}", shown(tool));
        return at("tools", &reason, format!("use some of {}", listed(known)));
    }
    let named = |member: &str, is_said: bool| {
        let (line, column) = document.place(member);
        Reason {
            line: Some(line),
            column: Some(column),
            key: is_said.then(|| member.to_owned()),
            ..Reason::of_file(path, String::new())
        }
    };
    let profile = Profile {
        name: name.to_owned(),
        description: description.to_owned(),
        tools: tools.map(<[String]>::to_vec),
        model: model.map(str::to_owned),
        body: document.body.to_owned(),
        named: named("model", model.is_some()),
        of_stranger: false,
    };
    let of_tools = named("tools", tools.is_some());
    Ok((name.to_owned(), Some((profile, of_tools))))
}
