//! The canaries: a line for each shape in which secrets stand in prompts, replies and files. Made up, and
//! put together at run time, so that no scanner takes this file for a leak.

/// A secret and the line around it.
#[derive(Clone, Debug)]
pub(crate) struct Canary {
    pub(crate) name: &'static str,
    /// What stands before the secret, and behind it.
    around: (String, &'static str),
    pub(crate) secret: String,
}

impl Canary {
    pub(crate) fn line(&self) -> String {
        format!("{}{}{}", self.around.0, self.secret, self.around.1)
    }

    /// Pieces of the secret, none of which may show. A short secret is one piece: parts of it are words.
    pub(crate) fn pieces(&self) -> Vec<String> {
        let chars: Vec<char> = self.secret.chars().collect();
        let width = chars.len().min(10);
        chars
            .windows(width)
            .map(|window| window.iter().collect::<String>())
            // Line ends and the like are nobody's secret.
            .filter(|piece| piece.chars().filter(|c| c.is_alphanumeric()).count() * 2 > width)
            .collect()
    }
}

/// `len` characters of `alphabet` in disorder, the same each time for each `salt`.
fn noise(alphabet: &str, salt: u64, len: usize) -> String {
    let letters = alphabet.as_bytes();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ salt.wrapping_mul(0xd134_2543_de82_ef95);
    let mut out = String::new();
    while out.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.push(letters[(state >> 33) as usize % letters.len()] as char);
    }
    out
}

fn mixed(salt: u64, len: usize) -> String {
    let alphabet = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    // Digits in any case, wherever the lot falls.
    format!("7{}4", noise(alphabet, salt, len - 2))
}

fn hex(salt: u64, len: usize) -> String {
    noise("0123456789abcdef", salt, len)
}

fn base64(salt: u64, len: usize) -> String {
    let alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/";
    format!("4{}9", noise(alphabet, salt, len - 2))
}

fn upper(salt: u64, len: usize) -> String {
    noise("ABCDEFGHJKLMNPQRSTUVWXYZ234567", salt, len)
}

/// Lines of a key block between its dashes.
fn block(salt: u64, line_end: &str) -> String {
    let lines = [base64(salt, 64), base64(salt + 1, 64), base64(salt + 2, 30)];
    lines.join(line_end)
}

fn key_block(kind: &str, line_end: &str) -> (String, String) {
    let dashes = "-".repeat(5);
    let line = |word: &str| format!("{dashes}{word} {kind}{dashes}");
    let begin = format!("{}{line_end}", line(&["BE", "GIN"].concat()));
    (begin, format!("{line_end}{}", line(&["E", "ND"].concat())))
}

