//! Near names: did you mean.
//! Must not decide which names are candidates.

/// Candidates looked at for one name; bounds the work on hostile input.
const MAX_CANDIDATES: usize = 2_000;

/// Distances beyond this are no suggestion.
pub(crate) const MAX_DISTANCE: usize = 2;

/// The nearest candidate within [`MAX_DISTANCE`], with its distance; of equally near ones the first by name.
/// Names of one or two letters suggest only names at a smaller distance than their length.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<(&'a str, u8)> {
    let letters = name.chars().count();
    let limit = MAX_DISTANCE.min(letters.saturating_sub(1));
    let mut best: Option<(usize, &'a str)> = None;
    for c in candidates.into_iter().take(MAX_CANDIDATES) {
        if c.is_empty() || c == name || c.len().abs_diff(name.len()) > 4 * MAX_DISTANCE {
            continue;
        }
        if let Some(d) = distance(name, c, limit)
            && (d < MAX_DISTANCE || letters > 3 || same_letters(name, c))
            && best.is_none_or(|b| (d, c) < b)
        {
            best = Some((d, c));
        }
    }
    best.map(|(d, c)| (c, d as u8))
}

/// Whether one is the other with letters in another order. Of three letters two are most of a name, so only a
/// slip of the fingers makes short names near.
fn same_letters(a: &str, b: &str) -> bool {
    let sorted = |s: &str| {
        let mut cs: Vec<char> = s.chars().collect();
        cs.sort_unstable();
        cs
    };
    sorted(a) == sorted(b)
}

/// Edit distance (insert, delete, replace by scalar), if it is at most `limit`.
#[must_use]
pub(crate) fn distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    const MAX: usize = 64;
    let mut x = ['\0'; MAX];
    let mut y = ['\0'; MAX];
    let (n, m) = (fill(a, &mut x)?, fill(b, &mut y)?);
    if n.abs_diff(m) > limit {
        return None;
    }
    let mut row = [0usize; MAX + 1];
    for (j, r) in row.iter_mut().enumerate().take(m + 1) {
        *r = j;
    }
    for i in 1..=n {
        let mut diagonal = row[0];
        row[0] = i;
        let mut least = i;
        for j in 1..=m {
            let replaced = diagonal + usize::from(x[i - 1] != y[j - 1]);
            diagonal = row[j];
            row[j] = replaced.min(row[j] + 1).min(row[j - 1] + 1);
            least = least.min(row[j]);
        }
        if least > limit {
            return None;
        }
    }
    (row[m] <= limit).then_some(row[m])
}

/// Longer names than the buffer have no near ones.
fn fill(text: &str, into: &mut [char]) -> Option<usize> {
    let mut n = 0;
    for c in text.chars() {
        *into.get_mut(n)? = c;
        n += 1;
    }
    Some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(
            nearest("totl", ["tota", "total", "other"]),
            Some(("tota", 1))
        );
        assert_eq!(nearest("greetng", ["greeting"]), Some(("greeting", 1)));
        assert_eq!(nearest("Strng", ["Str", "String"]), Some(("String", 1)));
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest("Zip", ["Map"]), None);
        assert_eq!(nearest("Srt", ["Str"]), Some(("Str", 2)));
        assert_eq!(nearest("alpha", ["beta"]), None);
        assert_eq!(distance("kitten", "sitting", 3), Some(3));
        assert_eq!(distance("größe", "grosse", 3), Some(3));
    }
}
