//! What a person says to the chat itself: a line that begins with `/` and a word.
//! Does nothing.

pub(super) const HELP: &str = "\
/model [PROVIDER/]MODEL   another model, for this chat
/status                   what answers, the session, tokens
/export [FILE]            what was said, as Markdown
/help                     this
Alt-Enter, or a backslash at the end of the line: another line.  @ and Tab: a file's name.
Ctrl-C: cancels a turn, twice leaves.  Ctrl-D: leaves.  A line that begins with a blank is never a command.";

const NAMES: [&str; 4] = ["/model", "/status", "/export", "/help"];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Slash {
    /// Without a name: which one answers.
    Model(Option<String>),
    Status,
    Export(Option<String>),
    Help,
}

/// Names for completion.
pub(super) fn names() -> &'static [&'static str] {
    &NAMES
}

/// The command of a line; `None` for a prompt. A path is one: `/usr/bin holds what?`
///
/// # Errors
/// What is wrong with it, for a person.
pub(super) fn read(line: &str) -> Result<Option<Slash>, String> {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let is_word = |name: &str| {
        name.bytes()
            .all(|b| b.is_ascii_alphabetic() || b == b'-' || b == b'?')
    };
    if !name.strip_prefix('/').is_some_and(is_word) {
        return Ok(None);
    }
    let rest = rest.trim();
    let argument = (!rest.is_empty()).then(|| rest.to_owned());
    Ok(Some(match name {
        "/model" => Slash::Model(argument),
        "/export" => Slash::Export(argument),
        "/status" if argument.is_none() => Slash::Status,
        "/help" | "/?" if argument.is_none() => Slash::Help,
        "/status" | "/help" | "/?" => return Err(format!("`{name}` takes nothing behind it")),
        _ => {
            let begins = |known: &&&str| name.len() > 1 && known.starts_with(name);
            let is_near = |known: &&&str| strsim::damerau_levenshtein(known, name) <= 2;
            let near = NAMES
                .iter()
                .find(begins)
                .or_else(|| NAMES.iter().find(is_near));
            let meant = near.map(|near| format!("; did you mean `{near}`?"));
            let meant = meant.unwrap_or_else(|| ";".to_owned());
            return Err(format!(
                "there is no `{name}`{meant} `/help` says what there is"
            ));
        }
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_prompts() {
        let own = |text: &str| Some(text.to_owned());
        for (line, slash) in [
            ("/help", Some(Slash::Help)),
            ("/model own/m x", Some(Slash::Model(own("own/m x")))),
            ("/model", Some(Slash::Model(None))),
            ("/export  notes.md ", Some(Slash::Export(own("notes.md")))),
            ("/status\n", Some(Slash::Status)),
            ("hello /help", None),
            (" /help", None),
            ("/usr/bin holds what?", None),
            ("/etc.d", None),
            ("", None),
        ] {
            assert_eq!(read(line).unwrap(), slash, "{line}");
        }
    }

    #[test]
    fn a_near_miss_is_named() {
        for (line, near) in [
            ("/modle x", "/model"),
            ("/stat", "/status"),
            ("/hepl", "/help"),
        ] {
            let why = read(line).unwrap_err();
            assert!(why.contains(&format!("did you mean `{near}`?")), "{why}");
        }
        let why = read("/zzzzzz").unwrap_err();
        assert_eq!(why, "there is no `/zzzzzz`; `/help` says what there is");
        assert!(read("/help me").unwrap_err().contains("nothing behind it"));
    }
}
