//! Counts the statements of a connection.

use diesel::connection::{Connection as _, Instrumentation, InstrumentationEvent};

use super::database_connection::DatabaseConnection;

/// Counts statements and forwards events, because a connection has only one listener.
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
    /// Starts to count statements, for [`DatabaseConnection::statements`]. The listener receives
    /// each event.
    pub fn count_statements(&mut self, listener: impl Instrumentation) {
        self.set_instrumentation(StatementCounter {
            statements: 0,
            listener: Box::new(listener),
        });
    }

    /// The number of statements since counting began, including failed ones; 0 if they are not
    /// counted.
    pub fn statements(&mut self) -> u64 {
        self.instrumentation()
            .downcast_ref::<StatementCounter>()
            .map_or(0, |counter| counter.statements)
    }
}
