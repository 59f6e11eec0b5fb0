//! `edit`: replaces one exact piece of a file, or every such piece.
//! Works on bytes, so that everything else in the file stays as it is, whatever its encoding.

use std::fs::File;
use std::io::Read;

use memchr::memmem::Finder;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::bounds::{EDIT_BYTES, WRITE_BYTES, Watch, counted};
use crate::error::ToolError;
use crate::file_tool::{FileTool, Touches};
use crate::lines::{only_crlf, size, with_crlf};
use crate::read::BOM;
use crate::replace::Slot;
use crate::tool::Success;
use crate::workspace::Scope;

mod excerpt;
mod hint;

const TOOL: FileTool<Input> = FileTool {
    name: "edit",
    description: "Replaces an exact piece of a file: old must stand in it exactly once, with all whitespace, \
        unless all is true. Give enough lines around the change to make old unique, and leave out the line \
        numbers that read shows. Where a file ends its lines with CRLF, write plain line ends. Takes files \
        up to 16 MiB.",
    advice: "Change existing files with `edit`: its old text must match exactly and only once. Use `write` for new files.",
    touches: Touches::Writes,
    run,
};

crate::register! {
    name: TOOL.name,
    position: 30,
    make: |_| Some(Arc::new(TOOL)),
}

/// Places that one call replaces: bounds the memory for them.
const MAX_PLACES: usize = 1_000_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file, relative to the workspace or absolute.
    path: String,
    /// The text to replace, exactly as it stands in the file.
    old: String,
    /// The text to put there.
    new: String,
    /// Replace every occurrence of old. Default false.
    all: Option<bool>,
}

fn run(mut input: Input, scope: &Scope, watch: &Watch) -> Result<Success, ToolError> {
    check(&input)?;
    let path = scope.resolve_for_writing(&input.path)?;
    let slot = Slot::existing(scope, path)?;
    let shown = scope.shown(slot.path());
    // The old file stays open to the end: its identity can't be given to another one meanwhile.
    let Some((file, stamp)) = slot.open()? else {
        return Err(ToolError::Missing(shown));
    };
    let whole = read(&file, &shown, watch)?;
    // No model sees the mark, and it stays.
    let (mark, before) = match whole.strip_prefix(BOM) {
        Some(text) => {
            for text in [&mut input.old, &mut input.new] {
                *text = text.trim_start_matches('\u{feff}').to_owned();
            }
            check(&input)?;
            (BOM, text)
        }
        None => (&[][..], &whole[..]),
    };
    let edit = Edit::find(before, &input, watch)?;
    let after = edit.apply(before, &shown, watch)?;
    slot.replace(&[mark, &after], Some(stamp), watch)?;

    let count = counted(edit.at.len() as u64, "replacement", "replacements");
    let mut content = format!("edited {shown}: {count}, now {}\n", size(&[mark, &after]));
    if edit.crlf {
        content += "[its lines still end with CRLF]\n";
    }
    content += &excerpt::around(&after, edit.at[0], edit.new.len());
    if edit.at.len() > 1 {
        let lines = excerpt::line_numbers(before, &edit.at);
        content += &format!("[that is the first; the others were at {lines}]\n");
    }
    Ok(Success::text(content, count))
}

fn check(input: &Input) -> Result<(), ToolError> {
    if input.old.is_empty() {
        return Err(ToolError::Input(
            "old must not be empty; use write to create a file".to_owned(),
        ));
    }
    if input.old == input.new {
        return Err(ToolError::Input("old and new are the same".to_owned()));
    }
    for (member, text) in [("old", &input.old), ("new", &input.new)] {
        if text.len() > WRITE_BYTES {
            return Err(ToolError::TooLong {
                what: member.to_owned(),
                limit: WRITE_BYTES,
            });
        }
    }
    Ok(())
}

fn read(file: &File, shown: &str, watch: &Watch) -> Result<Vec<u8>, ToolError> {
    let mut bytes = Vec::new();
    let mut rest = file.take(EDIT_BYTES as u64 + 1);
    loop {
        watch.check_now()?;
        let got = rest
            .by_ref()
            .take(1024 * 1024)
            .read_to_end(&mut bytes)
            .map_err(|error| ToolError::io(&error, shown))?;
        if bytes.len() > EDIT_BYTES {
            return Err(too_long(shown));
        }
        if got == 0 {
            return Ok(bytes);
        }
    }
}

