//! Counts the statements of a connection.

use diesel::connection::{Connection as _, Instrumentation, InstrumentationEvent};

use super::database_connection::DatabaseConnection;

/// Counts statements, and passes events on: a connection has room for one listener.
struct StatementCounter {
    statements: u64,
    listener: Box<dyn Instrumentation>,
}

impl Instrumentation for StatementCounter {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        if let InstrumentationEvent::StartQuery { .. } = event {
            self.statements += 1;
        }
        self.listener.on_connection_event(event);
    }
}

impl DatabaseConnection {
    /// Counts statements from now on, for [`DatabaseConnection::statements`]. The listener hears of
    /// each event.
    pub fn count_statements(&mut self, listener: impl Instrumentation) {
        self.set_instrumentation(StatementCounter {
            statements: 0,
            listener: Box::new(listener),
        });
    }

    /// The number of statements since they have been counted, also of those that failed; 0 if they
    /// are not counted.
    pub fn statements(&mut self) -> u64 {
        self.instrumentation()
            .downcast_ref::<StatementCounter>()
            .map_or(0, |counter| counter.statements)
    }
}
