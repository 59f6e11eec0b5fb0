//! Ordinary prose and code must stay readable: lines that speak of keys and passwords and hold none.

use super::*;

const LINES: &[&str] = &[
    "The token is a unit of text, and the key idea is that keys repeat.",
    "let token = parser.next_token();\nlet key = map.keys().next();",
    "{\"key\": \"title\", \"name\": \"password reset\"}",
    "task-queue-with-a-rather-long-name-2 and desk-lamp-number-20-of-the-collection-3",
    "sk-folding-cube-wrapper-container-element",
    "PWD=/home/user/project MAX_TOKENS=4096 PORT=8080",
    "{'PWD': '/home/user/project-2', 'OLDPWD': '/home/user'}",
    "{\"PWD\":\"/srv/work/a1\",\"OLDPWD\":\"/\"}",
    "PWD: /srv/build-7/work",
    "src/provider/tokenizer_v2.rs:120: fn token_count(input: &str) -> usize",
    "https://example.com:8443/a@b?c=d http://localhost:3000/",
    "password = \"$PASSWORD\"; token: ${TOKEN}; secret: <your-secret>; password: null",
    "commit 3f2a9c1d4e5b6a7f8091a2b3c4d5e6f708192a3b by someone",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "Authorization is required. Bearer certificates were used in trade.",
    "Größe: 12 µm, 令牌 and パスワード, 🔑",
    "password: required, at least twelve characters",
    "the password must be 12 characters",
    "token: string",
    "key = value",
    "pub struct Login { password: String, token: Option<Token> }",
    "def login(user: str, password: str) -> None:",
    "password = config.password",
    "client.login(user, password=args.password)",
    "this.password = password;",
    "const secret = process.env.APP_SECRET;",
    "let secret = std::env::var(\"APP_SECRET\")?;",
    "password: café",
    "secret: 秘密",
    "the secret is to keep it simple",
    "secret: always read the manual first",
    "token: an opaque string",
    "if token == None: return",
    "use crate::token::Token2; // secret::Value1",
    "{\"type\": \"object\", \"properties\": {\"password\": {\"type\": \"string\"}}}",
    "{\"token\": \"string\", \"password\": null, \"secret\": true}",
    "fetch(url, { credentials: 'include' })",
    "{\"max_tokens\": 4096, \"prompt_tokens\": \"17\"}",
    "input_tokens: 12345, output_tokens: 678, cache_read_tokens: 0",
    "max_tokens=4096 temperature=0.7",
    "{\"secretary\": \"John Smith\", \"tokenizer\": \"bpe-large\"}",
    "<input type=\"password\" name=\"field\" placeholder=\"Enter it\">",
    "3f2a9c1 Fix token refresh (merge 3f2a9c1d4e5b6a7f8091a2b3c4d5e6f708192a3b)",
    "d41d8cd98f00b204e9800998ecf8427e  keyboard.png",
    "key: Enter, keyCode: 13, altKey: false",
    "primary key (id), foreign key (user_id) references users(id)",
    "export API_KEY=$OTHER_KEY",
    "api_key: \"your-api-key-here\"",
    "api_key = \"<YOUR API KEY>\"",
    "PASSWORD=${PASSWORD:-}",
    "API_KEY=****************",
    "password: {{ vault_password }}",
    "secret_key: %SECRET_KEY%",
    "The file starts with `-----BEGIN PRIVATE KEY-----` and ends with an END line; remove both.",
    "Look for -----BEGIN RSA PRIVATE KEY----- in the repository, then rotate what you find.",
    "Authorization: Bearer <token>",
    "Bearer tokens are sent in the Authorization header",
    "git push git@github.com:owner/repo.git && ssh user@host.example.com",
    "mailto:someone@example.com, see ftp://files.example.com/pub",
    "uuid 123e4567-e89b-12d3-a456-426614174000 of 2026-01-15T10:20:30Z, v1.22.3-beta.4",
    "tokens per second: 82.5; the monkey ate the turkey with a key-lime pie",
    "AKIA is the beginning of such an id, ghp_ of another, xoxb- of a third",
    "class KeyboardEventHandler2Provider: call PublicKeyCredentialRequestOptions2Json()",
    "import { apiKeyAuthorizerFactory2Provider } from 'keys'",
    "foreignKeyConstraintV2Migration0007, secretsManagerClientV2Async, getTokenBudget2ForModelX9",
    "if password == stored_password:\n    ok()",
    "assert secret == expected_secret",
    "ssh-keygen -t ed25519 -f ~/.ssh/id_ed25519 # makes a key pair",
    "cookie: chocolate chip, cookies: two",
    "set-cookie: theme=dark; Path=/; Max-Age=3600; SameSite=Lax",
    "Cookie: theme=dark; lang=en; consent=yes",
    "postgres://<user>:<password>@db1:5432/app and <password>@host.example.com:22",
    "a path, a pattern and a compat layer: pat = 5, the PAT of a dog, pattern_pat = \"^/x.*\"",
    "identified by: its name",
    "Set-Cookie: <cookie-name>=<cookie-value>; Secure",
    "const cookie = parse(header); if (cookie == other) return;",
    "XDG_SESSION_TYPE=x11 SESSION=wayland XDG_SESSION_ID=2",
    "session 123e4567-e89b-12d3-a456-426614174000 was closed",
    "session_id=123e4567-e89b-12d3-a456-426614174000",
    "session: \"0b6f2c1e-8a4d-4f57-9c3b-2d1e0f9a8b7c\", sid: 42, sig: none",
    "Windows SID: S-1-5-21-3623811015-3361044348-30300820-1013",
    "fn sign(signature: &Signature, session: SessionHandle2) -> Result<()>",
    "{\"auth\": \"none\", \"author\": \"someone\", \"auth_method\": \"oauth\"}",
    "docker run -u 1000:1000 -u www-data:www-data --user=node:node image",
    "git push -u origin main && ps -u root",
    "sort -u names.txt:12 and 12345678:AB, 10:30, 123456789:0",
    "hooks.slack.com/services/ is where such an address begins",
    "the significant side of a session, a cookie jar and its author",
];

