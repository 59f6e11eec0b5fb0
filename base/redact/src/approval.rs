//! What a person reads before a call runs: one line that hides nothing of what will run, within any bound.
//! Which characters a mask may cover is decided in `masks`; who is asked, and whether, above.

use std::fmt::Write;

use super::display::{is_blank, is_seen};
use super::masks::Mask;
use super::{MASK, Reading, Redacted, Redactor};

/// Room of what says that an action is about something longer than is shown.
const LEAD_BYTES: usize = 64;

impl Redactor {
    /// The question about one call, of at most `bytes` (256 at least): `action` is what is done, in our own words,
    /// `subject` on what, in the model's: a command, a path, a pattern, an input; `reading` says which.
    ///
    /// No mask covers what might run: each covers one literal run of characters (see `masks`), and one over a whole
    /// known secret says its kind and length. Nothing is left out silently: but for a single blank between words, blanks
    /// and line ends become `␣×N` and `⏎`, in their order; what nobody sees becomes its number, `\u{200b}`, and so does a
    /// sign that would look like one of these marks: two commands without masks never look the same. What is too long loses its middle; the line then says how many bytes were left out and how long the
    /// subject is.
    pub fn question(
        &self,
        action: &str,
        subject: &str,
        reading: Reading,
        bytes: usize,
    ) -> Redacted {
        let action = self.spelled(action, Reading::Words);
        let shown = self.spelled(subject, reading);
        if shown.is_empty() {
            return Redacted(clip(&action, bytes).to_owned());
        }
        let whole = format!("{action}: {shown}");
        if whole.len() <= bytes {
            return Redacted(whole);
        }
        let head = format!("{}, {} bytes: ", clip(&action, LEAD_BYTES), subject.len());
        // Room for the longest number.
        let room = bytes.saturating_sub(head.len() + omission(usize::MAX).len());
        let begin = clip(&shown, room - room / 3);
        let end = &shown[shown.ceil_char_boundary(shown.len() - (room / 3).min(shown.len()))..];
        let left_out = shown.len() - begin.len() - end.len();
        Redacted(format!("{head}{begin}{}{end}", omission(left_out)))
    }

    /// The text as one line in which everything is seen but what is masked.
    fn spelled(&self, text: &str, reading: Reading) -> String {
        // What hides within a secret hides no secret.
        let plain: String = text.chars().filter(|c| is_seen(*c)).collect();
        let masks: Vec<Mask> = self.masks(&plain, reading);
        let mut masks = masks.iter().peekable();
        let mut out = String::with_capacity(text.len());
        // The run of blanks that was read last.
        let mut blanks = String::new();
        let mut at = 0;
        for c in text.chars() {
            if !is_seen(c) {
                tell(&mut blanks, &mut out, false);
                out.extend(c.escape_unicode());
                continue;
            }
            while masks.next_if(|mask| mask.range.end <= at).is_some() {}
            match masks.peek() {
                Some(mask) if mask.range.start == at => {
                    tell(&mut blanks, &mut out, false);
                    out.push_str(&mask.label);
                }
                Some(mask) if mask.range.contains(&at) => {}
                _ if is_blank(c) => blanks.push(c),
                _ => {
                    tell(&mut blanks, &mut out, false);
                    // Our own marks must be ours.
                    let marks = [&MASK[..MASK.len() - 1], "\\u{"];
                    let forged = marks.iter().any(|mark| plain[at..].starts_with(mark));
                    match forged || matches!(c, '⏎' | '␣' | '⇥' | '…') {
                        true => out.extend(c.escape_unicode()),
                        false => out.push(c),
                    }
                }
            }
            at += c.len_utf8();
        }
        tell(&mut blanks, &mut out, true);
        out
    }
}

fn omission(left_out: usize) -> String {
    format!(" […{left_out} bytes left out…] ")
}

fn clip(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// A run of blanks, tabs and line ends is over, perhaps as the text is: says what it was.
fn tell(run: &mut String, out: &mut String, ends: bool) {
    let blanks = std::mem::take(run);
    let within = !out.is_empty();
    if blanks.is_empty() || blanks == " " && within && !ends {
        return out.push_str(&blanks);
    }
    out.push_str(if within { " " } else { "" });
    for same in blanks.as_bytes().chunk_by(|a, b| a == b) {
        out.push(match same[0] {
            b'\n' => '⏎',
            b'\t' => '⇥',
            _ => '␣',
        });
        if same.len() > 1 {
            // Writing to a string can't fail.
            _ = write!(out, "×{}", same.len());
        }
    }
    out.push_str(if ends { "" } else { " " });
}
