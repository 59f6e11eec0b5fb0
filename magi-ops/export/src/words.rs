//! Times, sizes and texts as people read them, the same in every form.

use std::time::{Duration, SystemTime};

/// Whether a character must not reach a reader as it is: it acts on a terminal, is not seen, or turns around what stands
/// beside it. What emoji and scripts are made of is none of them.
pub(crate) fn is_odd(c: char) -> bool {
    let is_part =
        matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
    let is_blank = c == '\n' || c == '\t' || c.is_whitespace() && !c.is_control();
    redact::is_unseen(c) && !is_part && !is_blank
}

/// A text without such characters.
pub(crate) fn harmless(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let shown = |c| if is_odd(c) { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

fn rfc3339(millis: u64) -> String {
    // The last moment that RFC 3339 can name.
    let since = Duration::from_millis(millis.min(253_402_300_799_000));
    humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + since).to_string()
}

/// `2026-11-29T14:02:11Z`: a moment in milliseconds since 1970.
#[must_use]
pub fn stamp(millis: u64) -> String {
    rfc3339(millis)
}

/// `29 Nov 2026`.
pub(crate) fn day(millis: u64) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let stamp = rfc3339(millis);
    let part = |range: std::ops::Range<usize>| stamp.get(range).unwrap_or_default();
    let month: usize = part(5..7).parse().unwrap_or(1);
    let month = MONTHS.get(month.saturating_sub(1)).unwrap_or(&"");
    format!(
        "{} {month} {}",
        part(8..10).trim_start_matches('0'),
        part(0..4)
    )
}

/// `14:02`.
pub(crate) fn minute(millis: u64) -> String {
    rfc3339(millis).get(11..16).unwrap_or_default().to_owned()
}

/// `14:02:11`.
pub(crate) fn second(millis: u64) -> String {
    rfc3339(millis).get(11..19).unwrap_or_default().to_owned()
}

/// `29 Nov 2026, 14:02 – 15:40 UTC`.
pub(crate) fn span(from: u64, to: u64) -> String {
    let begin = format!("{}, {}", day(from), minute(from));
    match (day(from) == day(to), minute(from) == minute(to)) {
        (true, true) => format!("{begin} UTC"),
        (true, false) => format!("{begin} – {} UTC", minute(to)),
        (false, _) => format!("{begin} – {}, {} UTC", day(to), minute(to)),
    }
}

/// `12 ms`, `44.8 s`, `1 m 52 s`, `2 h 5 m`, `3 d 4 h`.
#[must_use]
pub fn duration(millis: u64) -> String {
    let (seconds, minutes) = (millis / 1000, millis / 60_000);
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{seconds}.{} s", millis % 1000 / 100),
        60_000..3_600_000 => format!("{minutes} m {} s", seconds % 60),
        3_600_000..86_400_000 => format!("{} h {} m", minutes / 60, minutes % 60),
        _ => format!("{} d {} h", minutes / 1440, minutes / 60 % 24),
    }
}

/// `5 s`, `12 m`, `3 h`, `9 d`: how long ago something was.
#[must_use]
pub fn age(millis: u64) -> String {
    match millis / 1000 {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} m", seconds / 60),
        seconds @ 3600..86_400 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// `812 B`, `4.1 KiB`, `12 MiB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes as f64, "B");
    for next in ["KiB", "MiB", "GiB"] {
        if value < 1000.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    match unit {
        "B" => format!("{bytes} B"),
        _ if value < 10.0 => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}

/// `812`, `48.2k`, `1.3M`.
pub(crate) fn tokens(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..100_000 => format!("{:.1}k", count as f64 / 1e3),
        100_000..1_000_000 => format!("{}k", count / 1000),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// `≈ $1.12`.
pub(crate) fn money(dollars: f64) -> String {
    match dollars {
        0.0..0.01 => format!("≈ ${dollars:.4}"),
        _ => format!("≈ ${dollars:.2}"),
    }
}

/// `1 turn`, `3 turns`.
pub(crate) fn counted(count: u64, one: &str, more: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {more}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_short() {
        assert_eq!(day(1_780_000_000_000), "28 May 2026");
        assert_eq!(second(1_780_000_000_000), "20:26:40");
        assert_eq!(day(u64::MAX), "31 Dec 9999");
        assert_eq!(span(0, 30_000), "1 Jan 1970, 00:00 UTC");
        assert_eq!(span(0, 90_000), "1 Jan 1970, 00:00 – 00:01 UTC");
        assert_eq!(
            span(0, 86_400_000),
            "1 Jan 1970, 00:00 – 2 Jan 1970, 00:00 UTC"
        );
        let durations = [12, 44_870, 112_000, 7_500_000, 273_600_000].map(duration);
        assert_eq!(
            durations,
            ["12 ms", "44.8 s", "1 m 52 s", "2 h 5 m", "3 d 4 h"]
        );
        assert_eq!(
            [812, 4200, 12 << 20].map(size),
            ["812 B", "4.1 KiB", "12 MiB"]
        );
        assert_eq!(
            [812, 48_213, 482_130, 1_300_000].map(tokens),
            ["812", "48.2k", "482k", "1.3M"]
        );
        assert_eq!(
            [5_000, 720_000, 10_800_000, 777_600_000].map(age),
            ["5 s", "12 m", "3 h", "9 d"]
        );
        assert_eq!([0.0012, 1.119].map(money), ["≈ $0.0012", "≈ $1.12"]);
    }

    #[test]
    fn what_acts_on_a_reader_is_taken_away_and_what_scripts_need_stays() {
        assert_eq!(
            harmless("a\u{1b}[2Jb\u{202e}c\r\n\td\u{7}\0"),
            "a\u{fffd}[2Jb\u{fffd}c\n\td\u{fffd}\u{fffd}"
        );
        for kept in ["👨‍👩‍👧", "❤️", "می‌خواهم", "a\u{a0}b", "日本"] {
            assert_eq!(harmless(kept), kept);
        }
    }
}
