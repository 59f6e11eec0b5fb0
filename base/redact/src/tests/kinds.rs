//! Secrets of every issuer and every notation, each alone in its usual place, whole and in pieces.
//! What must stay readable is in `harmless`.

use super::*;

const LOWER: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

fn hex(len: usize) -> String {
    "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
        .chars()
        .cycle()
        .take(len)
        .collect()
}

/// `text` holds `secret`, and shows nothing of it but stays as it is around it, however it is cut.
fn hidden(text: &str, secret: &str) {
    let redactor = Redactor::default();
    let want = text.replace(secret, MASK);
    assert_eq!(redactor.redact(text).as_str(), want, "{text:?}");
    for cut in 1..text.len() {
        assert_eq!(pieces(&redactor, text, &[cut]), want, "cut at {cut}");
    }
    let each: Vec<usize> = (1..text.len()).collect();
    assert_eq!(pieces(&redactor, text, &each), want);
}

#[test]
fn keys_with_a_known_beginning() {
    for secret in [
        format!("h{}{}", "f_", &LOWER[..34]),
        format!("dckr_{}{}", "pat_", noise(27)),
        format!("h{}{}", "f_oauth_", noise(43)),
        format!(
            "SCRAM-SHA-{}$4096:{}==${}=:{}=",
            "256",
            noise(22),
            noise(43),
            noise(43)
        ),
        format!("tgp_{}{}", "v1_", noise(43)),
        format!("S{}{}", "K", hex(32)),
        format!("ci{}{}", "o", noise(32)),
        format!("fm{}{}", "2_", noise(80) + "+/="),
        format!("gl{}{}", "ptt-", noise(40)),
        format!("dp{}{}", ".st.prod.", noise(43)),
        format!("nf{}{}", "p_", noise(36)),
        format!("sb{}{}", "p_", hex(40)),
        format!("ATCT{}{}", "T3xFf", noise(100)),
        format!("fig{}{}", "d_", noise(40)),
        format!("nv{}{}", "api-", noise(64)),
        format!("M{}.{}.{}", noise(23), "Gx7aZk", noise(38)),
        format!("{}-{}-{}", hex(32), &hex(8), &hex(8)),
        format!("ey{}{}.eyJ{}.", "J", noise(20), noise(40)),
        format!("$6${}$", "saltsalt") + &noise(86),
        "$y$j9T$".to_owned() + &noise(22) + "$" + &noise(43),
        "$2y$10$".to_owned() + &noise(53),
        "$argon2id$v=19$m=65536,t=3,p=4$".to_owned() + &noise(22) + "$" + &noise(43),
    ] {
        if !secret.ends_with('.') {
            hidden(&format!("so it is {secret} and that was it"), &secret);
        }
        hidden(
            &format!("root:{secret}:19000:0:99999:7:::\n"),
            secret.trim_end_matches('.'),
        );
        hidden(
            &format!("{{\"v\":\"a\\n{secret}\"}}"),
            secret.trim_end_matches('.'),
        );
    }
}

#[test]
fn private_members_of_web_keys() {
    for member in ["d", "p", "q", "dp", "dq", "qi", "k"] {
        for (quote, blank) in [("\"", ""), ("\"", " "), ("\\\"", "")] {
            let secret = noise(43);
            let text = format!(
                "{{{quote}kty{quote}:{quote}EC{quote},{quote}{member}{quote}:{blank}{quote}{secret}{quote}}}"
            );
            hidden(&text, &secret);
        }
    }
}

#[test]
fn signatures_of_addresses() {
    for secret in [
        "Qk9%2BxPz7f1%2FRw3tY8uI0o%2Bp6aSdFgHjKlZxCvBnM4%3D",
        "aB3%2Bd9%2Fg7%2Bj1K%2Fm5%2Bp8R%2Fs2%2Bv6X%2Fy4%3D",
    ] {
        hidden(
            &format!("https://a.blob.example/c?sv=2024-11-04&sig={secret}&se=2030"),
            secret,
        );
        hidden(&format!("?sp=r&sig={secret}"), secret);
    }
}

#[test]
fn options_of_programs() {
    for (before, secret, after) in [
        ("mysql -uroot -p", "s3cret", " app"),
        ("$ mysqldump -h db -p'", "pa ss;x", "' app > x.sql"),
        ("/usr/bin/mysql -p", "letmein", ""),
        ("redis-cli -h cache -a ", "foobared", " ping"),
        ("sshpass -p ", "letmein", " ssh host"),
        ("sshpass -p", "letmein", " ssh host"),
        ("docker login -u me -p ", "letmein", " r.example.com"),
        (
            "echo x | docker login registry.example.com --username me -p ",
            "letmein",
            "\n",
        ),
        ("curl -u admin:", "letmein", " http://x"),
        ("curl -uadmin:", "letmein", " http://x"),
        ("curl -s --user 'admin:", "let me in", "' http://x"),
        ("wget --user=me --password=", "letmein", " http://x"),
        ("smbclient //h/s -U me%", "letmein", ""),
        ("ldapsearch -D cn=x -w ", "letmein", " -b dc=x"),
        ("zip -P ", "letmein", " a.zip b"),
        ("7z x -p", "letmein", " a.7z"),
        ("htpasswd -nb me ", "letmein", ""),
        ("htpasswd -b .htpasswd me ", "letmein", ""),
        ("openssl enc -aes-256-cbc -pass pass:", "letmein", " -in x"),
        ("keytool -list -storepass ", "letmein", ""),
        ("PGPASSWORD=", "letmein", " psql -h db"),
        ("MYSQL_PWD=", "letmein", " mysql"),
        ("SSHPASS=", "letmein", " sshpass -e ssh h"),
        ("DB_PASS=", "letmein", "\n"),
        ("REDISCLI_AUTH=", "foobared1", " redis-cli"),
        ("sqlplus scott/", "tiger@db", ""),
        ("cargo login ", "letmein", ""),
        ("machine h login me password ", "letmein", ""),
        (
            "machine h\n  login me\n  password ",
            "letmein",
            "\nmachine i",
        ),
        ("default login me password ", "letmein", "\n"),
        ("machine h\nlogin me\npassword ", "letmein", "\nmachine i"),
        ("requirepass ", "foobared", "\n"),
        ("redis-cli config set requirepass ", "foobared", "; ls"),
        ("mysql \\\n  -p", "letmein", " app"),
    ] {
        hidden(&format!("{before}{secret}{after}"), secret);
    }
    let redactor = Redactor::default();
    for text in [
        "the docker login -p flag is deprecated, mysql -p asks for it",
        "docker run -p 8080:80 -u 1000:1000 image && ssh -p 2222 host",
        "mysql -p\"$PASSWORD\" app; redis-cli -a $REDIS_PASSWORD ping; sshpass -p \"$PW\" ssh h",
        "mysql -u root -p app; mysql --port 3306; curl -u user: http://x",
        "`curl -u name:password` and `docker login -p <password>`",
        "a curl of the lip, zip it up -P now, net use",
    ] {
        assert_eq!(redactor.redact(text).as_str(), text);
    }
}