fn too_long(shown: &str) -> ToolError {
    ToolError::TooLong {
        what: shown.to_owned(),
        limit: EDIT_BYTES,
    }
}

/// The pieces to replace, found.
#[derive(Debug)]
struct Edit {
    /// Where they begin; at least one, ascending, none over another.
    at: Vec<usize>,
    /// Bytes of each.
    length: usize,
    new: Vec<u8>,
    /// Line ends of the input were taken for CRLF.
    crlf: bool,
}

impl Edit {
    fn find(before: &[u8], input: &Input, watch: &Watch) -> Result<Self, ToolError> {
        // `read` shows no carriage returns, so a model can't know of them.
        let may_convert =
            !input.old.contains('\r') && memchr::memmem::find(before, b"\r\n").is_some();
        if may_convert && only_crlf(before) {
            return Self::search(before, input, true, watch);
        }
        match Self::search(before, input, false, watch) {
            // Both kinds of line ends in one file: the piece may lie where the other kind is.
            Err(ToolError::NoMatch(_)) if may_convert && input.old.contains('\n') => {
                Self::search(before, input, true, watch)
            }
            result => result,
        }
    }

    /// `crlf`: with the input's line ends taken for CRLF.
    fn search(before: &[u8], input: &Input, crlf: bool, watch: &Watch) -> Result<Self, ToolError> {
        let bytes = |text: &str| match crlf {
            true => with_crlf(text.as_bytes()),
            false => text.as_bytes().to_vec(),
        };
        let (old, new) = (bytes(&input.old), bytes(&input.new));
        let crlf = crlf && (old.contains(&b'\n') || new.contains(&b'\n'));
        let all = input.all == Some(true);
        let most = if all { MAX_PLACES } else { excerpt::PLACES };
        let finder = Finder::new(&old);
        let (mut at, mut count) = (Vec::new(), 0_u64);
        for place in finder.find_iter(before) {
            watch.check()?;
            count += 1;
            if at.len() < most {
                at.push(place);
            } else if all {
                return Err(ToolError::SeveralMatches(format!(
                    "old stands in the file more than {MAX_PLACES} times; nothing was done"
                )));
            }
        }
        let Some(&first) = at.first() else {
            let hint = hint::no_match(before, &input.old, watch)?;
            return Err(ToolError::NoMatch(format!(
                "old does not stand in the file; nothing was done. {hint}"
            )));
        };
        // One that lies partly over the first counts as well: which is meant would be a guess.
        if let (false, 1, Some(second)) = (all, count, finder.find(&before[first + 1..])) {
            (count, at) = (2, vec![first, first + 1 + second]);
        }
        if all || count == 1 {
            return Ok(Self {
                at,
                length: old.len(),
                new,
                crlf,
            });
        }
        let mut lines = excerpt::line_numbers(before, &at);
        if count > at.len() as u64 {
            lines += ", …";
        }
        Err(ToolError::SeveralMatches(format!(
            "old stands in the file {count} times, at {lines}; nothing was done. Give more of the lines around \
             the one that is meant, or set all to true to replace each"
        )))
    }

