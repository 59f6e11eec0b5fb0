//! A third party's operations: one echo for each dialect, linked beside the families of this repository.
//! Nothing outside this crate names them; `docs/adding-an-operation.md` walks through it.

mod application_service;
mod local_agent;
mod mty_agent;
pub mod tiny;
mod tool;

/// Longest text that an echo takes, in UTF-8 bytes.
pub const TEXT_BYTES: usize = 8192;
/// How often an echo repeats it at most.
pub const REPEATS: u8 = 16;

/// Why the params are of the right type and still refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutOfRange {
    #[error("`text` is longer than {TEXT_BYTES} bytes")]
    Text,
    #[error("`repeat` is not from 1 to {REPEATS}")]
    Repeat,
}

/// What `repeat` is when it is left out.
pub(crate) const fn once() -> u8 {
    1
}

/// The echo itself, the same in every dialect; at most [`TEXT_BYTES`] times [`REPEATS`] bytes.
pub(crate) fn echo(text: &str, repeat: u8) -> Result<String, OutOfRange> {
    if text.len() > TEXT_BYTES {
        return Err(OutOfRange::Text);
    }
    if !(1..=REPEATS).contains(&repeat) {
        return Err(OutOfRange::Repeat);
    }
    Ok(text.repeat(usize::from(repeat)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_is_bounded_on_both_sides() {
        assert_eq!(echo("ab", 3), Ok("ababab".to_owned()));
        assert_eq!(echo("", 1), Ok(String::new()));
        let longest = "x".repeat(TEXT_BYTES);
        let largest = TEXT_BYTES * usize::from(REPEATS);
        assert_eq!(echo(&longest, REPEATS).map(|all| all.len()), Ok(largest));
        // 8191 one-byte characters and one of two bytes: bytes count, not characters.
        let over = format!("{}é", &longest[1..]);
        assert_eq!(echo(&over, 1), Err(OutOfRange::Text));
        assert_eq!(echo("ab", 0), Err(OutOfRange::Repeat));
        assert_eq!(echo("ab", REPEATS + 1), Err(OutOfRange::Repeat));
    }
}
