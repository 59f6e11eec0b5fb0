//! Tests of the redaction seam: canaries of every kind, whole and in pieces; and that ordinary text is left alone.
//! The canaries are put together at run time, so that no scanner takes this file for a leak.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

mod approval;
mod bounds;
mod display;
mod harmless;
mod inputs;
mod kinds;
mod literal;
mod values;

use super::*;

thread_local! {
    /// See [`steps`].
    pub(super) static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Letters and digits in disorder, the same each time.
fn noise(len: usize) -> String {
    let mut state = 0x9e37_79b9_u32;
    let mut out = String::new();
    while out.len() < len {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let alphabet = b"abcdefghjkmnpqrstuvwxyzABCDEFGHJKMNPQRSTUVWXYZ23456789";
        out.push(alphabet[state as usize % alphabet.len()] as char);
    }
    out.replace_range(1..2, "7");
    out
}

/// A text with a secret, and the secret.
fn canaries() -> Vec<(String, String)> {
    let mut all = Vec::new();
    let bare = [
        ("sk", "-", 48),
        ("sk", "-ant-api03-", 80),
        ("sk", "-proj-", 60),
        ("sk_li", "ve_", 24),
        ("rk_li", "ve_", 24),
        ("whs", "ec_", 32),
        ("gh", "p_", 36),
        ("gh", "o_", 36),
        ("gh", "s_", 36),
        ("github", "_pat_", 60),
        ("gl", "pat-", 20),
        ("xo", "xb-", 40),
        ("xo", "xp-", 40),
        ("xa", "pp-", 40),
        ("AI", "za", 35),
        ("ya", "29.", 60),
        ("GOC", "SPX-", 28),
        ("np", "m_", 36),
        ("py", "pi-", 90),
        ("h", "f_", 34),
        ("gs", "k_", 52),
        ("x", "ai-", 80),
        ("pp", "lx-", 48),
        ("r", "8_", 37),
        ("do", "p_v1_", 64),
        ("S", "G.", 66),
        ("shp", "at_", 32),
        ("lin", "_api_", 40),
        ("nt", "n_", 46),
        ("hv", "s.", 90),
        ("da", "pi", 32),
        ("gl", "sa_", 32),
        ("PM", "AK-", 59),
        ("hooks.slack.com", "/services/T0/B1/", 24),
        ("discord.com", "/api/webhooks/123456789012345678/", 68),
    ];
    for (a, b, len) in bare {
        let secret = format!("{a}{b}{}", noise(len));
        all.push((format!("so here it is: {secret} and that was it"), secret));
    }
    let upper = noise(16).to_uppercase();
    for prefix in ["AK", "AS"] {
        let secret = format!("{prefix}IA{upper}");
        all.push((format!("id=({secret})."), secret));
    }
    let jwt = format!(
        "ey{}{}.ey{}{}.{}",
        "J",
        noise(30),
        "J",
        noise(60),
        noise(43)
    );
    all.push((format!("got {jwt}, fine"), jwt));
    for (before, secret, after) in [
        ("Authorization: Bearer ", noise(20), "\r\nHost: x"),
        ("authorization: Basic ", noise(14), "\nnext"),
        ("-H 'Authorization: token ", noise(12), "' http://x"),
        ("see https://user:", "pa55-wörd".into(), "@example.com/x"),
        ("postgres://app:", "s3cr3t,x".into(), "@db:5432/app is up"),
        ("DB_PASSWORD=", "hunter2".into(), "\nDEBUG=1"),
        ("export API_KEY=", "abcdefgh".into(), "\n"),
        (
            "MY_SECRET=",
            "a b".split(' ').next().unwrap().repeat(9),
            "\n",
        ),
        ("{\"password\": \"", "correct horse".into(), "\"}"),
        ("{\\\"api_key\\\":\\\"", "short1".into(), "\\\"}"),
        ("password: ", "hunter2".into(), ", user: x"),
        ("client_secret = '", "quiet-words".into(), "'"),
        ("aws_secret_access_key = ", noise(40), "\n"),
        ("the access token is ", noise(24), " today"),
        ("?access_token=", noise(12), "&page=2"),
        ("X-Api-Key: ", noise(18), "\r\n"),
        ("say Bearer ", noise(26), " to it"),
        ("密码 PASSWORD：", "秘密123".into(), "\n"),
        ("Password\u{a0}=\u{3000}", "hunter2".into(), " ok"),
        ("passphrase: “", "correct horse battery".into(), "” he said"),
        ("PASSWORD=", "pässwörd".into(), "\n"),
        ("\"password\": \"", "ab\\\"cd1234".into(), "\", \"x\": 1"),
        (
            "{\\\"secret\\\": \\\"",
            "with blanks\\\\\\\"in it".into(),
            "\\\"}",
        ),
        ("{\"content\":\"A=1\\nAPI_KEY=", "abcdefgh".into(), "\"}"),
        ("export SECRET_KEY=", "abc;def&ghi".into(), "\n"),
        ("  api_key: ", noise(20), " # yaml"),
        ("apiKey: '", "abcdefgh".into(), "',"),
        ("**Password**: ", "hunter2".into(), "\n"),
        ("<password>", "hunter2".into(), "</password>"),
        ("http:\\/\\/u:", "pa55w".into(), "@h\\/x"),
        ("amqp://u:", "p)w1".into(), "@h/v"),
        ("git clone https://", noise(36), "@git.example.com/x"),
        ("DB_PASSWORD=", "$2b$12$abcd".into(), "\n"),
        ("Basic auth; Proxy-Authorization: Basic ", noise(14), "\n"),
        ("secretKey = \"", "abcdefgh".into(), "\""),
        (
            "Cookie: a=1; session=",
            format!("{}; b=2", noise(20)),
            "\r\nHost: x",
        ),
        ("set-cookie: id=", "quiet; Path=/".into(), "\n"),
        ("-H 'Cookie: sid=", noise(8), "' http://x"),
        ("{\"cookie\": \"a=b; sid=", "words; b=c".into(), "\"}"),
        ("?sv=2024&sig=", noise(44), "&se=2030"),
        ("connect.sid=", format!("s%3A{}", noise(32)), " ok"),
        ("PHPSESSID=", noise(26), ";"),
        ("&X-Amz-Signature=", noise(64), "\n"),
        ("{\"auth\": \"", noise(24), "\"}"),
        ("curl -u me:", noise(12), " http://x"),
        ("curl --user 'me@x.y:", noise(12), "' http://x"),
        ("wget --user=me:", noise(12), "\n"),
        ("bot 7123456789:", format!("AA{}", noise(33)), " it is"),
    ] {
        all.push((format!("{before}{secret}{after}"), secret));
    }
    for kind in ["", "RSA ", "EC ", "OPENSSH "] {
        let body = format!("{}\n{}\n{}", noise(64), noise(63), noise(20));
        let text = format!(
            "key:\n-----BEGIN {kind}{p} KEY-----\n{body}\n-----END {kind}{p} KEY-----\nafter",
            p = "PRIVATE"
        );
        // What a person is asked to allow stands on one line.
        all.push((text.replace('\n', " ⏎ "), body.replace('\n', " ⏎ ")));
        all.push((text, body));
    }
    all
}

fn pieces(redactor: &Redactor, text: &str, cuts: &[usize]) -> String {
    let mut stream = redactor.stream();
    let mut out = String::new();
    let mut from = 0;
    for &cut in cuts.iter().chain([&text.len()]) {
        if cut > from && text.is_char_boundary(cut) {
            out.extend(stream.push(&text[from..cut]).map(Redacted::into_string));
            from = cut;
        }
    }
    out + stream.finish().as_str()
}

/// No part of the secret worth having may show.
fn assert_hidden(shown: &str, secret: &str, text: &str) {
    assert!(shown.contains(MASK), "{text:?} → {shown:?}");
    let chars: Vec<char> = secret.chars().collect();
    let least = chars.len().min(6);
    for window in chars.windows(least) {
        let window: String = window.iter().collect();
        assert!(!shown.contains(&window), "{text:?} → {shown:?}");
    }
}

#[test]
fn every_word_is_found_in_any_case() {
    for word in words::trigger_words() {
        let found = words::any(word.as_bytes());
        assert_eq!(found, words::any(word.to_uppercase().as_bytes()));
        // The others only qualify a `key`.
        assert!(found || words::any(format!("{word}_KEY").as_bytes()));
    }
    for word in [
        "password",
        "authorization",
        "bearer",
        "token",
        "pwd",
        "secret",
        "credential",
    ] {
        assert!(words::any(word.as_bytes()), "{word}");
    }
}

#[test]
fn words_in_any_script_are_no_trap() {
    let redactor = Redactor::default();
    for text in [
        "password: café",
        "secret: 秘密",
        "password: 你好吗",
        "pwd: é",
        "passwd = 🔑",
        "passphrase: ü",
        "token: é1",
    ] {
        assert_eq!(redactor.redact(text).as_str(), text);
    }
    for trigger in triggers() {
        for around in ["é", "密", "🔑", "\u{a0}", "\u{3000}", "："] {
            for text in [
                format!("{trigger}{around}"),
                format!("{around}{trigger}{around}"),
                format!("{trigger}: {around}"),
                format!("{trigger}={around}"),
                format!("{trigger}=\"{around}"),
                format!("{trigger}{around}{trigger}"),
                format!("{trigger}{}{around}", "7a".repeat(64)),
                format!("{trigger}{}", around.repeat(200)),
            ] {
                let whole = redactor.redact(&text).into_string();
                let each: Vec<usize> = (1..text.len()).collect();
                let shown = pieces(&redactor, &text, &each);
                if text.len() < MAX_HELD_BYTES / 2 {
                    assert_eq!(shown, whole, "{text:?}");
                }
            }
        }
    }
}

#[test]
fn at_least_forty_kinds_are_masked_whole() {
    let all = canaries();
    assert!(all.len() >= 40, "{}", all.len());
    for (text, secret) in all {
        assert_hidden(Redactor::default().redact(&text).as_str(), &secret, &text);
    }
}

#[test]
fn every_kind_is_masked_wherever_it_is_split() {
    let redactor = Redactor::default();
    for (text, secret) in canaries() {
        let whole = redactor.redact(&text).into_string();
        for cut in 1..text.len() {
            let shown = pieces(&redactor, &text, &[cut]);
            assert_hidden(&shown, &secret, &text);
            assert_eq!(shown, whole, "cut at {cut}");
        }
        let each: Vec<usize> = (1..text.len()).collect();
        assert_eq!(pieces(&redactor, &text, &each), whole);
    }
}

#[test]
fn what_surrounds_a_secret_stays() {
    let redactor = Redactor::default();
    for (text, secret) in canaries() {
        if let Some((before, after)) = text.split_once(&secret)
            && !text.contains("BEGIN")
        {
            assert_eq!(
                redactor.redact(&text).as_str(),
                format!("{before}{MASK}{after}")
            );
        }
    }
}

#[test]
fn ordinary_words_flow_at_once() {
    let mut stream = Redactor::default().stream();
    for piece in [
        "Hello", ", ", "wor", "ld", "! ", "日本", "語", "x", "x", "x", "8", " .",
    ] {
        let shown = stream.push(piece).map(Redacted::into_string);
        // A lone `x` may begin a Slack key; the next letter settles it.
        if piece != "x" {
            assert_eq!(shown.as_deref(), Some(piece));
        }
    }
    assert!(stream.kept().1 <= 1);
}

#[test]
fn held_text_is_bounded_and_overlong_secrets_stay_hidden() {
    let redactor = Redactor::default();
    let secret = format!("sk{}{}", "-", noise(5000));
    let mut stream = redactor.stream();
    let mut shown = String::new();
    for letter in secret.chars() {
        shown.extend(stream.push(&letter.to_string()).map(Redacted::into_string));
        let (context, held) = stream.kept();
        assert!(context + held <= 2 * MAX_HELD_BYTES + 8);
    }
    shown += stream.push(" after").unwrap().as_str();
    shown += stream.finish().as_str();
    assert_eq!(shown, format!("{MASK} after"));

    let long_key = format!("-----BEGIN {} KEY-----\n{}", "PRIVATE", noise(9000));
    let mut stream = redactor.stream();
    let mut shown = String::new();
    for piece in long_key.as_bytes().chunks(7) {
        let piece = std::str::from_utf8(piece).unwrap();
        shown.extend(stream.push(piece).map(Redacted::into_string));
        let (context, held) = stream.kept();
        assert!(context + held <= 2 * MAX_HELD_BYTES + 8);
    }
    shown += stream.finish().as_str();
    assert!(shown.ends_with(MASK) && shown.len() < 64, "{shown}");
}

#[test]
fn names_that_look_like_secrets_are_known() {
    let redactor = Redactor::default();
    for name in [
        "fixture",
        "fixture-model",
        "claude-sonnet-4-20250514",
        "gpt-5.1-codex",
        "a/b:free",
    ] {
        assert!(!redactor.is_secret_like(name), "{name}");
    }
    assert!(redactor.is_secret_like(&format!("sk{}{}", "-", noise(30))));
    assert!(redactor.is_secret_like(&noise(40)));
}

#[test]
fn summaries_are_one_bounded_line() {
    let redactor = Redactor::default();
    let summary = redactor.redact(&"ä\n".repeat(1000)).summary(1024);
    assert!(summary.len() <= 1024 && summary.len() > 1018);
    assert!(!summary.as_str().contains('\n') && summary.as_str().ends_with('…'));
    assert_eq!(redactor.redact("fits").summary(4).as_str(), "fits");
    assert_eq!(redactor.redact("fits").summary(2).as_str(), "");
    let long = format!("a/{}\n/b.rs", "ä".repeat(300));
    let ends = redactor.redact(&long).ends(200);
    let ends = ends.as_str();
    assert!(ends.len() <= 200 && ends.len() > 195, "{ends}");
    assert!(
        ends.starts_with("a/ä") && ends.ends_with("ä /b.rs"),
        "{ends}"
    );
    assert_eq!(redactor.redact("fits").ends(4).as_str(), "fits");
    for bytes in 0..8 {
        assert!(redactor.redact(&long).ends(bytes).len() <= bytes);
    }
}

/// What makes the rules look closer: every word, the beginning of every form, and signs around them.
fn triggers() -> Vec<String> {
    let mut all: Vec<String> = words::trigger_words().map(str::to_owned).collect();
    all.extend(shapes::prefixes().map(str::to_owned));
    for own in [
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----END",
        "-----END PRIVATE KEY-----",
        "https://a:",
        "https://a:b@",
        "://",
        ":\\/\\/",
        "Bearer ",
        "Authorization: Basic ",
        "key=",
        "api_key=",
        "key=1",
        "key='A1b2",
        "token=",
        "token: \"",
        "password=$",
        "PASSWORD=/",
        "secret=\\\"",
        "key=\\\\\\\"",
        "pwd=\"",
        "pwd='",
        "pwd=`",
        "pwd“",
        "secret: ",
        "token eyJ",
        "eyJ.eyJ",
        "eyJabcd.",
        "sk-1",
        "\"",
        "'",
        "`",
        "\\",
        "-",
        "@",
        "=",
        ":",
        ".",
        "\u{a0}",
        "：",
        "Proc-Type:",
        "Cookie: ",
        "Cookie: a=",
        "Cookie: a=b; ",
        "-u ",
        "-u a:",
        "--user=",
        "--user a:b",
        "12345678:",
        "123456789:AA",
        "a",
        "A1b2C3d4",
    ] {
        all.push(own.to_owned());
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Characters of every width before, behind and between all that the rules look at.
    #[test]
    fn characters_of_any_width_around_every_trigger(
        parts in prop::collection::vec(
            (any::<prop::sample::Index>(), "[é密🔑\u{300}\u{a0}\u{3000}： a1=\"\\\\\n]{0,6}"),
            1..6,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let all = triggers();
        let text: String = parts
            .iter()
            .flat_map(|(which, between)| [all[which.index(all.len())].as_str(), between])
            .collect();
        let redactor = Redactor::new([("A_KEY", "key=密🔑秘密é"), ("B_KEY", "密é password: é密")]);
        redactor.redact(&text);
        redactor.is_secret_like(&text);
        redactor.redact(&text).summary(7);
        let mut cuts: Vec<usize> = cuts.iter().map(|i| i.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        pieces(&redactor, &text, &cuts);
    }
}

proptest! {
    /// Whatever the text and however it is cut: no panic, nothing lost outside of masks, and a
    /// canary inside never shows.
    #[test]
    fn any_text_in_any_pieces(
        before in "(?s).{0,80}",
        after in "(?s).{0,80}",
        which in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let all = canaries();
        let (canary, secret) = &all[which.index(all.len())];
        let text = format!("{before}\n{canary}\n{after}");
        let mut cuts: Vec<usize> = cuts.iter().map(|i| i.index(text.len())).collect();
        cuts.sort_unstable();
        let redactor = Redactor::default();
        assert_hidden(redactor.redact(&text).as_str(), secret, &text);
        assert_hidden(&pieces(&redactor, &text, &cuts), secret, &text);
    }

    #[test]
    fn text_without_a_trigger_passes_unchanged(text in "[ \\n0-9l-nf日ä.,!?(){}]{0,600}") {
        let redactor = Redactor::default();
        prop_assert_eq!(redactor.redact(&text).into_string(), text.clone());
        let each: Vec<usize> = (1..text.len()).collect();
        prop_assert_eq!(pieces(&redactor, &text, &each), text);
    }
}
