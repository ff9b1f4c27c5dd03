//! The limit program: what a server on the same HTTP library and the same database can reach that
//! reads one row by its key, or inserts one row durably, and does nothing else. It shares a commit
//! among waiting requests, as the register does.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;

use actix_web::error::ErrorInternalServerError;
use actix_web::web::{Bytes, Data, PayloadConfig};
use actix_web::{App, Error, HttpRequest, HttpResponse, HttpServer, web};
use diesel::connection::SimpleConnection as _;
use diesel::{
    Connection as _, ExpressionMethods as _, QueryDsl as _, RunQueryDsl as _, SqliteConnection,
};
use tokio::sync::oneshot;

use crate::outcome::Outcome;

/// The most inserts that share a commit, as in the register.
const GROUP: usize = 64;
/// The bytes of a reply to an insert.
const REPLY: &[u8] = &[b'x'; 65_536];

diesel::table! {
    replies (key) {
        key -> BigInt,
        body -> Binary,
    }
}

diesel::table! {
    inserted (id) {
        id -> BigInt,
        body -> Binary,
    }
}

/// A connection that is as sure of the disk as the register's, with as much cache as all of the
/// register's together.
fn connect(path: &str) -> Outcome<SqliteConnection> {
    let mut connection = SqliteConnection::establish(path)?;
    let pragmas = "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32768; \
         PRAGMA wal_autocheckpoint = 4000";
    connection.batch_execute(pragmas)?;
    Ok(connection)
}

/// Makes the database of a limit program with the bodies of its replies.
pub(crate) fn fill(path: &str, bodies: impl IntoIterator<Item = (i64, Vec<u8>)>) -> Outcome<()> {
    let mut connection = connect(path)?;
    connection.batch_execute(
        "CREATE TABLE IF NOT EXISTS replies (key INTEGER PRIMARY KEY, body BLOB NOT NULL);
         CREATE TABLE IF NOT EXISTS inserted (id INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    )?;
    connection.transaction(|connection| {
        bodies.into_iter().try_for_each(|(key, body)| {
            let row = (replies::key.eq(key), replies::body.eq(body));
            diesel::insert_into(replies::table)
                .values(row)
                .execute(connection)
                .map(drop)
                .map_err(Into::into)
        })
    })
}

/// An insert that waits for the writer.
type Waiting = (Bytes, oneshot::Sender<()>);

/// The thread that inserts, with up to `group` requests in a commit.
fn writer(path: &str, group: usize) -> Outcome<mpsc::Sender<Waiting>> {
    let mut connection = connect(path)?;
    let (sender, receiver) = mpsc::channel::<Waiting>();
    thread::spawn(move || {
        while let Ok(first) = receiver.recv() {
            let waiting: Vec<_> = std::iter::once(first)
                .chain(receiver.try_iter().take(group - 1))
                .collect();
            let inserted = connection.immediate_transaction(|connection| {
                waiting.iter().try_for_each(|(body, _)| {
                    let row = inserted::body.eq(body.as_ref());
                    diesel::insert_into(inserted::table)
                        .values(row)
                        .execute(connection)
                        .map(drop)
                })
            });
            if let Err(error) = inserted {
                eprintln!("limit: {error}");
                return;
            }
            // A client that has gone away gets no reply.
            waiting.into_iter().for_each(|(_, done)| {
                let _ = done.send(());
            });
        }
    });
    Ok(sender)
}

/// `GET /KEY`. The path is no pattern, which would have to be matched.
async fn read(request: HttpRequest) -> Result<HttpResponse, Error> {
    let key: i64 = request
        .path()
        .trim_start_matches('/')
        .parse()
        .map_err(ErrorInternalServerError)?;
    let connection = request
        .app_data::<Rc<RefCell<SqliteConnection>>>()
        .ok_or(ErrorInternalServerError("closed"))?;
    let query = replies::table.find(key).select(replies::body);
    let body: Vec<u8> = query
        .get_result(&mut *connection.borrow_mut())
        .map_err(ErrorInternalServerError)?;
    Ok(HttpResponse::Ok()
        .content_type("application/json")
        .body(body))
}

/// How many inserts the limit program makes with one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitMode {
    /// All that wait, as in the register.
    Shared,
    /// One.
    PerInsert,
}

impl CommitMode {
    /// The path to insert so.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Shared => "/shared",
            Self::PerInsert => "/per-insert",
        }
    }
}

/// The writers: one that shares commits, and one that does not.
#[derive(Debug)]
struct Writers {
    shared: mpsc::Sender<Waiting>,
    per_insert: mpsc::Sender<Waiting>,
}

/// `POST` to a [`CommitMode::path`]; the query is the length of the reply.
async fn insert(
    writers: Data<Writers>,
    request: HttpRequest,
    body: Bytes,
) -> Result<HttpResponse, Error> {
    let (done, committed) = oneshot::channel();
    let writer = if request.path() == CommitMode::PerInsert.path() {
        &writers.per_insert
    } else {
        &writers.shared
    };
    writer
        .send((body, done))
        .map_err(ErrorInternalServerError)?;
    committed.await.map_err(ErrorInternalServerError)?;
    let length: usize = request
        .query_string()
        .parse()
        .map_err(ErrorInternalServerError)?;
    let reply = REPLY.get(..length).unwrap_or(REPLY);
    Ok(HttpResponse::Created()
        .content_type("application/json")
        .body(Bytes::from_static(reply)))
}

/// Serves a database until the process is ended.
pub(crate) fn serve(path: &str, port: u16) -> Outcome<()> {
    let writers = Data::new(Writers {
        shared: writer(path, GROUP)?,
        per_insert: writer(path, 1)?,
    });
    let path = path.to_owned();
    let server = HttpServer::new(move || {
        let connection = connect(&path).map(|connection| Rc::new(RefCell::new(connection)));
        App::new()
            .app_data(writers.clone())
            .app_data(PayloadConfig::new(REPLY.len()))
            .configure(|config| drop(connection.map(|connection| config.app_data(connection))))
            .route(CommitMode::Shared.path(), web::post().to(insert))
            .route(CommitMode::PerInsert.path(), web::post().to(insert))
            .default_service(web::get().to(read))
    });
    let workers = thread::available_parallelism()?.get();
    Ok(actix_web::rt::System::new().block_on(
        server
            .tcp_nodelay(true)
            .workers(workers)
            .bind(("127.0.0.1", port))?
            .run(),
    )?)
}
