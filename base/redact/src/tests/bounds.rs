//! Work and memory, counted in steps and not by the clock; and secrets longer than any window.

use super::*;

/// Steps that `work` takes.
fn cost(work: impl FnOnce()) -> u64 {
    let before = STEPS.get();
    work();
    STEPS.get() - before
}

/// Most steps a byte of a whole text, whatever it is: prose takes 2, each decision looks at a window.
const MOST_STEPS: u64 = 400;
/// Most steps a byte of a stream in pieces of 16 bytes.
const MOST_STREAM_STEPS: u64 = 3000;

fn adversarial(bytes: usize) -> Vec<String> {
    let repeat = |unit: &str| unit.repeat(bytes / unit.len());
    let mut all: Vec<String> = triggers().iter().map(|unit| repeat(unit)).collect();
    // One that opens, and then nothing that closes.
    for first in [
        "key=\"",
        "password: \"",
        "https://a:b",
        "-----BEGIN PRIVATE KEY-----\n",
    ] {
        all.push(first.to_owned() + &repeat("key='"));
        all.push(first.to_owned() + &repeat("secret=\\\""));
        all.push(first.to_owned() + &repeat("eyJabcd-"));
    }
    all
}

#[test]
fn work_grows_with_the_length_and_no_faster() {
    let redactor = Redactor::new([
        ("A_KEY", "key=key=key=key=key=!"),
        ("B_KEY", &"a".repeat(4000)),
        ("C_KEY", &("sk-".repeat(300) + "!")),
    ]);
    for (small, large) in adversarial(8 << 10).iter().zip(adversarial(64 << 10)) {
        let kind = &small[..small.floor_char_boundary(24)];
        let of_small = cost(|| drop(redactor.redact(small)));
        let of_large = cost(|| drop(redactor.redact(&large)));
        // Eight times as long: with a square it would be 64 times the work.
        assert!(
            of_large <= 9 * of_small + 10_000,
            "{kind:?}: {of_small} → {of_large}"
        );
        assert!(
            of_large <= MOST_STEPS * large.len() as u64,
            "{kind:?}: {of_large}"
        );
    }
}

#[test]
fn a_mebibyte_of_one_thing_is_within_the_bound() {
    let redactor = Redactor::default();
    for unit in [
        "key=",
        "sk-",
        "Bearer ",
        "https://a:",
        "-----BEGIN ",
        "\"",
        "\\",
        "eyJ.",
    ] {
        let text = unit.repeat((1 << 20) / unit.len());
        let steps = cost(|| drop(redactor.redact(&text)));
        assert!(steps <= MOST_STEPS * text.len() as u64, "{unit:?}: {steps}");
    }
}

#[test]
fn a_piece_costs_its_own_length_whatever_came_before() {
    let redactor = Redactor::new([
        ("A_KEY", "key=key=key=key=key=!"),
        ("B_KEY", &"a".repeat(4000)),
    ]);
    for text in adversarial(8 << 10) {
        let kind = text[..text.floor_char_boundary(24)].to_owned();
        let steps = cost(|| {
            let mut stream = redactor.stream();
            let mut from = 0;
            while from < text.len() {
                let to = text.ceil_char_boundary(from + 16);
                stream.push(&text[from..to]);
                let (context, held) = stream.kept();
                assert!(held <= MAX_HELD_BYTES, "{kind:?}");
                assert!(context <= MAX_HELD_BYTES + 32, "{kind:?}");
                from = to;
            }
            stream.finish();
        });
        assert!(
            steps <= MOST_STREAM_STEPS * text.len() as u64,
            "{kind:?}: {steps}"
        );
    }
}

/// Secrets far longer than any window, whole and in pieces of any size.
#[test]
fn long_secrets_are_masked_to_their_end() {
    let redactor = Redactor::default();
    let lines: String = (0..256).map(|_| noise(64) + "\n").collect();
    let long = noise(8 << 10);
    let words: String = (0..2000).map(|i| format!("wörd{i} ")).collect();
    let p = "PRIVATE KEY";
    for (before, secret, after) in [
        (
            "key:\n-----BEGIN PRIVATE KEY-----",
            format!("\n{lines}-----END {p}-----"),
            "\nafter",
        ),
        ("a ", format!("sk{}{long}", "-"), " after"),
        ("a ", format!("gh{}{long}", "p_"), ", after"),
        (
            "a ",
            format!("ey{}{long}.eyJ{long}.{}", "J", noise(43)),
            " after",
        ),
        ("Authorization: Bearer ", long.clone(), "\r\nafter"),
        ("the access token is ", long.clone(), " today"),
        ("API_KEY=", long.clone(), "\nafter"),
        ("{\"password\": \"", words.clone(), "\", \"after\": 1}"),
        (
            "{\\\"password\\\": \\\"",
            words.clone(),
            "\\\", \\\"after\\\": 1}",
        ),
        ("postgres://u:", long.clone(), "@db/app after"),
        ("password=", "é密🔑".repeat(1000), " after"),
    ] {
        let text = format!("{before}{secret}{after}");
        let want = format!("{before}{MASK}{after}");
        assert_eq!(redactor.redact(&text).as_str(), want);
        for size in [1, 3, 64, 500, 4096] {
            let letters: Vec<char> = text.chars().collect();
            let mut stream = redactor.stream();
            let mut shown = String::new();
            for piece in letters.chunks(size) {
                let piece: String = piece.iter().collect();
                shown.extend(stream.push(&piece).map(Redacted::into_string));
                assert!(stream.kept().1 <= MAX_HELD_BYTES);
            }
            shown += stream.finish().as_str();
            assert_eq!(shown, want, "pieces of {size}");
        }
    }
}
