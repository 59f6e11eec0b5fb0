//! Secrets that stand where code, a placeholder or a message often does: the value decides, and these are values.
//! The lines that must stay readable are in `harmless`.

use super::*;

/// What stands before a secret, and behind it.
const PLACES: &[(&str, &str)] = &[
    ("db.connect(password=\"", "\")"),
    ("db.connect(password='", "', host=host)"),
    ("API_KEY=", "\n"),
    ("export TOKEN=", "\n"),
    ("ENV DB_PASSWORD=", "\n"),
    ("STRIPE_KEY=", "\n"),
    ("Authorization: Bearer ", "\n"),
    ("curl -H \"Authorization: Bearer ", "\" http://x"),
    ("headers = {\"Authorization\": \"Bearer ", "\"}"),
    ("request.header(\"Authorization\", \"Bearer ", "\")"),
    ("Authorization: Basic ", "\n"),
    ("api_key: Optional[str] = \"", "\""),
    ("const SECRET: &str = \"", "\";"),
    ("os.environ[\"API_KEY\"] = \"", "\""),
    ("process.env.API_TOKEN = '", "';"),
    ("os.getenv(\"TOKEN\", token=\"", "\")"),
    ("token = os.environ.get(\"X\") or password=\"", "\""),
    ("password := \"", "\""),
    ("{\"token\": \"", "\", \"token_type\": \"bearer\"}"),
    ("{\"note\": \"don't say it's set\", \"password\": \"", "\"}"),
    ("It's the user's password='", "' here"),
    ("set the `token=", "` parameter"),
    ("print(\"password=", "\")"),
    ("'password' => '", "',"),
    (":password => \"", "\""),
    ("if password == \"", "\":"),
    ("mysql --password=", " app"),
    ("GET /?password=", "&x=1"),
    ("Server=db;Uid=me;Pwd=", ";Encrypt=yes"),
    ("password: ", " # of the test system"),
    ("<password>", "</password>"),
    ("postgres://app:", "@db:5432/app"),
    ("curl -u admin:", " http://x"),
    ("Cookie: sid=", "; lang=en"),
    ("document.cookie = \"sid=", "\";"),
    ("POSTGRES_PASSWORD: \"", "\""),
    ("PASSWORD=${PASSWORD} TOKEN=", "\n"),
];

#[test]
fn what_looks_like_a_value_is_masked_wherever_it_stands() {
    let redactor = Redactor::default();
    for secret in [noise(24), noise(40), format!("Tr0ub{}", noise(12))] {
        for (before, after) in PLACES {
            let text = format!("{before}{secret}{after}");
            let whole = redactor.redact(&text).into_string();
            assert_hidden(&whole, &secret, &text);
            // A header of cookies is masked to its end.
            if !before.starts_with("Cookie") {
                assert_eq!(whole, format!("{before}{MASK}{after}"));
            }
            for cut in 1..text.len() {
                assert_eq!(pieces(&redactor, &text, &[cut]), whole, "cut at {cut}");
            }
            let each: Vec<usize> = (1..text.len()).collect();
            assert_eq!(pieces(&redactor, &text, &each), whole);
        }
    }
}

#[test]
fn options_of_commands_have_their_value_behind_a_blank() {
    let redactor = Redactor::default();
    for (before, secret, after) in [
        ("tool --token ", "Sup3rS3cretTok9", " run"),
        ("tool --api-key ", "Sup3rS3cretTok9", "\n"),
        ("--client-secret ", "Sup3rS3cretTok9", ""),
        ("login --password ", "hunter2xyz9", " -h db"),
        ("login --password '", "hunter2xyz9", "'"),
    ] {
        let text = format!("{before}{secret}{after}");
        let want = format!("{before}{MASK}{after}");
        assert_eq!(redactor.redact(&text).as_str(), want);
        for cut in 1..text.len() {
            assert_eq!(pieces(&redactor, &text, &[cut]), want, "cut at {cut}");
        }
    }
    for harmless in [
        "pass --token twice",
        "--max-tokens 4096 --token-type bearer8x",
        "give --password and --token on the command line",
        "cargo login --token $TOKEN --password-file secrets/db2.txt",
        "a --key value2 --sort-key created_at2",
    ] {
        assert_eq!(redactor.redact(harmless).as_str(), harmless);
        for cut in 1..harmless.len() {
            assert_eq!(
                pieces(&redactor, harmless, &[cut]),
                harmless,
                "cut at {cut}"
            );
        }
    }
}

#[test]
fn literals_of_words_are_masked_where_only_literals_stand() {
    let redactor = Redactor::default();
    for (before, secret, after) in [
        ("password=", "letmein", "\n"),
        ("export DB_PASSWORD=", "letmein", "\n"),
        ("x\npassword=", "letmein", ""),
        ("spring.datasource.password=", "letmein", "\nspring.x=1"),
        ("mysql --password=", "letmein", " app"),
        ("GET /login?password=", "letmein", "&x=1"),
        ("Server=db;Pwd=", "letmein", ";Encrypt=yes"),
        ("POSTGRES_PASSWORD=", "postgres", "\n"),
        ("STRIPE_KEY=", "abcdefgh", "\n"),
        ("DB_PASSWORD=", "p$HOME(x", "\n"),
        ("password: ", "correct-horse-battery", "\n"),
        ("login(password=\"", "letmein", "\")"),
        ("password = \"", "correct horse battery staple", "\""),
        ("SECRET_KEY='", "django insecure words", "'"),
        ("Authorization: Basic ", "dXNlcjpwYXNz", "\n"),
        ("DB_PASSWORD=", "$2b$12$abcd", "\n"),
        ("password=\"", "{x9!z4", "\""),
        ("password=\"", "$9x!", "\""),
        ("password=\"", "<hunter2", "\""),
        ("password: \"", "%hunter%2", "\""),
    ] {
        let text = format!("{before}{secret}{after}");
        let want = format!("{before}{MASK}{after}");
        assert_eq!(redactor.redact(&text).as_str(), want);
        for cut in 1..text.len() {
            assert_eq!(pieces(&redactor, &text, &[cut]), want, "cut at {cut}");
        }
        let each: Vec<usize> = (1..text.len()).collect();
        assert_eq!(pieces(&redactor, &text, &each), want);
    }
}

proptest! {
    /// Code of any kind before and behind: the secret is hidden, whole and in pieces.
    #[test]
    fn no_code_around_it_shows_a_secret(
        before in code(),
        behind in code(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let secret = "kX9vQ2mLp7Rt4Zw8";
        let text = format!("{before}\nDB_PASSWORD={secret}\n{behind}");
        let redactor = Redactor::default();
        assert_hidden(redactor.redact(&text).as_str(), secret, &text);
        let mut cuts: Vec<usize> = cuts.iter().map(|i| i.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        assert_hidden(&pieces(&redactor, &text, &cuts), secret, &text);
    }
}

fn code() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "password",
        "token",
        "api_key",
        "DB_PASSWORD",
        "Authorization: Bearer ",
        "=",
        ": ",
        " = ",
        "\"",
        "'",
        "`",
        "$",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "os.environ",
        "config.token2",
        "x1",
        "hunter2",
        " ",
        "\n",
        ".",
        "->",
        "<",
        ">",
        "\\",
        "%s",
        "changeme",
        "#",
        "&",
        "Secret",
        "!",
    ]);
    prop::collection::vec(parts, 0..14).prop_map(|parts| parts.concat())
}