const RUST: &[&str] = &[
    "impl SigningKey for Ed25519SigningKey {} let key = PrivateKeyDer::Sec1(PrivateSec1KeyDer::from(",
    "let secret = [0x42u8; 32]; let mut master_secret = [0u8; 48];",
    "pub type PLM_OWF_PASSWORD = *mut LM_OWF_PASSWORD; let secret_suite = TLS13_TEST_SUITE;",
    r#"ClientTrafficSecret => "CLIENT_TRAFFIC_SECRET_0","#,
    "//! Run: `OPENAI_API_KEY=sk-... cargo run`",
    r#"let token = std::env::var("API_TOKEN").expect("API_TOKEN must be set");"#,
    r#"Config { password: std::env::var("DB_PASSWORD")?, user }"#,
    "pub struct Login { pub password: String, pub token: &'static str, secret: [u8; 32] }",
    "fn check(password: &str, secret: u64, key: &[u8; 32]) -> Result<Token2, AuthError> {",
    "let secret = args[1].clone(); let password = argv[0].as_str();",
    "builder.password(self.password.clone()).token(self.settings.token2.as_deref())",
    "let password = Secret::<String>::new(input); let token: Option<Token> = None;",
    r#"Token::Ident(s) => Kind::Secret, Token::Comma => "comma", Token::Secret => "a secret","#,
    "if password.len() < 12 || secret.len() >= 1024 { return Err(Weak) }",
    "if token.expires_at > 1700000000 && password.length > 4096 {",
    r#"headers.insert(AUTHORIZATION, format!("Bearer {token}").parse()?);"#,
    r#"request.header("Authorization", format!("Bearer {}", self.token));"#,
    r#"println!("password={password:?} token={}", token);"#,
    "assert_eq!(password, expected.password); assert!(token != secret);",
    r#"#[serde(rename = "api_key")] api_key: Option<String>, #[arg(long, env = "API_TOKEN")] token: String,"#,
    "let hash = argon2.hash_password(password.as_bytes(), &salt)?; let key = sha256(secret);",
    "let secret = rng.gen::<[u8; 32]>(); let token_count = usage.tokens[0];",
    "while let Some(token) = tokens.next() { match token { Token2 { kind, .. } => kind } }",
    "const MAX_TOKENS: usize = 128_000; const TOKEN_TTL: u64 = 3_600_000;",
    r#"let password = rpassword::prompt_password("Password: ")?;"#,
    "secret->data.key1, token->next.value2",
    "impl Drop for Secret<Key2> { fn drop(&mut self) { self.key.zeroize(); } }",
];

