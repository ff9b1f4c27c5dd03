//! A user of the settings pages during the measurement of the API.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::http::{Client, get};
use crate::outcome::Outcome;

/// What is opened, one after the other.
const PAGES: [&str; 7] = [
    "",
    "/tokens",
    "/requests",
    "/usage",
    "/readiness",
    "/people",
    "/activity",
];

/// A reader, until it is stopped.
pub(crate) struct Reader {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<usize, String>>,
}

impl Reader {
    /// Signs in with a link, and then opens this number of pages a second.
    pub(crate) fn start(address: SocketAddr, link: &str, pages_a_second: u8) -> Outcome<Self> {
        let mut client = Client::connect(address)?;
        let cookie = sign_in(&mut client, link)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let pause = Duration::from_secs(1) / u32::from(pages_a_second.max(1));
        let thread = thread::spawn(move || {
            let mut opened = 0;
            for page in PAGES.iter().cycle() {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                let begun = Instant::now();
                let request = get(
                    &format!("/settings{page}"),
                    "",
                    &format!("Cookie: {cookie}\r\n"),
                );
                client
                    .read_with_head(&request)
                    .map_err(|error| format!("/settings{page}: {error}"))?;
                opened += 1;
                thread::sleep(pause.saturating_sub(begun.elapsed()));
            }
            Ok(opened)
        });
        Ok(Self { stop, thread })
    }

    /// Stops, and returns the number of opened pages, all with status 200.
    pub(crate) fn stop(self) -> Outcome<usize> {
        self.stop.store(true, Ordering::Relaxed);
        let opened = self.thread.join().map_err(|_| "the page reader panicked")?;
        Ok(opened?)
    }
}

/// Opens a link, presses its button, and gives the cookie of the session.
fn sign_in(client: &mut Client, link: &str) -> Outcome<String> {
    let (_, path) = link.split_once("/settings/").ok_or("no sign-in link")?;
    let (head, page) = client.read_with_head(&get(&format!("/settings/{path}"), "", ""))?;
    let page = String::from_utf8(page)?;
    let value = |name: &str| {
        let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\""))?;
        rest.split_once('"').map(|(value, _)| value)
    };
    // Both are of base64url, which needs no encoding in a form.
    let (token, secret) = value("form_token")
        .zip(value("secret"))
        .ok_or("no sign-in form")?;
    let form = format!("form_token={token}&secret={secret}");
    let request = format!(
        "POST /settings/sign-in HTTP/1.1\r\nHost: localhost\r\nCookie: {}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        cookie(&head)?,
        form.len()
    );
    match client.send_for_head(request.as_bytes())? {
        (303, head) => cookie(&head),
        (status, _) => Err(format!("sign-in failed: status {status}").into()),
    }
}

/// The cookie that a reply sets, without its attributes.
fn cookie(head: &str) -> Outcome<String> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    let (_, cookie) = lines
        .find(|(name, _)| name.eq_ignore_ascii_case("set-cookie"))
        .ok_or("the reply sets no cookie")?;
    Ok(cookie.split(';').next().unwrap_or_default().to_owned())
}
