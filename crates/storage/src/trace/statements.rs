//! Records the statements of a connection while a traced job is run over it: their text, as diesel builds it, and never a
//! value that is bound.

use std::fmt::{self, Write as _};
use std::time::Instant;

use diesel::connection::{
    Connection as _, DebugQuery, Instrumentation, InstrumentationEvent, get_default_instrumentation,
};

use super::Statement;
use crate::connection::{Access, DatabaseConnection};

/// The most statements that are recorded of one run of a job.
const MAX_STATEMENTS: usize = 128;
/// As much of a statement as is kept, in bytes: a list of values has a placeholder for each.
const MAX_SQL_BYTES: usize = 2_048;
/// What stands between the text of a statement and its values where diesel shows both.
const BINDS: &str = " -- binds: ";

/// What was recorded.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) statements: Vec<Statement>,
    /// How many more there were.
    pub(crate) left_out: u32,
}

/// Hears of the statements of a connection. It stays there, and records nothing between traced jobs.
struct StatementRecorder {
    /// Who else listens to the connection: it has room for one listener alone.
    listener: Option<Box<dyn Instrumentation>>,
    /// What the job is allowed that is run now; nothing when none is traced.
    access: Option<Access>,
    /// When the statement was begun that is being executed.
    begun: Option<Instant>,
    recorded: Recorded,
}

impl StatementRecorder {
    fn beside(listener: Option<Box<dyn Instrumentation>>) -> Self {
        Self { listener, access: None, begun: None, recorded: Recorded::default() }
    }

    fn finish(&mut self, access: Access, query: &dyn DebugQuery, has_failed: bool) {
        let Some(begun) = self.begun.take() else { return };
        let ended = Instant::now();
        if self.recorded.statements.len() >= MAX_STATEMENTS {
            self.recorded.left_out = self.recorded.left_out.saturating_add(1);
            return;
        }
        let sql = text(query);
        if !is_plumbing(&sql, access) {
            self.recorded.statements.push(Statement { sql, begun, ended, has_failed });
        }
    }
}

impl Instrumentation for StatementRecorder {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        if let Some(access) = self.access {
            self.record(access, &event);
        }
        if let Some(listener) = &mut self.listener {
            listener.on_connection_event(event);
        }
    }
}

impl StatementRecorder {
    fn record(&mut self, access: Access, event: &InstrumentationEvent<'_>) {
        if let InstrumentationEvent::StartQuery { .. } = event {
            self.begun = Some(Instant::now());
        } else if let InstrumentationEvent::FinishQuery { query, error, .. } = event {
            self.finish(access, *query, error.is_some());
        }
    }
}

/// Lets somebody listen to a connection, also while statements are recorded.
pub(crate) fn listen(connection: &mut DatabaseConnection, listener: impl Instrumentation) {
    connection.set_instrumentation(StatementRecorder::beside(Some(Box::new(listener))));
}

/// Whether a statement only begins or ends what every job has: a transaction, or a savepoint. The commit of a job that
/// writes is none of these: it is waited for.
fn is_plumbing(sql: &str, access: Access) -> bool {
    let begins = |words: &[&str]| words.iter().any(|word| sql.starts_with(word));
    begins(&["BEGIN", "SAVEPOINT", "RELEASE"]) || (access != Access::Write && begins(&["COMMIT", "ROLLBACK"]))
}

/// The text of a statement. Its values are never made into text: formatting ends where they would follow.
fn text(query: &dyn DebugQuery) -> String {
    let mut text = UntilBinds(String::new());
    // It ends with an error where there are values.
    let _ = write!(text, "{query}");
    let UntilBinds(mut text) = text;
    text.truncate(text.floor_char_boundary(MAX_SQL_BYTES));
    text.shrink_to_fit();
    text
}

/// Takes what is written up to the values of a statement.
struct UntilBinds(String);

impl fmt::Write for UntilBinds {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.0.push_str(part);
        let Some(at) = self.0.find(BINDS) else { return Ok(()) };
        self.0.truncate(at);
        Err(fmt::Error)
    }
}

impl DatabaseConnection {
    /// Records the statements from now on, for [`DatabaseConnection::recorded_statements`].
    pub(crate) fn record_statements(&mut self, access: Access) {
        if !self.instrumentation().is::<StatementRecorder>() {
            // Whoever listens to all connections hears this one too.
            self.set_instrumentation(StatementRecorder::beside(get_default_instrumentation()));
        }
        if let Some(recorder) = self.instrumentation().downcast_mut::<StatementRecorder>() {
            recorder.access = Some(access);
            recorder.begun = None;
            recorder.recorded = Recorded::default();
        }
    }

    /// What was recorded, and nothing more from now on.
    pub(crate) fn recorded_statements(&mut self) -> Recorded {
        let Some(recorder) = self.instrumentation().downcast_mut::<StatementRecorder>() else {
            return Recorded::default();
        };
        recorder.access = None;
        std::mem::take(&mut recorder.recorded)
    }
}