const PYTHON: &[&str] = &[
    "if token == 'async' or token == \"identifier\": return",
    "TOKEN = 'comma'; LEFT_TOKEN = \"left_paren\"; token_kind = 'Whitespace'",
    "statetokens = tokendefs[stack[-1]]; token = tokens[len(x)]",
    "password = pw[: -1]; secret = row[1 :]",
    r#"db.connect(password=os.environ["DB_PASSWORD"])"#,
    r#"password = os.environ['DB_PASSWORD']; token = os.environ.get("TOKEN2", "")"#,
    r#"client = Client(api_key=os.getenv("OPENAI_API_KEY"), token=get_token2(user))"#,
    r#"API_KEY=os.environ["API_KEY"]"#,
    r#"SECRET_KEY=config("SECRET_KEY", default="")"#,
    r#"PASSWORD=getpass.getpass("Password: ")"#,
    "api_key: Optional[str] = None",
    r#"def __init__(self, password: str = "", token: str | None = None, secret=None):"#,
    "self.password = password; self.api_key = api_key or settings.API_KEY",
    "connect(host=host, password=db_password, token=token, secret=secret_value)",
    r#"connect(password=config["password"], token=cfg['auth']['token'])"#,
    r#"conn = psycopg.connect(host="db", user="app", password=settings.password)"#,
    "login(user, password=user_input)",
    "login(username=name, password=pw)",
    r#"headers = {"Authorization": f"Bearer {token}", "X-Api-Key": api_key}"#,
    r#"headers = {"Authorization": "Bearer " + token, "Accept": "*/*"}"#,
    r#"headers["Authorization"] = "Bearer %s" % os.environ["GH_TOKEN"]"#,
    r#"print(f"password={password!r} token={token:>20} {secret=}")"#,
    r#"print("password={}, token={}".format(password, token))"#,
    r#"print("the password=" + password)"#,
    r#"raise ValueError("invalid token: " + name)"#,
    r#"password = input("Enter password: ").strip()"#,
    "password = input('Enter password: ') or getpass('Password: ')",
    r#"query = "SELECT id FROM users WHERE password='" + password_hash + "' AND x=1""#,
    r#"cur.execute("UPDATE users SET password = %s, token = %(token)s WHERE id = %s", (pw, uid))"#,
    r#"re.sub(r"password=.*", "password=***", line); re.search(r"token=([^&]+)", url)"#,
    r#"parser.add_argument("--password", help="the password to use", default=None)"#,
    r#"token = sys.argv[1]; password = args[2]; secret = row["secret"]"#,
    "tokens = tokenizer.encode(text)[0]; token_ids = tokens[0:512]",
    r#"assert response.json()["token_type"] == "bearer""#,
    "secret = hashlib.sha256(data).hexdigest(); token = uuid.uuid4().hex",
    "password: SecretStr = Field(..., min_length=12)",
    r#"if password == "" or token is None: return"#,
];

