//! The rows of an uploaded file on servers that share the work, and are killed while they check and
//! send them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ureq::Agent;

use crate::program::support::{Server, Workplace, example, wait_until};
use crate::program::users;

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
    let example = example("Example");
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

/// An editor who is signed in, and whose browser outlives the servers.
struct Person {
    browser: Agent,
    cookies: String,
    form_token: String,
}

impl Person {
    /// Adds the organisation, and signs its editor in.
    fn sign_in(place: &Workplace, server: &Server) -> Self {
        place.done("provider add --ukprn 10012345 --name Ashdown");
        let link = place.done(format!(
            "user invite --provider 10012345 --role editor --email e@example.com --settings-url http://{}",
            server.address()
        ));
        let browser = users::browser();
        let cookies = users::sign_in(&browser, &link);
        let mut person = Self {
            browser,
            cookies,
            form_token: String::new(),
        };
        let home = person.open(server, "/settings");
        person.form_token = users::form_token(&home).to_owned();
        person
    }

    fn send(&self, server: &Server, path: &str, fields: &str) {
        let url = format!("http://{}{path}", server.address());
        let form = format!("form_token={}{fields}", self.form_token);
        let answer = users::ask(&self.browser, &url, &self.cookies, Some(&form));
        assert_eq!(answer.status, 303, "{}", answer.text);
    }

    fn open(&self, server: &Server, path: &str) -> String {
        let url = format!("http://{}{path}", server.address());
        users::ask(&self.browser, &url, &self.cookies, None).text
    }

    /// Uploads a file, and begins its check. Returns the path of the upload.
    fn upload(&self, server: &Server, file: &str) -> String {
        let body = format!(
            "--x\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\n{}\r\n\
             --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"t.csv\"\r\n\r\n\
             {file}\r\n--x--\r\n",
            self.form_token,
        );
        let url = format!("http://{}/settings/upload", server.address());
        let request = self.browser.post(url).header("Cookie", &self.cookies);
        let request = request.header("Content-Type", "multipart/form-data; boundary=x");
        let (head, _) = request.send(body).unwrap().into_parts();
        let path = head.headers["location"].to_str().unwrap().to_owned();
        let mut fields = String::new();
        for (place, name) in file.lines().next().unwrap().split(',').enumerate() {
            write!(fields, "&column-{}={name}", place + 1).unwrap();
        }
        self.send(server, &format!("{path}/columns"), &fields);
        path
    }
}

/// The number of rows with one of these statuses.
fn rows_with(place: &Workplace, statuses: &str) -> usize {
    let query = format!("SELECT status AS text FROM upload_rows WHERE status IN ({statuses})");
    place.texts(&query).len()
}

/// Waits until all rows have these statuses, with no request of a browser.
fn wait_for_rows(place: &Workplace, statuses: &str, rows: usize) {
    wait_until("all rows have their result", || {
        rows_with(place, statuses) == rows
    });
}

/// Kills the server, each time after it has worked on more rows.
fn kill_at_different_rows(
    place: &Workplace,
    mut server: Server,
    statuses: &str,
    (rows, kills): (usize, usize),
) -> Server {
    for kill in 0..kills {
        wait_until("the server has worked on more rows", || {
            rows_with(place, statuses) > kill * rows / (kills + 1)
        });
        drop(server);
        place.execute(LEASE_ENDS);
        server = place.serve("");
    }
    server
}

/// Checks that each row has registered one trainee.
fn assert_each_row_is_registered_once(place: &Workplace, rows: usize) {
    let keys = place.texts(KEYS);
    assert_eq!(keys.len(), rows, "a row was lost or sent twice");
    let distinct: BTreeSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), rows);
}

#[test]
fn killed_servers_send_each_row_once() {
    let (rows, kills) = (number(ROWS), number(KILLS));
    let place = Workplace::migrated();
    let mut server = place.serve("");
    let person = Person::sign_in(&place, &server);
    let path = person.upload(&server, &file(rows));
    server = kill_at_different_rows(&place, server, "'register'", (rows, kills));
    wait_for_rows(&place, "'register'", rows);
    wait_until("the check is finished", || {
        person.open(&server, &path).contains("Check of upload 1")
            && person.open(&server, &path).contains("Will be registered")
    });
    person.send(&server, &format!("{path}/send"), "");
    server = kill_at_different_rows(&place, server, "'registered'", (rows, kills));
    wait_for_rows(&place, "'registered'", rows);
    assert_each_row_is_registered_once(&place, rows);
    wait_until("the report is shown", || {
        person.open(&server, &path).contains("Report on upload 1")
    });
    let report = person.open(&server, "/settings/requests");
    assert!(
        report.contains(&format!("{rows} rows: {rows} registered")),
        "{report}"
    );
}

#[test]
fn two_servers_send_each_row_once() {
    let place = Workplace::migrated();
    let servers = [place.serve(""), place.serve("")];
    let [one, other] = &servers;
    let person = Person::sign_in(&place, one);
    let rows = 120;
    let path = person.upload(one, &file(rows));
    wait_for_rows(&place, "'register'", rows);
    wait_until("the check is finished", || {
        person.open(other, &path).contains("Will be registered")
    });
    person.send(other, &format!("{path}/send"), "");
    wait_for_rows(&place, "'registered'", rows);
    assert_each_row_is_registered_once(&place, rows);
}