    fn apply(&self, before: &[u8], shown: &str, watch: &Watch) -> Result<Vec<u8>, ToolError> {
        // Cannot overflow: there are at most a million pieces of at most 16 MiB.
        let kept = before.len() - self.at.len() * self.length;
        let length = kept as u64 + self.at.len() as u64 * self.new.len() as u64;
        if length > EDIT_BYTES as u64 {
            return Err(too_long(shown));
        }
        let mut after = Vec::with_capacity(usize::try_from(length).unwrap_or(EDIT_BYTES));
        let mut done = 0;
        for at in &self.at {
            watch.check()?;
            after.extend_from_slice(&before[done..*at]);
            after.extend_from_slice(&self.new);
            done = at + self.length;
        }
        after.extend_from_slice(&before[done..]);
        Ok(after)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn edited(before: &[u8], old: &str, new: &str, all: bool) -> Result<Vec<u8>, ToolError> {
        let watch = Watch::new(work::Deadline::after(Duration::from_secs(60)));
        let input = Input {
            path: String::new(),
            old: old.to_owned(),
            new: new.to_owned(),
            all: Some(all),
        };
        check(&input)?;
        Edit::find(before, &input, &watch)?.apply(before, "file", &watch)
    }

    /// Few letters, so that pieces repeat and overlap.
    const TEXT: &str = "[ab\n ]{0,24}";

    proptest! {
        #[test]
        fn all_is_what_replacing_is(before in TEXT, old in "[ab\n ]{1,3}", new in TEXT) {
            prop_assume!(old != new);
            match edited(before.as_bytes(), &old, &new, true) {
                Ok(after) => {
                    prop_assert!(before.contains(&old));
                    prop_assert_eq!(after, before.replace(&old, &new).into_bytes());
                }
                Err(error) => {
                    prop_assert!(matches!(error, ToolError::NoMatch(_)), "{}", error);
                    prop_assert!(!before.contains(&old));
                }
            }
        }

        #[test]
        fn one_means_one_place(before in TEXT, old in "[ab\n ]{1,3}", new in TEXT) {
            prop_assume!(old != new);
            let places = (0..before.len()).filter(|at| before[*at..].starts_with(&old)).count();
            match edited(before.as_bytes(), &old, &new, false) {
                Ok(after) => {
                    prop_assert_eq!(places, 1);
                    prop_assert_eq!(after, before.replacen(&old, &new, 1).into_bytes());
                }
                Err(ToolError::NoMatch(_)) => prop_assert_eq!(places, 0),
                Err(ToolError::SeveralMatches(words)) => {
                    prop_assert!(places > 1 && words.contains(" times, at line"), "{}", words);
                }
                Err(error) => prop_assert!(false, "{}", error),
            }
        }

        #[test]
        fn every_other_byte_stays(
            head in proptest::collection::vec(any::<u8>(), 0..200),
            tail in proptest::collection::vec(any::<u8>(), 0..200),
            new in "[x-z]{0,20}",
        ) {
            // No byte of it can stand in what is around it more than once by chance.
            let old = "§only here§";
            let whole = [&head, old.as_bytes(), &tail].concat();
            prop_assume!(memchr::memmem::find_iter(&whole, old).count() == 1);
            let after = edited(&whole, old, &new, false).unwrap();
            prop_assert_eq!(after, [&head, new.as_bytes(), &tail].concat());
        }

        #[test]
        fn a_crlf_file_stays_one(lines in proptest::collection::vec("[a-c]{0,4}", 1..8), new in "[a-c\n]{0,9}") {
            let text = lines.join("\n") + "\n";
            let before = text.replace('\n', "\r\n");
            for old in lines.iter().filter(|line| !line.is_empty() && **line != new) {
                let plain = edited(text.as_bytes(), old, &new, true).unwrap();
                let after = edited(before.as_bytes(), old, &new, true).unwrap();
                prop_assert!(only_crlf(&after));
                let plain = String::from_utf8(plain).unwrap().replace('\n', "\r\n");
                prop_assert_eq!(after, plain.into_bytes());
            }
        }
    }

    #[test]
    fn a_result_above_the_limit_is_refused_before_it_is_made() {
        let before = vec![b'a'; 1000];
        let error = edited(&before, "a", &"b".repeat(1024 * 1024), true).unwrap_err();
        assert!(matches!(error, ToolError::TooLong { .. }), "{error}");
    }

    #[test]
    fn the_places_are_bounded() {
        let mut before = vec![b'a'; MAX_PLACES];
        assert_eq!(edited(&before, "a", "", true).unwrap(), b"");
        before.push(b'a');
        let error = edited(&before, "a", "", true).unwrap_err();
        assert!(error.to_string().contains("more than 1000000"), "{error}");
    }

    #[test]
    fn pieces_over_each_other_are_several() {
        let error = edited(b"\naba ba aaa", "aa", "b", false).unwrap_err();
        assert!(
            error.to_string().contains("2 times, at lines 2, 2;"),
            "{error}"
        );
    }

    #[test]
    fn a_file_of_both_kinds_of_line_ends_is_edited_where_the_piece_is() {
        let before = b"a\nb\r\nc\r\nd\n";
        assert_eq!(
            edited(before, "a\nb", "x\ny", false).unwrap(),
            b"x\ny\r\nc\r\nd\n"
        );
        assert_eq!(
            edited(before, "b\nc", "x\ny", false).unwrap(),
            b"a\nx\r\ny\r\nd\n"
        );
    }
}
