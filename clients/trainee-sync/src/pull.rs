//! `pull`: brings the copy up to date by following the changes of the register.
//!
//! Without a cursor the register shows every trainee, and with one what has changed since then.
//! Where the cursor is void, because the register was restored or moved, the copy begins again.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::connection::Connection;
use crate::export::export;
use crate::place::Place;
use crate::register::Followed;

/// How long a request of `pull --follow` waits for a change, in seconds.
const WAIT_SECS: u64 = 20;
/// How long `pull --follow` pauses where the register did not let it wait.
const PAUSE: Duration = Duration::from_secs(5);
/// How often a pull begins again: a register that refuses its own cursors would never
/// end.
const MOST_BEGINNINGS: usize = 2;

/// What a pull did.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Pulled {
    pub(crate) stored: usize,
    pub(crate) removed: usize,
}

/// Brings the copy up to date.
pub(crate) fn pull(connection: &mut Connection, page_size: usize) -> Result<Pulled> {
    let mut steps = Steps::new(page_size, None);
    while !steps.step(connection)? {}
    write_files(connection)?;
    connection.progress.clear();
    Ok(steps.pulled)
}

/// Brings the copy up to date, and keeps it so until the program is ended. It can be killed at any
/// time.
pub(crate) fn follow(connection: &mut Connection, page_size: usize) -> Result<Pulled> {
    pull(connection, page_size)?;
    connection
        .progress
        .say("following the changes; end with Ctrl-C");
    let mut steps = Steps::new(page_size, Some(WAIT_SECS));
    loop {
        let begun = Instant::now();
        (steps.pulled, steps.beginnings) = (Pulled::default(), 0);
        while !steps.step(connection)? {}
        write_files(connection)?;
        let Pulled { stored, removed } = steps.pulled;
        // Where too many wait already, the register answers at once that there is nothing.
        if stored + removed == 0 && begun.elapsed() < PAUSE {
            thread::sleep(PAUSE);
        }
    }
}

/// The requests that bring a copy up to date.
struct Steps {
    page_size: usize,
    /// How long a request waits for a change, in seconds.
    wait: Option<u64>,
    pulled: Pulled,
    beginnings: usize,
    /// The cursor and the entity tag of the last page, if the page was empty.
    known: Option<(String, String)>,
}

impl Steps {
    fn new(page_size: usize, wait: Option<u64>) -> Self {
        Self {
            page_size,
            wait,
            pulled: Pulled::default(),
            beginnings: 0,
            known: None,
        }
    }

    /// One request. Returns whether the copy is up to date.
    fn step(&mut self, connection: &mut Connection) -> Result<bool> {
        let after = connection.store.cursor()?;
        let known = self.known.as_ref();
        let known = known.filter(|(cursor, _)| after.as_ref() == Some(cursor));
        let followed = connection.register().changes(
            after.as_deref(),
            self.page_size,
            self.wait,
            known.map(|(_, etag)| etag.as_str()),
        )?;
        let page = match followed {
            Followed::Page(page) => page,
            Followed::Unchanged => return Ok(true),
            Followed::CursorIsVoid => {
                self.begin_again(connection)?;
                return Ok(false);
            }
        };
        let applied = connection.store.apply(&page)?;
        self.pulled.stored += applied.stored;
        self.pulled.removed += applied.removed;
        if !page.data.is_empty() {
            let requests = connection.client.count();
            let stored = self.pulled.stored + self.pulled.removed;
            connection
                .progress
                .show("changes stored", stored, None, requests);
        }
        let is_same = after.as_ref() == Some(&page.meta.after);
        let etag = page.etag.filter(|_| is_same);
        self.known = etag.map(|etag| (page.meta.after, etag));
        Ok(!page.meta.has_more)
    }

    /// Discards the copy, unless the register refuses its own cursors.
    fn begin_again(&mut self, connection: &mut Connection) -> Result<()> {
        self.beginnings += 1;
        if self.beginnings > MOST_BEGINNINGS {
            bail!(
                "the register refuses its own cursors; inform the operator, and pull again later"
            );
        }
        connection
            .progress
            .say("the register was restored or moved since the last pull: the copy begins again");
        connection.store.begin_again()
    }
}

fn write_files(connection: &Connection) -> Result<()> {
    if let Place::CsvFolder(folder) = &connection.place {
        export(&connection.store, folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    use clap::Parser;

    use super::*;
    use crate::connection::{ConnectionOptions, PlaceOptions};

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        connection: ConnectionOptions,
        #[command(flatten)]
        place: PlaceOptions,
    }

    const ACCOUNT: &str =
        r#"{"data":{"provider":{"ukprn":"10000001","name":"A"},"environment":"sandbox"}}"#;

    fn page(after: &str) -> String {
        format!(r#"{{"data":[],"meta":{{"after":"{after}","has_more":false}}}}"#)
    }

    /// A register that gives each request the next reply: a status line, an entity tag and a body.
    /// Returns its address, and the heads of the requests in lower case.
    fn register(
        replies: Vec<(&'static str, &'static str, String)>,
    ) -> (String, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let answering = thread::spawn(move || {
            let answer = |(status, etag, body): (&str, &str, String)| {
                let (mut stream, _) = listener.accept().unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let lines = lines
                    .map(Result::unwrap)
                    .take_while(|line| !line.is_empty());
                let head: Vec<String> = lines.map(|line| line.to_lowercase()).collect();
                let length = body.len();
                write!(
                    stream,
                    "HTTP/1.1 {status}\r\nETag: {etag}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                )
                .unwrap();
                head.join("\n")
            };
            replies.into_iter().map(answer).collect()
        });
        (address, answering)
    }

    #[test]
    fn entity_tag_of_an_empty_page_is_sent_with_its_cursor() {
        let (address, answering) = register(vec![
            ("200 OK", "\"account\"", ACCOUNT.to_owned()),
            ("200 OK", "W/\"first\"", page("c1")),
            ("200 OK", "W/\"empty\"", page("c1")),
            ("304 Not Modified", "W/\"empty\"", String::new()),
            ("200 OK", "W/\"changed\"", page("c2")),
            ("200 OK", "W/\"empty\"", page("c2")),
        ]);
        let folder = tempfile::tempdir().unwrap();
        let token = folder.path().join("token");
        std::fs::write(&token, "sandbox_0123456789").unwrap();
        let copy = folder.path().join("copy.db");
        let options = Options::parse_from([
            "pull".as_ref(),
            "--register".as_ref(),
            address.as_ref(),
            "--version".as_ref(),
            "v2026.1".as_ref(),
            "--token-file".as_ref(),
            token.as_os_str(),
            "--sqlite".as_ref(),
            copy.as_os_str(),
        ]);
        let mut connection = Connection::open(&options.connection, &options.place).unwrap();
        let mut steps = Steps::new(50, None);
        for _ in 0..5 {
            assert!(steps.step(&mut connection).unwrap());
        }
        assert_eq!(connection.store.cursor().unwrap().as_deref(), Some("c2"));
        let heads = answering.join().unwrap();
        let sent: Vec<bool> = heads
            .iter()
            .map(|head| head.contains("if-none-match: w/\"empty\""))
            .collect();
        assert_eq!(sent, [false, false, false, true, true, false]);
    }
}
