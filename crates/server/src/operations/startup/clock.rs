//! Whether the clock of this machine can be right: by the register, by the server of the database
//! and by the program itself.

use std::{fmt, fs};

use chrono::{DateTime, SecondsFormat, Utc};
use clap::ValueEnum;
use database::clock::{MAX_LEAD, WRONG_CLOCK};
use storage::error::StorageError;
use storage::store::Store;

use super::StartError;

/// What becomes of a start with a clock that must be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClockCheck {
    /// It is refused.
    Refuse,
    /// It is warned of.
    Warn,
}

/// What shows that the clock of this machine is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongClock {
    /// The register was changed later than that.
    BehindRegister {
        /// The time by the clock.
        now: DateTime<Utc>,
        /// When it was changed.
        changed: DateTime<Utc>,
    },
    /// The database server has another time.
    ApartFromServer {
        /// The time by the clock.
        now: DateTime<Utc>,
        /// The time of the server.
        server: DateTime<Utc>,
    },
    /// The program was put in its place later than that. It may be that its date is not what it
    /// seems.
    BehindProgram {
        /// The time by the clock.
        now: DateTime<Utc>,
        /// The date of the program's file.
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
                    "the clock says {}, but the register was changed at {}",
                    time(now),
                    time(changed)
                )
            }
            Self::ApartFromServer { now, server } => {
                write!(
                    formatter,
                    "the clock says {}, but that of the database server {}",
                    time(now),
                    time(server)
                )
            }
            Self::BehindProgram { now, program } => {
                write!(
                    formatter,
                    "the clock says {}, but the program is of {}",
                    time(now),
                    time(program)
                )
            }
        }
    }
}

/// What the clock of this machine is compared with.
#[derive(Debug, Clone, Copy, Default)]
struct Evidence {
    changed: Option<DateTime<Utc>>,
    server: Option<DateTime<Utc>>,
    program: Option<DateTime<Utc>>,
}

impl Evidence {
    /// What shows that a clock is wrong which says that it is now.
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

/// Looks at the clock of this machine.
///
/// # Errors
///
/// [`StartError::Clock`] when it must be wrong and such a start is to be refused; [`StartError::Database`].
pub fn check(store: &Store, check: ClockCheck) -> Result<(), StartError> {
    let (changed, server) = store
        .read_blocking::<_, StorageError>(|session| {
            Ok((session.latest_change()?, session.server_time()?))
        })
        .map_err(StartError::Database)?;
    // On PostgreSQL it may be the date of a server whose clock is ahead.
    let lead = |changed: &DateTime<Utc>| *changed - store.now();
    let is_ahead = |changed: &DateTime<Utc>| {
        server.is_none() && (MAX_LEAD..WRONG_CLOCK).contains(&lead(changed))
    };
    if let Some(changed) = changed.filter(is_ahead) {
        log::warn!(
            "the register was last changed at {}, ahead of the clock; a client that polls by date may miss changes until then",
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
                log::warn!("{wrong}; set the clock of this machine (timedatectl)");
            }
        }
    }
    Ok(())
}

/// When the file of the program was written, where the operating system knows it.
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
    fn a_clock_behind_the_register_or_the_program_is_wrong() {
        let (changed, program) = (at(12, 0), at(11, 0));
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
    fn a_clock_apart_from_the_server_is_wrong_on_either_side() {
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
