//! Ordinary prose and code must stay readable: lines that speak of keys and passwords and hold none.

use super::*;

const LINES: &[&str] = &[
    "The token is a unit of text, and the key idea is that keys repeat.",
    "let token = parser.next_token();\nlet key = map.keys().next();",
    "{\"key\": \"title\", \"name\": \"password reset\"}",
    "task-queue-with-a-rather-long-name-2 and desk-lamp-number-20-of-the-collection-3",
    "sk-folding-cube-wrapper-container-element",
    "PWD=/home/user/project MAX_TOKENS=4096 PORT=8080",
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

#[test]
fn ordinary_text_is_left_alone() {
    assert!(LINES.len() >= 40, "{}", LINES.len());
    let redactor = Redactor::default();
    let mut wrong = Vec::new();
    for text in LINES {
        let each: Vec<usize> = (1..text.len()).collect();
        for shown in [
            redactor.redact(text).into_string(),
            redactor.redact(&format!("{text}\n")).into_string(),
            pieces(&redactor, text, &each),
        ] {
            if shown.trim_end() != *text {
                wrong.push(shown);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
