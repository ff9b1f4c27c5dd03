//! An acknowledged write is on the disk: the system calls of the server, and their order.

use std::collections::HashMap;
use std::path::Path;
use std::thread;

use test_support::{Kind, Tool, has_tools};

use super::deployment::{SERVE, Server, Site};
use super::http::Caller;
use super::version_requests::{Manner, Person, id};

/// Clients that write at once, so that groups have several writes.
const CLIENTS: usize = 8;
/// Trainees that each of them registers.
const WRITES: usize = 6;

/// The tracer, with the calls that write and sync. Long texts are kept: a page with a record, a
/// reply with it.
const TRACER: [&str; 7] = [
    "strace",
    "-f",
    "-qq",
    "-yy",
    "-s16384",
    "-etrace=write,writev,pwrite64,pwritev,send,sendto,sendmsg,fsync,fdatasync",
    "-o",
];

#[test]
fn log_is_synced_before_write_is_acknowledged() {
    if Kind::from_environment() != Kind::Sqlite || !has_tools(&[Tool::Strace]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let site = Site::new();
    let mut server =
        Server::start(site.command(&[&TRACER[..], &[trace.to_str().unwrap()]].concat(), &SERVE));
    let address = server.address.clone();
    let (manners, _) = Manner::learn_all(&Caller::new(&site.token), &address);
    let registered: Vec<String> = thread::scope(|scope| {
        let register = |client: usize| {
            let caller = Caller::new(&site.token);
            let manner = &manners[client % manners.len()];
            let one = |number| {
                let reply = caller.ask(
                    &address,
                    &manner.create(&Person::new("Traced", CLIENTS * number + client)),
                );
                assert_eq!(reply.status, 201, "{reply:?}");
                id(&reply.json()["data"]).to_owned()
            };
            (0..WRITES).map(one).collect::<Vec<_>>()
        };
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| scope.spawn(move || register(client)))
            .collect();
        clients
            .into_iter()
            .flat_map(|client| client.join().unwrap())
            .collect()
    });
    server.stop_within(traced_process(&trace));
    let calls = calls(&std::fs::read_to_string(&trace).unwrap());
    for trainee in &registered {
        assert_eq!(judge(&calls, trainee), Ok(()), "of the trainee {trainee}");
    }
}

/// The number of the process that was traced: the first that did anything.
fn traced_process(trace: &Path) -> u32 {
    let trace = std::fs::read_to_string(trace).unwrap();
    trace.split_whitespace().next().unwrap().parse().unwrap()
}

/// The calls of the server, ordered by their start.
#[derive(Debug, PartialEq, Eq)]
enum Call {
    /// Wrote this to the write-ahead log.
    Write(String),
    /// Started to sync the log, in the call with this number.
    SyncBegun(usize),
    /// The sync with this number succeeded.
    SyncEnded(usize),
    /// Started to send this to a client.
    Send(String),
}

/// Reads a trace. A call that others interrupt stands on two lines.
fn calls(trace: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut syncing = HashMap::new();
    for (number, line) in trace.lines().enumerate() {
        let Some((process, call)) = line.split_once(char::is_whitespace) else {
            continue;
        };
        let call = call.trim_start();
        let name = call.split('(').next().unwrap_or_default();
        if ["fsync", "fdatasync"].contains(&name) && call.contains("-wal>") {
            calls.push(Call::SyncBegun(number));
            if call.ends_with("= 0") {
                calls.push(Call::SyncEnded(number));
            } else {
                syncing.insert(process, number);
            }
        } else if call.starts_with("<... f") && call.contains("sync resumed>") {
            if let Some(begun) = syncing.remove(process)
                && call.ends_with("= 0")
            {
                calls.push(Call::SyncEnded(begun));
            }
        } else if name.starts_with("pwrite") && call.contains("-wal>") {
            calls.push(Call::Write(call.to_owned()));
        } else if call.contains("<TCP:[") && call.contains("HTTP/1.1 ") {
            calls.push(Call::Send(call.to_owned()));
        }
    }
    calls
}

/// Whether a sync that began after the record was written had ended when the first reply with it
/// was sent.
///
/// The thread that writes does nothing else between its writes and the sync, so that sync is behind
/// them all.
fn judge(calls: &[Call], record: &str) -> Result<(), String> {
    let place = |is_it: &dyn Fn(&Call) -> bool, what: &str| {
        calls
            .iter()
            .position(is_it)
            .ok_or_else(|| format!("there is no {what}"))
    };
    let written = place(
        &|call| matches!(call, Call::Write(text) if text.contains(record)),
        "write",
    )?;
    let sent = place(
        &|call| matches!(call, Call::Send(text) if text.contains(record)),
        "reply",
    )?;
    let synced = calls
        .iter()
        .enumerate()
        .skip(written)
        .find_map(|(at, call)| match call {
            Call::SyncBegun(number) => Some((at, *number)),
            Call::Write(_) | Call::SyncEnded(_) | Call::Send(_) => None,
        });
    let (_, number) = synced.ok_or("there is no sync")?;
    let ended = place(&|call| *call == Call::SyncEnded(number), "end of the sync")?;
    if ended < sent {
        Ok(())
    } else {
        Err("the reply was sent before the sync had ended".to_owned())
    }
}

#[test]
fn reply_before_end_of_sync_is_found() {
    let write = r#"7 pwrite64(9</x/register.db-wal>, "..abc..", 4096, 56) = 4096"#;
    let sync = "7 fdatasync(9</x/register.db-wal>) = 0";
    let (begun, ended) = (
        "7 fdatasync(9</x/register.db-wal> <unfinished ...>",
        "7 <... fdatasync resumed>)             = 0",
    );
    let send = r#"8 sendto(12<TCP:[127.0.0.1:1->127.0.0.1:2]>, "HTTP/1.1 201 Created\r\n..abc..", 9, 0, NULL, 0) = 9"#;
    let judged = |lines: &[&str]| judge(&calls(&lines.join("\n")), "abc");
    assert_eq!(judged(&[write, sync, send]), Ok(()));
    assert_eq!(judged(&[write, begun, ended, send]), Ok(()));
    assert!(judged(&[write, begun, send, ended]).is_err());
    assert!(judged(&[sync, write, send]).is_err());
    assert!(judged(&[write, send, sync]).is_err());
    assert!(judged(&[write, sync]).is_err());
    assert!(judged(&[sync, send]).is_err());
}
