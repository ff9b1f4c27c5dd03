//! The rows of an uploaded file on servers that are killed while they check and send them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;
use ureq::Agent;
use versions::SERVED;

use crate::program::support::{Server, Workplace, execute, texts, wait_until};
use crate::program::users;

const UKPRN: &str = "10012345";
/// The environment variables for the numbers of rows and of kills in each of the two stages. A server
/// stores the results of 50 rows at a time.
const ROWS: (&str, usize) = ("UPLOAD_ROWS", 200);
const KILLS: (&str, usize) = ("UPLOAD_KILLS", 2);
/// The keys of the registered trainees.
const KEYS: &str = "SELECT record ->> 'provider_trainee_id' AS text FROM trainees \
                    JOIN providers ON providers.id = provider_id WHERE ukprn = '10012345'";
/// What time does: the lease of the killed server ends.
const LEASE_ENDS: &str =
    "UPDATE uploads SET worked_until = '2026-01-01 00:00:00' WHERE worked_until IS NOT NULL";

/// Reads a number from the environment.
fn number((variable, default): (&str, usize)) -> usize {
    std::env::var(variable).map_or(default, |value| value.parse().unwrap())
}

/// A file of trainees who are valid in the newest version and differ from each other.
fn file(rows: usize) -> String {
    let example = server::sandbox::demo::example(SERVED.last().unwrap());
    let example: Value = serde_json::from_str(&example).unwrap();
    let fields = example["data"].as_object().unwrap().iter();
    let fields: Vec<_> = fields
        .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
        .filter(|(name, _)| !["last_name", "email", "provider_trainee_id"].contains(name))
        .collect();
    let mut file = "provider_trainee_id,last_name,email".to_owned();
    for (name, _) in &fields {
        write!(file, ",{name}").unwrap();
    }
    for row in 0..rows {
        write!(file, "\n26-{row:04},Oak{row},oak{row}@example.com").unwrap();
        for (_, value) in &fields {
            write!(file, ",\"{value}\"").unwrap();
        }
    }
    file
}

/// A person who is signed in, and whose browser outlives the servers.
struct Person {
    browser: Agent,
    cookies: String,
    form_token: String,
}

impl Person {
    fn send(&self, server: &Server, path: &str) {
        let url = format!("http://{}{path}", server.address());
        let form = format!("form_token={}", self.form_token);
        let answer = users::ask(&self.browser, &url, &self.cookies, Some(&form));
        assert_eq!(answer.status, 303, "{}", answer.text);
    }

    fn open(&self, server: &Server, path: &str) -> String {
        let url = format!("http://{}{path}", server.address());
        users::ask(&self.browser, &url, &self.cookies, None).text
    }

    /// Uploads the file, and keeps the key of the browser. Returns the path of the upload.
    fn upload(&mut self, server: &Server, rows: usize) -> String {
        let body = format!(
            "--x\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\n{}\r\n\
             --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"t.csv\"\r\n\r\n\
             {}\r\n--x--\r\n",
            self.form_token,
            file(rows)
        );
        let url = format!("http://{}/settings/upload", server.address());
        let request = self.browser.post(url).header("Cookie", &self.cookies);
        let request = request.header("Content-Type", "multipart/form-data; boundary=x");
        let (head, _) = request.send(body).unwrap().into_parts();
        let header = |name: &str| head.headers[name].to_str().unwrap().to_owned();
        let key = header("set-cookie");
        self.cookies = format!("{}; {}", self.cookies, key.split(';').next().unwrap());
        header("location")
    }
}

/// Whether the page of an upload shows the results of a stage.
fn is_finished(page: &str, rows: usize) -> bool {
    page.contains(&format!("Send {rows} rows")) || page.contains("Report on upload")
}

/// The number of rows that the page of a running upload reports as done.
fn rows_done(page: &str, rows: usize) -> Option<usize> {
    let (before, _) = page.split_once(&format!(" of {rows} rows are "))?;
    before.rsplit_once('>')?.1.parse().ok()
}

/// Kills the server, each time after it has worked on more rows, and closes the browser.
fn kill_at_different_rows(
    place: &Workplace,
    mut server: Server,
    (person, path): (&mut Person, &str),
    (rows, kills): (usize, usize),
) -> Server {
    for kill in 0..kills {
        wait_until("the server has worked on more rows", || {
            let page = person.open(&server, path);
            let wanted = kill * rows / (kills + 1);
            is_finished(&page, rows) || rows_done(&page, rows).is_some_and(|done| done > wanted)
        });
        drop(server);
        execute(&place.url(), LEASE_ENDS);
        server = place.serve(&[], None);
        person.browser = users::browser();
    }
    server
}

#[test]
fn killed_servers_check_and_send_each_row_once() {
    let (rows, kills) = (number(ROWS), number(KILLS));
    let place = Workplace::migrated();
    let added = ["provider", "add", "--ukprn", UKPRN, "--name", "Ashdown"];
    assert_eq!(place.run(&added, None).status(), 0);
    let mut server = place.serve(&[], None);
    let site = format!("http://{}", server.address());
    let invite = [
        &["user", "invite", "--provider", UKPRN, "--role", "editor"][..],
        &["--email", "e@example.com", "--settings-url", &site],
    ]
    .concat();
    let link = place.run(&invite, None).stdout().trim_end().to_owned();
    let browser = users::browser();
    let cookies = users::sign_in(&browser, &link);
    let mut person = Person {
        browser,
        cookies,
        form_token: String::new(),
    };
    let home = person.open(&server, "/settings");
    person.form_token = users::form_token(&home).to_owned();
    let path = person.upload(&server, rows);
    person.send(&server, &format!("{path}/check"));
    server = kill_at_different_rows(&place, server, (&mut person, &path), (rows, kills));
    wait_until("the rows are checked", || {
        is_finished(&person.open(&server, &path), rows)
    });
    person.send(&server, &format!("{path}/send"));
    server = kill_at_different_rows(&place, server, (&mut person, &path), (rows, kills));
    wait_until("all rows are sent", || {
        is_finished(&person.open(&server, &path), rows)
    });
    let keys = texts(&place.url(), KEYS);
    assert_eq!(keys.len(), rows, "a row was lost or sent twice");
    let distinct: BTreeSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), rows);
    let report = person.open(&server, &path);
    assert!(report.contains(&format!(">{rows}<")), "{report}");
}
