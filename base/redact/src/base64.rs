//! How a secret stands in base64, in whatever text it was encoded with: what of the code is its own wherever it begins.
//! Decides nothing of what is masked beyond that; `lib` registers the forms.

/// Shortest secret whose base64 is looked for: what is left of it at each alignment is 19 characters or more then.
const MIN_BYTES: usize = 16;
const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOR_ADDRESSES: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The characters that depend on `secret` alone, behind none, one and two other bytes of a group of three, in both
/// alphabets. What its neighbours share with it is left out: at most five bits at each end.
pub(super) fn forms(secret: &str) -> Vec<String> {
    if secret.len() < MIN_BYTES {
        return Vec::new();
    }
    let of = |alphabet: &[u8; 64], before: usize| -> String {
        // Each character is six bits; the first whole one begins at or behind the secret's first bit.
        let first = (8 * before).div_ceil(6);
        let behind = 8 * (before + secret.len()) / 6;
        let bit = |at: usize| {
            let byte = secret.as_bytes()[at / 8 - before];
            byte >> (7 - at % 8) & 1
        };
        let sextet =
            |place: usize| (6 * place..6 * place + 6).fold(0, |bits, at| bits << 1 | bit(at));
        (first..behind)
            .map(|place| char::from(alphabet[usize::from(sextet(place))]))
            .collect()
    };
    let alphabets = [STANDARD, FOR_ADDRESSES].into_iter();
    alphabets
        .flat_map(|alphabet| (0..3).map(move |before| of(alphabet, before)))
        .collect()
}
