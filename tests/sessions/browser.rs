//! The exported page in a browser: Chromium, which `tests/real/install-browser` installs, driven over a pipe. Without it
//! the test says so and passes, but not where `CI` is `true`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{PATIENCE, Place, installed};
use crate::written;
use crate::{out, written::ID};

/// A browser, and one page of it.
struct Browser {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    session: Option<String>,
    next: u64,
    /// What happened meanwhile.
    events: Vec<Value>,
}

impl Browser {
    fn start(place: &Place) -> Self {
        // It takes its messages from descriptor 3 and gives them to 4, each with a NUL at its end.
        let line = "exec chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --disable-dev-shm-usage \
            --no-first-run --disable-background-networking --remote-debugging-pipe \"--user-data-dir=$1\" about:blank \
            3<&0 4>&1 1>&2";
        let mut child = Command::new("sh")
            .args(["-c", line, "sh"])
            .arg(place.root().join("browser"))
            .env("HOME", place.home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut this = Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            session: None,
            next: 0,
            events: Vec::new(),
        };
        let targets = this.ask("Target.getTargets", json!({}));
        let targets = targets["targetInfos"].as_array().unwrap();
        let page = targets
            .iter()
            .find(|target| target["type"] == "page")
            .unwrap();
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let attached = this.ask("Target.attachToTarget", attach);
        this.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            this.ask(&format!("{domain}.enable"), json!({}));
        }
        this
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let input = self.input.as_mut().unwrap();
        input.write_all(message.to_string().as_bytes()).unwrap();
        input.write_all(b"\0").unwrap();
        loop {
            let message = self.message();
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn message(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.output.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Opens a page and waits until it is there.
    fn open(&mut self, url: &str) {
        self.events.clear();
        self.ask("Page.navigate", json!({"url": url}));
        let deadline = Instant::now() + PATIENCE;
        while !self
            .events
            .iter()
            .any(|event| event["method"] == "Page.loadEventFired")
        {
            assert!(Instant::now() < deadline);
            // An answer brings what happened before it.
            self.ask("Runtime.evaluate", json!({"expression": "1"}));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn look(&mut self, width: u32, scheme: &str) {
        let metrics =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", metrics);
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.ask("Emulation.setEmulatedMedia", media);
    }

    fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true});
        let answer = self.ask("Runtime.evaluate", params);
        assert!(
            answer.get("exceptionDetails").is_none(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    fn picture(&mut self) -> String {
        let answer = self.ask("Page.captureScreenshot", json!({"format": "png"}));
        answer["data"].as_str().unwrap().to_owned()
    }

    fn of(&self, method: &str) -> Vec<&Value> {
        self.events
            .iter()
            .filter(|event| event["method"] == method)
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_page_fits_every_screen_and_asks_nobody_for_anything() {
    if installed("browser").is_none() {
        return;
    }
    let place = Place::new();
    written::rich(&place);
    let file = place.root().join("page.html");
    std::fs::write(&file, out(&place, &["export", ID, "--html"])).unwrap();
    let url = format!("file://{}", file.display());
    let mut browser = Browser::start(&place);
    let mut pictures = Vec::new();
    for width in [320, 360, 768, 1600] {
        for scheme in ["light", "dark"] {
            browser.look(width, scheme);
            browser.open(&url);
            // Everything that can be opened is, since that may be too wide too.
            browser.value("document.querySelectorAll('details').forEach(it => it.open = true)");
            let widths = browser.value(
                "[document.documentElement.scrollWidth, document.documentElement.clientWidth, document.body.scrollWidth]",
            );
            assert_eq!(widths, json!([width, width, width]), "{scheme}");
            pictures.push(browser.picture());
            let requests = browser.of("Network.requestWillBeSent");
            let asked: Vec<_> = requests
                .iter()
                .map(|event| &event["params"]["request"]["url"])
                .collect();
            assert_eq!(asked, [&json!(url)]);
            for noise in [
                "Runtime.exceptionThrown",
                "Runtime.consoleAPICalled",
                "Log.entryAdded",
            ] {
                assert!(browser.of(noise).is_empty(), "{:?}", browser.of(noise));
            }
        }
    }
    for pair in pictures.chunks(2) {
        assert_ne!(pair[0], pair[1], "light is not dark");
    }
    assert_eq!(
        browser.value("document.title"),
        "The login test is flaky. Find out why."
    );
    assert_eq!(
        browser
            .value("document.querySelectorAll('script, img, iframe, link, object, form').length"),
        0
    );
    assert_eq!(
        browser.value("document.querySelectorAll('.turns li').length"),
        3
    );
    assert_eq!(
        browser.value("document.querySelectorAll('main > .turn').length"),
        3
    );
    assert_eq!(
        browser.value("document.querySelectorAll('.turn .turn').length"),
        1
    );
    assert_eq!(
        browser.value("document.querySelectorAll('.track > i').length > 20"),
        true
    );
    let text = browser.value("document.body.innerText");
    for part in [
        "I'll look at the test.",
        "<script>document.title='owned'</script>",
        "Thinking",
        "שלום, commit it 👨‍👩‍👧",
    ] {
        assert!(text.as_str().unwrap().contains(part), "{part} in {text}");
    }
    // Two colours of words on their ground can be told apart, in both schemes.
    let contrast = "(() => { const rgb = e => getComputedStyle(e); const lum = c => { const v = c.match(/[\\d.]+/g).slice(0, 3)\
        .map(x => x / 255).map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4); return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };\
        const ground = e => { for (; e; e = e.parentElement) { const c = rgb(e).backgroundColor; if (c != 'rgba(0, 0, 0, 0)') return c; } };\
        return Math.min(...[...document.querySelectorAll('h1, .about, dt, dd, .user, .said p, .name, .about-it, .took, .legend, .note, .tag, a')]\
        .map(e => { const [a, b] = [lum(rgb(e).color), lum(ground(e))].sort((x, y) => y - x); return (a + .05) / (b + .05); })); })()";
    for scheme in ["light", "dark"] {
        browser.look(1600, scheme);
        let least = browser.value(contrast);
        assert!(least.as_f64().unwrap() >= 4.5, "{scheme}: {least}");
    }
}
