//! Checks the clock of this machine against the register, the database server and the program file.

use std::{fmt, fs};

use chrono::{DateTime, SecondsFormat, Utc};
use clap::ValueEnum;
use database::clock::{MAX_LEAD, WRONG_CLOCK};
use storage::error::StorageError;
use storage::store::Store;

use super::StartError;

/// The effect of a wrong clock on the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClockCheck {
    /// Refuse to start
    Refuse,
    /// Log a warning and start
    Warn,
}

/// The evidence that the clock of this machine is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongClock {
    /// The last change of the register is later than the clock.
    BehindRegister {
        /// The current time of this server's clock.
        now: DateTime<Utc>,
        /// The time of the last change.
        changed: DateTime<Utc>,
    },
    /// The clock of the database server differs.
    ApartFromServer {
        /// The current time of this server's clock.
        now: DateTime<Utc>,
        /// The time of the database server.
        server: DateTime<Utc>,
    },
    /// The program file is newer than the clock. The date of the file itself may be wrong.
    BehindProgram {
        /// The current time of this server's clock.
        now: DateTime<Utc>,
        /// The date of the program file.
        program: DateTime<Utc>,
    },
}

impl fmt::Display for WrongClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |moment: &DateTime<Utc>| moment.to_rfc3339_opts(SecondsFormat::Secs, true);
        match self {
            Self::BehindRegister { now, changed } => {
                write!(
                    formatter,
                    "this machine's clock shows {}, but the register was last changed at {}",
                    time(now),
                    time(changed)
                )
            }
            Self::ApartFromServer { now, server } => {
                write!(
                    formatter,
                    "this machine's clock shows {}, but the database server's clock shows {}",
                    time(now),
                    time(server)
                )
            }
            Self::BehindProgram { now, program } => {
                write!(
                    formatter,
                    "this machine's clock shows {}, but the program file is from {}",
                    time(now),
                    time(program)
                )
            }
        }
    }
}

/// The times that the clock is compared with. `None` for an unknown time.
#[derive(Debug, Clone, Copy, Default)]
struct Evidence {
    /// The last change of the register.
    changed: Option<DateTime<Utc>>,
    /// The clock of the database server.
    server: Option<DateTime<Utc>>,
    /// The date of the program file.
    program: Option<DateTime<Utc>>,
}

impl Evidence {
    /// The evidence against a clock that shows `now`.
    fn against(self, now: DateTime<Utc>) -> impl Iterator<Item = WrongClock> {
        let is_later = move |moment: &DateTime<Utc>| *moment - now > WRONG_CLOCK;
        let changed = self
            .changed
            .filter(is_later)
            .map(|changed| WrongClock::BehindRegister { now, changed });
        let server = self
            .server
            .filter(|server| (*server - now).abs() > WRONG_CLOCK);
        let server = server.map(|server| WrongClock::ApartFromServer { now, server });
        let program = self
            .program
            .filter(is_later)
            .map(|program| WrongClock::BehindProgram { now, program });
        changed.into_iter().chain(server).chain(program)
    }
}

/// Checks the clock of this machine.
///
/// # Errors
///
/// [`StartError::Clock`] when the clock is wrong and `check` is [`ClockCheck::Refuse`];
/// [`StartError::Database`].
pub fn check(store: &Store, check: ClockCheck) -> Result<(), StartError> {
    let (changed, server) = store
        .read_blocking::<_, StorageError>(|session| {
            Ok((session.latest_change()?, session.server_time()?))
        })
        .map_err(StartError::Database)?;
    // With a small lead the server starts. On PostgreSQL the change may come from another server
    // whose clock is ahead, so no warning is given.
    let lead = |changed: &DateTime<Utc>| *changed - store.now();
    let is_ahead = |changed: &DateTime<Utc>| {
        server.is_none() && (MAX_LEAD..WRONG_CLOCK).contains(&lead(changed))
    };
    if let Some(changed) = changed.filter(is_ahead) {
        log::warn!(
            "register's last change is ahead of this machine's clock: {}; \
             until then, clients that poll by date may miss changes",
            changed.to_rfc3339_opts(SecondsFormat::Secs, true)
        );
    }
    let evidence = Evidence {
        changed,
        server,
        program: date_of_the_program(),
    };
    for wrong in evidence.against(store.now()) {
        match (check, wrong) {
            (
                ClockCheck::Refuse,
                WrongClock::BehindRegister { .. } | WrongClock::ApartFromServer { .. },
            ) => {
                return Err(StartError::Clock(wrong));
            }
            (ClockCheck::Warn, _) | (ClockCheck::Refuse, WrongClock::BehindProgram { .. }) => {
                log::warn!("{wrong}; set this machine's clock (timedatectl)");
            }
        }
    }
    Ok(())
}

/// The modification time of the program file, or `None` if it is unknown.
fn date_of_the_program() -> Option<DateTime<Utc>> {
    let file = std::env::current_exe().ok()?;
    Some(fs::metadata(file).ok()?.modified().ok()?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hour: u32, minute: u32) -> DateTime<Utc> {
        DateTime::from_timestamp(i64::from(hour * 60 + minute) * 60, 0).unwrap()
    }

    fn found(evidence: Evidence, now: DateTime<Utc>) -> Vec<WrongClock> {
        evidence.against(now).collect()
    }

    #[test]
    fn clock_behind_register_or_program_is_wrong() {
        let changed = at(12, 0);
        let program = at(11, 0);
        let evidence = Evidence {
            changed: Some(changed),
            program: Some(program),
            server: None,
        };
        assert_eq!(found(evidence, at(11, 55)), []);
        assert_eq!(found(evidence, at(23, 0)), []);
        let now = at(11, 54);
        assert_eq!(
            found(evidence, now),
            [WrongClock::BehindRegister { now, changed }]
        );
        let now = at(10, 54);
        assert_eq!(
            found(evidence, now),
            [
                WrongClock::BehindRegister { now, changed },
                WrongClock::BehindProgram { now, program }
            ]
        );
    }

    #[test]
    fn clock_apart_from_server_is_wrong() {
        let server = at(12, 0);
        let evidence = Evidence {
            server: Some(server),
            ..Evidence::default()
        };
        for now in [at(11, 55), at(12, 0), at(12, 5)] {
            assert_eq!(found(evidence, now), []);
        }
        for now in [at(11, 54), at(12, 6)] {
            assert_eq!(
                found(evidence, now),
                [WrongClock::ApartFromServer { now, server }]
            );
        }
    }
}
