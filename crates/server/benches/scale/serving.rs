//! A register that is served by the real server, and what a client has to know to ask it.

use std::collections::HashMap;
use std::error::Error;
use std::net::TcpListener;
use std::thread;

use chrono::Utc;
use server::register::Register;
use storage::store::{Store, StoreOptions};
use storage::tokens::{Environment, NewToken};

use super::asking::Client;
use super::growing;

/// A register that is being served, until the program ends.
pub(crate) struct Served {
    /// The way to it, as the provider with the most trainees.
    pub(crate) client: Client,
    /// Some trainees of the provider.
    pub(crate) trainees: Vec<String>,
    /// A word by which the trainees of this run are told from those of others.
    pub(crate) run: String,
    /// Requests that were sent.
    pub(crate) sent: usize,
    known: HashMap<String, i64>,
}

impl Served {
    /// Fills the database, if need be, and serves it.
    pub(crate) fn over(url: &str, trainees: usize) -> Result<Self, Box<dyn Error>> {
        let store = Store::open(url, StoreOptions::default())?;
        store.migrate()?;
        growing::grow(&store, url, trainees)?;
        let (token, _) = store.write_blocking(|session| {
            session.issue_token(&NewToken {
                provider_ukprn: &growing::ukprn(0),
                environment: Environment::Sandbox,
                name: "benchmark",
                created_by: "benchmark",
                expires_on: None,
            })
        })?;
        let register = Register::of(store, Environment::Sandbox);
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let server = move || {
            actix_web::rt::System::new()
                .block_on(async move { server::serve::server(register, listener)?.await })
                .unwrap_or_else(|error| eprintln!("scale: the server has ended: {error}"));
        };
        thread::spawn(server);
        let client = Client::of(address, token.reveal())?;
        let trainees = client.some_trainees()?;
        let run = format!("Example {}", Utc::now().timestamp_millis());
        Ok(Self { client, trainees, run, sent: 0, known: HashMap::new() })
    }

    /// What was found out under that name, or is found out now.
    pub(crate) fn know(
        &mut self,
        name: &str,
        find: impl FnOnce(&Client) -> Result<i64, Box<dyn Error>>,
    ) -> Result<i64, Box<dyn Error>> {
        if let Some(known) = self.known.get(name) {
            return Ok(*known);
        }
        let found = find(&self.client)?;
        self.known.insert(name.to_owned(), found);
        Ok(found)
    }
}