const SCRIPT: &[&str] = &[
    r#"const token = process.env.API_TOKEN ?? "";"#,
    r#"const client = new Client({ apiKey: process.env["OPENAI_API_KEY"], token });"#,
    "headers: { Authorization: `Bearer ${process.env.GH_TOKEN}` }",
    r#"headers: { Authorization: `Bearer ${token}`, "X-Api-Key": apiKey }"#,
    r#"headers: { "Authorization": "Bearer " + accessToken }"#,
    "interface Login { password: string; token?: string; secret: string | null; }",
    r#"const { password = "", token = null } = req.body;"#,
    "const schema = z.object({ password: z.string().min(12), token: z.string().uuid() });",
    "password: { type: String, required: true, minlength: 12 },",
    "await bcrypt.compare(password, user.password2); const secret = crypto.randomBytes(32);",
    "fetch(`/reset?token=${token}&password=${encodeURIComponent(password)}`);",
    r#"fetch("/login?token=" + token + "&x=1");"#,
    "url = '/login?password=' + password;",
    r#"const token = req.headers["x-token"]; const secret = req.body.secret2;"#,
    "token: tokens[0], accessToken: auth.tokens[index], refreshToken: await getRefreshToken2(user)",
    r#"t("login.password"): "Password", label: "Enter your password","#,
    r#"{ "password": "Enter your password", "token": "The access token", "secret": "Passwords must match" }"#,
    r#"{"password": "Passwort", "newPassword": "Neues Passwort", "confirmPassword": "Contraseña"}"#,
    r#"document.cookie = "theme=dark; path=/";"#,
    r#"<input type="password" name="password" value={password} onChange={e => setPassword(e.target.value)} />"#,
    r#"<TextField label="Password" password={form.password} token={this.props.token} />"#,
    r#"const TOKEN_KEY = "auth_token"; const passwordField = "current-pass";"#,
    r#"tokenUrl: "https://auth.example.com/oauth/token", token_type: "Bearer", tokenType: 'bearer'"#,
    r#"export type Token2 = { secretName: string; passwordHint: "none" };"#,
    r#"logger.info("token: ", token, "password: ", "***");"#,
];

const GO: &[&str] = &[
    r#"Password: os.Getenv("DB_PASSWORD"),"#,
    r#"password := os.Getenv("DB_PASSWORD"); token := flag.Arg(0)"#,
    r#"Token    string `json:"token" yaml:"token,omitempty"`"#,
    r#"Password string `json:"password" db:"password_hash"`"#,
    r#"req.Header.Set("Authorization", "Bearer "+token)"#,
    r#"req.Header.Set("Authorization", fmt.Sprintf("Bearer %s", cfg.Token))"#,
    r#"fmt.Printf("password=%s token=%v secret=%q\n", password, token, secret)"#,
    r#"secret := []byte("x"); key := sha256.Sum256(secret); token := parts[1]"#,
    r#"if token == "" || cfg.Secret == nil { return errors.New("token: missing") }"#,
    r#"dsn := fmt.Sprintf("postgres://%s:%s@%s/app", user, password, host)"#,
];

const SHELL: &[&str] = &[
    r#"curl -H "Authorization: Bearer $TOKEN" https://api.example.com/v1"#,
    r#"curl -H "Authorization: Bearer ${TOKEN}" -H "X-Api-Key: $API_KEY" http://localhost:8080/"#,
    r#"curl -H 'Authorization: Bearer '"$TOKEN" -H "Authorization: token $GITHUB_TOKEN" http://x"#,
    r#"curl -u "$USER:$PASSWORD" http://x && curl -u user:${PASSWORD2} http://x"#,
    "export TOKEN=$(cat /run/secrets/token)",
    r#"export TOKEN="$(gh auth token)""#,
    "TOKEN=`cat token.txt`",
    r#"PASSWORD=$1; TOKEN="${2:-}"; SECRET=${3:?must be set}; API_KEY=$@"#,
    r#"read -sp "Password: " password; echo "Password: $password""#,
    r#"if [ -z "$TOKEN" ] || [ "$PASSWORD" == "" ]; then echo "no token="; fi"#,
    r#"sed -i 's/^PASSWORD=.*/PASSWORD=changeme/' .env && grep -n "password=" .env"#,
    r#"docker run -e PASSWORD=$PASSWORD -e TOKEN -e API_KEY="${API_KEY}" image"#,
    r#"mysql --password="$PASSWORD" --user=app; pg --password=${PGPASSWORD}"#,
    r#"gh secret set TOKEN --body "$TOKEN"; vault kv get -field=password secret/app"#,
    "TOKEN_URL=https://auth.example.com/token SECRET_NAME=my-app PASSWORD_FILE=/run/secrets/db",
    "PASSWORD_MIN_LENGTH=12 TOKEN_TTL=3600s MAX_TOKENS=128k MONKEY=banana KEYBOARD=us",
    "CACHE_KEY=node-modules-v1 SORT_KEY=created PRIMARY_KEY=user_id",
    "set TOKEN=%TOKEN% & $env:TOKEN = $secrets.Token; $password = $row['password']",
    "git clone https://oauth2:$TOKEN@gitlab.example.com/x && git clone https://x:${TOKEN}@git.example.com/x",
    r#"printf 'PASSWORD=%s\n' "$PASSWORD" >> .env"#,
    "TOKEN=GITHUB_TOKEN ./run; API_KEY=YOUR_API_KEY ./run; API_KEY=<your key> ./run",
];

