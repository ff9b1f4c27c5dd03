//! A browser without a window, driven as the W3C recommends (WebDriver), over HTTP.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_support::{Process, Tool, has_tools};
use ureq::Agent;

/// How long anything in the browser may take.
const TIMEOUT: Duration = Duration::from_mins(1);
/// By what name a reply calls an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Keys, as the recommendation writes them.
pub(crate) const TAB: &str = "\u{E004}";
pub(crate) const ENTER: &str = "\u{E007}";
pub(crate) const DOWN: &str = "\u{E015}";
const CONTROL: &str = "\u{E009}";

/// Whether the pages may run scripts. The driver can in either case.
#[derive(Clone, Copy)]
pub(crate) enum Scripts {
    Run,
    Blocked,
}

/// A browser with one page, which is closed when this is dropped.
pub(crate) struct Browser {
    agent: Agent,
    _driver: Process,
    session: String,
}

impl Browser {
    /// Starts a browser. Returns `None`, and reports the calling test as skipped, where there is
    /// none.
    pub(crate) fn start(scripts: Scripts) -> Option<Self> {
        if !has_tools(&[Tool::Chromium, Tool::Chromedriver]) {
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let driver = Process::start(
            Tool::Chromedriver
                .command()
                .arg(format!("--port={port}"))
                .stdout(Stdio::null()),
        );
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(TIMEOUT))
            .build()
            .into();
        let mut browser = Self {
            agent,
            _driver: driver,
            session: format!("http://127.0.0.1:{port}"),
        };
        browser.wait_for_driver();
        let preferences = match scripts {
            Scripts::Run => json!({}),
            Scripts::Blocked => json!({ "profile.managed_default_content_settings.javascript": 2 }),
        };
        // Only root needs to do without the sandbox, and only trusted pages are shown.
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ];
        let options = json!({ "args": arguments, "prefs": preferences });
        let wanted = json!({ "browserName": "chrome", "goog:chromeOptions": options });
        let session = browser.post(
            "/session",
            &json!({ "capabilities": { "alwaysMatch": wanted } }),
        );
        let id = session["sessionId"].as_str().unwrap().to_owned();
        browser.session = format!("{}/session/{id}", browser.session);
        Some(browser)
    }

    fn wait_for_driver(&self) {
        let begun = Instant::now();
        while self
            .agent
            .get(format!("{}/status", self.session))
            .call()
            .is_err()
        {
            assert!(begun.elapsed() < TIMEOUT, "the driver does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn value(&self, request: ureq::http::Request<String>) -> Value {
        let asked = format!("{} {}", request.method(), request.uri());
        let (head, mut body) = self.agent.run(request).unwrap().into_parts();
        let mut reply: Value = serde_json::from_str(&body.read_to_string().unwrap()).unwrap();
        assert!(head.status.is_success(), "{asked}: {reply:#}");
        reply["value"].take()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let request = ureq::http::Request::post(format!("{}{path}", self.session));
        self.value(
            request
                .header("Content-Type", "application/json")
                .body(body.to_string())
                .unwrap(),
        )
    }

    /// Opens a page.
    pub(crate) fn open(&self, address: &str) {
        self.post("/url", &json!({ "url": address }));
    }

    /// Evaluates an expression in the page.
    pub(crate) fn see(&self, expression: &str) -> Value {
        self.post(
            "/execute/sync",
            &json!({ "script": format!("return {expression};"), "args": [] }),
        )
    }

    /// Runs a script in the page.
    pub(crate) fn run(&self, script: &str) {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }));
    }

    /// Runs a script in the page, which calls its last argument with what it finds.
    pub(crate) fn run_async(&self, script: &str) -> Value {
        self.post("/execute/async", &json!({ "script": script, "args": [] }))
    }

    /// Evaluates an expression that is a text.
    pub(crate) fn read(&self, expression: &str) -> String {
        self.see(expression)
            .as_str()
            .unwrap_or_else(|| panic!("{expression} is no text"))
            .to_owned()
    }

    /// The visible text of the first element that a selector finds.
    pub(crate) fn text(&self, selector: &str) -> String {
        let found = self.post(
            "/element",
            &json!({ "using": "css selector", "value": selector }),
        );
        let element = found[ELEMENT].as_str().unwrap();
        let request = ureq::http::Request::get(format!("{}/element/{element}/text", self.session));
        self.value(request.body(String::new()).unwrap())
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Presses keys, one after the other, wherever the focus is.
    pub(crate) fn press(&self, keys: &str) {
        let press = |key: char| {
            [
                json!({ "type": "keyDown", "value": key }),
                json!({ "type": "keyUp", "value": key }),
            ]
        };
        let actions: Vec<Value> = keys.chars().flat_map(press).collect();
        self.post(
            "/actions",
            &json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] }),
        );
    }

    /// Presses Enter, and waits for the next page, which may have the title of the current one.
    #[track_caller]
    pub(crate) fn enter(&self) {
        self.run("window.isBefore = true;");
        self.press(ENTER);
        self.wait_until("window.isBefore === undefined && document.readyState === 'complete'");
    }

    /// Selects all of the field that has the focus.
    pub(crate) fn select_all(&self) {
        let key = |kind: &str, value: &str| json!({ "type": kind, "value": value });
        let actions = [
            key("keyDown", CONTROL),
            key("keyDown", "a"),
            key("keyUp", "a"),
            key("keyUp", CONTROL),
        ];
        self.post(
            "/actions",
            &json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] }),
        );
    }

    /// Presses the Tab key until the focus moves. The browser drops keys until it has shown a page for
    /// the first time.
    #[track_caller]
    pub(crate) fn tab(&self) {
        self.run("window.focused = document.activeElement;");
        let begun = Instant::now();
        while self.see("window.focused === document.activeElement") == Value::Bool(true) {
            assert!(begun.elapsed() < TIMEOUT, "the Tab key moves no focus");
            self.press(TAB);
        }
    }

    /// Presses the Tab key until the element with this id has the focus, and says where the focus
    /// has been.
    pub(crate) fn tab_to(&self, id: &str) -> Vec<String> {
        let mut been = Vec::new();
        while been.last().is_none_or(|last| last != id) {
            assert!(
                been.len() < 60,
                "the Tab key does not lead to {id}: {been:?}"
            );
            self.tab();
            been.push(self.focus());
        }
        been
    }

    /// What has the focus: its id, or the text of a link or a button.
    pub(crate) fn focus(&self) -> String {
        self.read("document.activeElement.id || document.activeElement.textContent.trim()")
    }

    /// Waits until an expression holds in the page, which may be on its way.
    #[track_caller]
    pub(crate) fn wait_until(&self, expression: &str) {
        let begun = Instant::now();
        while self.see(expression) != Value::Bool(true) {
            assert!(begun.elapsed() < TIMEOUT, "{expression} does not come");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Takes a picture of the page from its top, as PNG in base64.
    pub(crate) fn picture(&self, width: u32, height: u32) -> String {
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let params = json!({ "clip": clip, "captureBeyondViewport": true });
        let command = json!({ "cmd": "Page.captureScreenshot", "params": params });
        self.post("/goog/cdp/execute", &command)["data"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Sets the colour scheme that the page is asked for, `light` or `dark`, and waits until the
    /// page has it.
    pub(crate) fn set_colour_scheme(&self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        let params = json!({ "features": [feature] });
        let command = json!({ "cmd": "Emulation.setEmulatedMedia", "params": params });
        self.post("/goog/cdp/execute", &command);
        // Swagger UI fades colours. On a busy machine axe-core saw one between dark and light.
        self.wait_until("document.getAnimations().every(one => one.playState !== 'running')");
    }

    /// Sets the medium that the page is shown on: `screen` or `print`.
    pub(crate) fn set_medium(&self, medium: &str) {
        let params = json!({ "media": medium });
        let command = json!({ "cmd": "Emulation.setEmulatedMedia", "params": params });
        self.post("/goog/cdp/execute", &command);
    }

    /// Sets the width of the page in pixels.
    pub(crate) fn set_width(&self, pixels: u32) {
        let metrics = json!({ "width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": pixels < 600 });
        let command = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": metrics });
        self.post("/goog/cdp/execute", &command);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends the browser too, which the driver has started and which would outlive it.
        let _ = self.agent.delete(&self.session).call();
    }
}