/// Every shape. At least forty, in the order of their families.
pub(crate) fn all() -> Vec<Canary> {
    let mut all = Vec::new();
    let mut add = |name, before: &str, secret: String, after| {
        all.push(Canary {
            name,
            around: (before.to_owned(), after),
            secret,
        });
    };
    let salt = &mut 0;
    let mut next = || {
        *salt += 10;
        *salt
    };
    // Keys that are known by their beginning, in plain prose.
    let prose = "The value is ";
    for (name, start, rest) in [
        ("anthropic", ["sk-", "ant-api03-"], mixed(next(), 93)),
        ("openai project", ["sk-", "proj-"], mixed(next(), 60)),
        ("openai", ["sk", "-"], mixed(next(), 48)),
        ("openrouter", ["sk-", "or-v1-"], hex(next(), 64)),
        ("google api", ["AI", "za"], mixed(next(), 35)),
        ("google oauth", ["ya", "29."], mixed(next(), 80)),
        ("google client", ["GOC", "SPX-"], mixed(next(), 28)),
        ("groq", ["gs", "k_"], mixed(next(), 52)),
        ("xai", ["xa", "i-"], mixed(next(), 80)),
        ("perplexity", ["pp", "lx-"], mixed(next(), 48)),
        ("hugging face", ["h", "f_"], mixed(next(), 34)),
        ("replicate", ["r", "8_"], mixed(next(), 37)),
        ("github classic", ["gh", "p_"], mixed(next(), 36)),
        ("github fine", ["github", "_pat_"], mixed(next(), 82)),
        ("gitlab", ["gl", "pat-"], mixed(next(), 20)),
        (
            "slack bot",
            ["xo", "xb-"],
            format!("{}-{}", hex(next(), 12), mixed(next(), 24)),
        ),
        ("stripe", ["sk_", "live_"], mixed(next(), 24)),
        (
            "sendgrid",
            ["S", "G."],
            format!("{}.{}", mixed(next(), 22), mixed(next(), 43)),
        ),
        ("mailgun", ["ke", "y-"], hex(next(), 32)),
        ("aws id", ["AK", "IA"], upper(next(), 16)),
        ("npm", ["np", "m_"], mixed(next(), 36)),
        ("pypi", ["py", "pi-"], mixed(next(), 100)),
        ("digital ocean", ["do", "p_v1_"], hex(next(), 64)),
        ("vault", ["hv", "s."], mixed(next(), 90)),
        ("age", ["AGE-SECRET-", "KEY-1"], upper(next(), 58)),
        (
            "telegram bot",
            ["712345", "6789:"],
            format!("AA{}", mixed(next(), 33)),
        ),
        (
            "slack webhook",
            ["https://hooks.slack.com/", "services/"],
            format!(
                "T{}/B{}/{}",
                upper(next(), 9),
                upper(next(), 9),
                mixed(next(), 24)
            ),
        ),
        (
            "discord webhook",
            ["https://discord.com/api/", "webhooks/123456789012345678/"],
            mixed(next(), 68),
        ),
    ] {
        let known = name.ends_with("webhook") || name.ends_with("bot") && start[1].ends_with(':');
        let (before, secret) = match known {
            // The address or the account is no secret; what follows it is.
            true => (format!("{prose}{}", start.concat()), rest),
            false => (prose.to_owned(), start.concat() + &rest),
        };
        add(name, &before, secret, " and that was it.");
    }
    let token = |a, b| {
        format!(
            "{}{}.{}{}",
            ["ey", "J"].concat(),
            mixed(a, 30),
            ["ey", "J"].concat(),
            mixed(b, 60)
        )
    };
    add(
        "web token",
        prose,
        format!("{}.{}", token(next(), next()), mixed(next(), 43)),
        ", it says.",
    );
    add(
        "encrypted web token",
        prose,
        format!(
            "{}{}.{}.{}.{}.{}",
            ["ey", "J"].concat(),
            mixed(next(), 30),
            mixed(next(), 40),
            mixed(next(), 16),
            mixed(next(), 60),
            mixed(next(), 22)
        ),
        ", it says.",
    );
    // Headers.
    add(
        "bearer header",
        "Authorization: Bearer ",
        mixed(next(), 40),
        "",
    );
    add(
        "bearer alone",
        "then it sends bearer ",
        mixed(next(), 32),
        " along",
    );
    add(
        "basic header",
        "authorization: Basic ",
        base64(next(), 28),
        "",
    );
    add(
        "proxy header",
        "Proxy-Authorization: Basic ",
        base64(next(), 24),
        "",
    );
    add(
        "key header",
        "curl -H 'x-api-key: ",
        mixed(next(), 32),
        "' http://localhost/",
    );
    add(
        "cookie",
        "Cookie: theme=dark; session=",
        mixed(next(), 32),
        "; lang=en",
    );
    add(
        "set cookie",
        "Set-Cookie: sid=",
        hex(next(), 40),
        "; Path=/; HttpOnly",
    );
    add(
        "session cookie",
        "cookie: connect.sid=s%3A",
        mixed(next(), 32),
        "",
    );
    // Addresses.
    add(
        "database url",
        "postgres://app:",
        "s3cr3t,Pa55".into(),
        "@db:5432/app is up",
    );
    add(
        "address with signs",
        "see https://user:",
        "p4$$-wörd!x".into(),
        "@example.com/x",
    );
    add("cache url", "redis://:", mixed(next(), 20), "@cache:6379/0");
    add(
        "git url",
        "git clone https://",
        mixed(next(), 40),
        "@git.example.com/x",
    );
    add(
        "query",
        "GET /v1/things?page=2&access_token=",
        mixed(next(), 20),
        "&x=1",
    );
    add(
        "signed url",
        "https://a.blob.core.windows.net/c/f?sv=2024-11-04&sig=",
        mixed(next(), 44),
        "%3D&se=2030",
    );
    add(
        "one-time seed",
        "otpauth://totp/x:me?secret=",
        upper(next(), 32),
        "&issuer=x",
    );
    // Assignments.
    add("env password", "DB_PASSWORD=", "hunter2andmore".into(), "");
    add("env key", "export MISTRAL_API_KEY=", mixed(next(), 32), "");
    add("env token", "TWILIO_AUTH_TOKEN=", hex(next(), 32), "");
    add(
        "env quoted",
        "APP_SECRET=\"",
        "quiet words in a row".into(),
        "\"",
    );
    add(
        "aws secret",
        "aws_secret_access_key = ",
        base64(next(), 40),
        "",
    );
    add(
        "azure account",
        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=",
        format!("{}==", base64(next(), 86)),
        ";EndpointSuffix=y",
    );
    add(
        "connection string",
        "Server=db;Database=x;Uid=me;Pwd=",
        "Qu1et-words".into(),
        ";Encrypt=yes",
    );
    add(
        "npmrc",
        "//registry.npmjs.org/:_authToken=",
        mixed(next(), 36),
        "",
    );
    add("yaml", "  password: ", "tr0ub4dor&3".into(), " # yaml");
    add(
        "json",
        "{\"client_id\": \"x\", \"client_secret\": \"",
        mixed(next(), 24),
        "\"}",
    );
    add(
        "json in json",
        "{\"body\": \"{\\\"password\\\": \\\"",
        "correct horse battery".into(),
        "\\\"}\"}",
    );
    add("toml", "api_key = '", mixed(next(), 32), "'");
    add(
        "netrc",
        "machine example.com login me password ",
        mixed(next(), 20),
        "",
    );
    add(
        "registry login",
        "{\"auths\": {\"r.example.com\": {\"auth\": \"",
        base64(next(), 40),
        "\"}}}",
    );
    add(
        "cluster key",
        "    client-key-data: ",
        base64(next(), 80),
        "",
    );
    add(
        "command line",
        "curl -u admin:",
        mixed(next(), 20),
        " http://localhost/",
    );
    add(
        "prose",
        "the access token is ",
        mixed(next(), 32),
        " for today",
    );
    add("markdown", "**Password**: `", "tr0ub4dor&3x".into(), "`");
    // Blocks of keys.
    for (name, kind) in [
        ("rsa block", "RSA PRIVATE KEY"),
        ("ssh block", "OPENSSH PRIVATE KEY"),
        ("pgp block", "PGP PRIVATE KEY BLOCK"),
    ] {
        let (begin, end) = key_block(kind, "\n");
        let end: &'static str = Box::leak(end.into_boxed_str());
        let opening = format!(
            "key:\n{begin}{}",
            if kind.starts_with("PGP") { "\n" } else { "" }
        );
        add(name, &opening, block(next(), "\n"), end);
    }
    let (begin, end) = key_block("PRIVATE KEY", "\\n");
    let end: &'static str = Box::leak(format!("{end}\\n\"}}").into_boxed_str());
    add(
        "service account",
        &format!("{{\"private_key\": \"{begin}"),
        block(next(), "\\n"),
        end,
    );
    all
}