const CONFIG: &[&str] = &[
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "          API_KEY: ${{ secrets.API_KEY }}",
    r#"env: { TOKEN: "${{ github.token }}", PASSWORD: ${{ vars.X }} }"#,
    "git push https://x-access-token:${{ secrets.GITHUB_TOKEN }}@github.com/o/r",
    "permissions: { id-token: write, secrets: read }",
    "secrets: inherit",
    "if: ${{ secrets.TOKEN != '' && github.event_name == 'push' }}",
    "cache-key: node-modules-v1-linux-x64",
    "imagePullSecrets: [{ name: regcred-2 }]",
    "secretKeyRef: { name: db-secret, key: password }",
    "secretName: db-credentials-2",
    "secret: my-app-secret",
    "password: !vault |",
    r#"password: "{{ lookup('env', 'DB_PASSWORD') }}""#,
    "password: !Ref DBPassword",
    "POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:?required}",
    r#"password = "changeme""#,
    r#"token = "..." # put yours here"#,
    r#"api_key = "your_api_key_here""#,
    r#"api_key = "REPLACE_WITH_YOUR_KEY""#,
    "api-key: xxx-xxx-xxx",
    r#"secret = "***""#,
    r#"password = """#,
    "token = '' # none",
    "password = var.db_password",
    "password = random_password.db2.result",
    r#"token = data.vault_generic_secret.app2.data["token"]"#,
    "secret_key = module.iam2.secret_key",
    "password = aws_secretsmanager_secret_version.db[0].secret_string",
    r#"variable "db_password" { type = string, sensitive = true }"#,
    r#""password": { "type": "string", "minLength": 12 }"#,
    r#"{"token": null, "password": "", "secret": true, "api_key": "<key>", "tokens": [1, 2]}"#,
    r#"{"token_type": "bearer", "token_endpoint": "https://auth.example.com/token2", "expires_in": 3600}"#,
    r#"{"password": "********", "token": "xxxx-xxxx", "secret": "[redacted]"}"#,
    r#"max_tokens = 4096, max_completion_tokens: 128000, "max_tokens_to_sample": 100000"#,
    r#"password_min_length = 12345, token_lifetime_seconds: 86400, "secret_version": "version-12""#,
    "--token-color: #ff00aa1; --key-size: 12345678px;",
    "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
    "idempotency-key: 0b6f2c1e-8a4d-4f57-9c3b-2d1e0f9a8b7c",
];

const DATABASE: &[&str] = &[
    "SELECT id FROM users WHERE password = $1 AND token = ?",
    "UPDATE users SET password = :password, token = :token WHERE id = @id",
    "UPDATE users SET password = crypt(:pw2, gen_salt('bf', 12)) WHERE token = NEW.token2",
    "INSERT INTO t (password) VALUES ('') ON CONFLICT DO UPDATE SET password = excluded.password",
    "CREATE TABLE users (password VARCHAR(255) NOT NULL, token CHAR(64), secret BYTEA)",
    "password varchar2(64), secret: uint64, token: base64url, key: sha256",
];