#[test]
fn passwords_of_databases_and_names_of_tokens() {
    let token = noise(52).to_lowercase();
    for (before, secret, after) in [
        ("CREATE USER a@'%' IDENTIFIED BY '", "let me in", "';"),
        ("create user a identified by '", "letmein", "'"),
        ("IDENTIFIED WITH mysql_native_password BY '", "letmein", "'"),
        ("ALTER ROLE a WITH PASSWORD '", "letmein", "';"),
        ("alter role a with password '", "letmein", "';"),
        ("CREATE ROLE a LOGIN ENCRYPTED PASSWORD '", "letmein", "' X"),
        ("SET PASSWORD = PASSWORD('", "letmein", "');"),
        ("AZURE_DEVOPS_PAT=", token.as_str(), "\n"),
        ("github_pat: \"", token.as_str(), "\""),
        ("SERVICE_JWT=", token.as_str(), "\n"),
    ] {
        hidden(&format!("{before}{secret}{after}"), secret);
    }
}

#[test]
fn keys_whose_sign_stands_behind_their_beginning() {
    for (before, secret) in [
        ("Ab18Q~", noise(34)),
        ("a7Qp2x9fK3mN5w.atlasv1.", noise(67)),
    ] {
        hidden(&format!("it is {before}{secret} so"), &secret);
    }
}

/// At the very end of a text too, where nothing says that it is all.
#[test]
fn forms_of_one_length_at_the_end_of_a_text() {
    for (before, secret) in [
        ("it is ", format!("S{}{}", "K", hex(32))),
        (&*format!("A{}{}:", "C", hex(32)), hex(32).replace('0', "9")),
        ("", format!("{}-{}-{}", hex(32), &hex(8), &hex(8))),
    ] {
        for end in ["", "\n", "."] {
            hidden(&format!("{before}{secret}{end}"), &secret);
        }
    }
}

#[test]
fn keys_of_putty() {
    let lines = format!("\n{}\n{}\nPrivate-MAC:", noise(64), noise(40));
    let before = "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 2";
    hidden(&format!("{before}{lines} 00aa\n"), &lines);
    let lines = lines.replace('\n', "\\n");
    hidden(&format!("\"Private-Lines: 2{lines} 00aa\\n\""), &lines);
}

#[test]
fn separators_belong_to_a_secret_only_when_it_goes_on() {
    for (before, secret, after) in [
        ("password=", "a1b2&c", "\n"),
        ("password=", "letmein&b", ""),
        ("?password=", "letmein", "&user=b"),
        ("?user=b&password=", "letmein", "&x[]=1"),
        ("export TOKEN=", "abc12345", "; rm -rf zz"),
        ("export TOKEN=", "abc12345", " && rm -rf zz"),
        ("TOKEN=", "abc12345", ";"),
        ("(TOKEN=", "abc12345", ")"),
        ("password=", "let1mein", "; ls"),
        ("password: ", "tr0ub,4dor", ", user: x"),
        ("{password: ", "abc12345", ", user: 1}"),
        ("f(password=", "a1-b2-c3", ",user=1)"),
        ("Pwd=", "a1;b2", ";Encrypt=yes"),
        ("password=", "abc1\\def", " x"),
        ("{\"x\": \"password=", "abc1def", "\\nuser\"}"),
    ] {
        hidden(&format!("{before}{secret}{after}"), secret);
    }
}

#[test]
fn a_stream_that_breaks_off_shows_no_half_of_a_secret() {
    let redactor = Redactor::default();
    // The beginning of an address is no secret.
    let secrets = canaries()
        .into_iter()
        .filter(|(_, secret)| !secret.contains(".com/"));
    for (text, secret) in secrets {
        let start = text.find(&secret).unwrap();
        for (at, _) in secret.char_indices().skip(1) {
            let mut stream = redactor.stream();
            let mut shown = String::new();
            shown.extend(stream.push(&text[..start + at]).map(Redacted::into_string));
            shown += stream.cut().as_str();
            let least = secret.floor_char_boundary(12.min(secret.len()));
            assert!(!shown.contains(&secret[..least]), "{shown:?}");
        }
    }
}
