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
    let mut pulled = Pulled::default();
    let mut beginnings = 0;
    while !step(connection, page_size, None, &mut pulled, &mut beginnings)? {}
    write_files(connection)?;
    connection.progress.clear();
    Ok(pulled)
}

/// Brings the copy up to date, and keeps it so until the program is ended. It can be killed at any
/// time.
pub(crate) fn follow(connection: &mut Connection, page_size: usize) -> Result<Pulled> {
    pull(connection, page_size)?;
    connection
        .progress
        .say("following the changes; end with Ctrl-C");
    loop {
        let (mut pulled, mut beginnings, begun) = (Pulled::default(), 0, Instant::now());
        while !step(
            connection,
            page_size,
            Some(WAIT_SECS),
            &mut pulled,
            &mut beginnings,
        )? {}
        write_files(connection)?;
        // Where too many wait already, the register answers at once that there is nothing.
        if pulled.stored + pulled.removed == 0 && begun.elapsed() < PAUSE {
            thread::sleep(PAUSE);
        }
    }
}

/// One request. Returns whether the copy is up to date.
fn step(
    connection: &mut Connection,
    page_size: usize,
    wait: Option<u64>,
    pulled: &mut Pulled,
    beginnings: &mut usize,
) -> Result<bool> {
    let after = connection.store.cursor()?;
    let page = match connection
        .register()
        .changes(after.as_deref(), page_size, wait)?
    {
        Followed::Page(page) => page,
        Followed::CursorIsVoid => {
            *beginnings += 1;
            if *beginnings > MOST_BEGINNINGS {
                bail!(
                    "the register refuses its own cursors; inform the operator, and pull again later"
                );
            }
            connection.progress.say(
                "the register was restored or moved since the last pull: the copy begins again",
            );
            connection.store.begin_again()?;
            return Ok(false);
        }
    };
    let applied = connection.store.apply(&page)?;
    pulled.stored += applied.stored;
    pulled.removed += applied.removed;
    if !page.data.is_empty() {
        let requests = connection.client.count();
        connection.progress.show(
            "changes stored",
            pulled.stored + pulled.removed,
            None,
            requests,
        );
    }
    Ok(!page.meta.has_more)
}

fn write_files(connection: &Connection) -> Result<()> {
    if let Place::CsvFolder(folder) = &connection.place {
        export(&connection.store, folder)?;
    }
    Ok(())
}