const HTTP: &[&str] = &[
    r#"Authorization: Bearer std::env::var("X")"#,
    r#"Authorization: Bearer config["password"]"#,
    "Authorization: Bearer secrets.API_KEY",
    "Authorization: Bearer self.password",
    r#"Authorization: Bearer os.environ["API_TOKEN_2"]"#,
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer ${TOKEN}",
    "Authorization: Bearer {token}",
    "Authorization: Bearer YOUR_TOKEN",
    "Authorization: Bearer YOUR_ACCESS_TOKEN",
    "Authorization: Bearer %TOKEN%",
    "Authorization: Bearer process.env.API_TOKEN",
    "Authorization: Bearer ${{ secrets.API_TOKEN }}",
    "Authorization: Bearer $(cat token.txt)",
    "Authorization: Bearer {{access_token}}",
    "Authorization: Bearer settings.password",
    "Authorization: Bearer getenv('TOKEN')",
    "Authorization: Bearer *** and Bearer xxxxxxxx",
    "Authorization: Bearer ...",
    "Authorization: Basic base64(client_id:client_secret)",
    "Authorization: Basic <base64(user:password)>",
    "Authorization: AWS4-HMAC-SHA256 Credential=<id>/20260101/us-east-1/s3/aws4_request",
    "Authorization: Bearer tokens are described in RFC 6750.",
    r#"WWW-Authenticate: Bearer realm="example", error="invalid_token", error_description="The token expired""#,
    "X-Api-Key: YOUR_API_KEY",
    "X-Auth-Token: <token>",
    "Cookie: session=<id>; Cookie: session=$SESSION",
    "GET /v1/things?token={token}&api_key=YOUR_KEY&password=<password>",
    r#""securitySchemes": { "bearerAuth": { "type": "http", "scheme": "bearer", "bearerFormat": "JWT" } }"#,
    "postgres://${USER}:${PASSWORD}@db:5432/app, mysql://{user}:{password}@db/app",
];

const PROSE: &[&str] = &[
    "set the `token=` parameter",
    r#"Set the `token=` parameter, then the "password=" field, then 'secret='."#,
    "The `password:` line and the `Authorization: Bearer` header are both needed.",
    r#"Don't put `password = "..."` in code; use `os.environ["DB_PASSWORD"]` instead."#,
    "Pass `--password=<password>` or `--token=$TOKEN`; `api_key=None` is the default.",
    r#"| `api_key` | string | `token: "<token>"` | The key to use |"#,
    "- **token**: the token of the request, `password`: a string of 12 characters",
    "secret: case-sensitive, password: and/or a key file",
    "Das Passwort (`password=`) muss gesetzt sein; token: siehe Abschnitt 4, Schlüssel: keiner.",
    "Le mot de passe (`password=`) est requis ; token : voir la page 12.",
    "La contraseña (`password:`) es obligatoria; secret: véase más abajo.",
    "パスワードは`password=`で渡します。token：必須、secret：なし。",
    "密码通过 `password=` 传入，token：可选，secret：无。",
    "Пароль задаётся в `password=`; token: строка, secret: нет.",
    "The secret: there is none. The key: patience. Password: see below.",
    r#"It says "token:" and 'token:' and `token:` where a token: should be."#,
    "Use password=password only in tests, and secret=secret never.",
    "The public key is ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx8e5gq4VZr7wX2 here",
];

/// Whole, with a line behind, in single characters and in two pieces however they are cut.
fn assert_unchanged(groups: &[&[&str]]) {
    let redactor = Redactor::default();
    let mut wrong = Vec::new();
    for text in groups.iter().copied().flatten() {
        for text in [*text, &format!("{text}\nand so on")] {
            let each: Vec<usize> = (1..text.len()).collect();
            let whole = redactor.redact(text).into_string();
            let cuts = (0..text.len()).map(|cut| pieces(&redactor, text, &[cut]));
            let mut all = cuts.chain([whole, pieces(&redactor, text, &each)]);
            wrong.extend(all.find(|shown| shown != text));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn long_rows_of_digits_and_letters_are_no_secrets_by_themselves() {
    let redactor = Redactor::default();
    for unit in [
        "0123456789abcdef",
        "abcdefgh",
        "Mn4Op5Qr6",
        "SK",
        "0f1e2d3c-",
        "12345678:",
    ] {
        let text = unit.repeat(200);
        assert_eq!(redactor.redact(&text).as_str(), text);
    }
}

#[test]
fn ordinary_text_is_left_alone() {
    assert_unchanged(&[LINES]);
}

#[test]
fn code_that_passes_secrets_on_is_left_alone() {
    let all = [RUST, PYTHON, SCRIPT, GO, SHELL];
    assert!(all.concat().len() >= 90, "{}", all.concat().len());
    assert_unchanged(&all);
}

#[test]
fn configuration_queries_and_headers_are_left_alone() {
    assert_unchanged(&[CONFIG, DATABASE, HTTP]);
}

#[test]
fn words_about_secrets_in_any_language_are_left_alone() {
    assert_unchanged(&[PROSE]);
}
