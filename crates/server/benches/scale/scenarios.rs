//! The requests that are measured.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use chrono::DateTime;

use super::asking::Reply;
use super::growing::{CYCLES, last_cycle};
use super::serving::Served;

/// Changes that a client polls for that has seen all others.
const FEW_CHANGES: i64 = 40;

/// A request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scenario {
    /// One trainee.
    Read,
    /// A page of a list, so many hundredths of the way to its end.
    Page(i64),
    /// The same, the last change last.
    OldestFirst(i64),
    /// The first page of a list that is narrowed.
    Narrowed(&'static str),
    /// The changes since a moment after which few trainees have changed.
    SinceFew,
    /// The changes since a moment after which half of the trainees have changed.
    SinceHalf,
    /// A new trainee.
    Create,
    /// A trainee who is there already.
    Duplicate,
}

impl Scenario {
    /// All requests, in the order in which they are measured.
    pub(crate) const ALL: [Self; 16] = [
        Self::Read,
        Self::Page(0),
        Self::Page(90),
        Self::Page(50),
        Self::OldestFirst(0),
        Self::OldestFirst(90),
        Self::Narrowed("status=in_training"),
        Self::Narrowed("status=withdrawn"),
        Self::Narrowed("status=course_not_yet_started"),
        Self::Narrowed("has_trn=false"),
        Self::Narrowed("has_trn=true"),
        Self::Narrowed("status=deferred&has_trn=false"),
        Self::SinceFew,
        Self::SinceHalf,
        Self::Create,
        Self::Duplicate,
    ];

    /// Sends the request once and says how long the reply took.
    pub(crate) fn time(self, register: &mut Served) -> Result<Duration, Box<dyn Error>> {
        register.sent += 1;
        let number = register.sent;
        // In turn the cycles in which somebody is in training, and those before.
        let back = i32::try_from(number)? % CYCLES;
        let cycle = format!("academic_cycle={}", last_cycle() - back);
        let (reply, status) = match self {
            Self::Read => {
                let trainee = register.trainees.get(number * 7 % register.trainees.len()).ok_or("no trainee")?;
                (register.client.get(&format!("/trainees/{trainee}"))?, 200)
            }
            Self::Page(part) => (page(register, &cycle, part)?, 200),
            Self::OldestFirst(part) => (page(register, &format!("{cycle}&sort_order=asc"), part)?, 200),
            Self::Narrowed(filter) => {
                // Those who have not begun are of the newest cycle alone.
                let cycle = if filter.contains("course_not_yet_started") { last_cycle() } else { last_cycle() - back };
                (register.client.get(&format!("/trainees?academic_cycle={cycle}&{filter}"))?, 200)
            }
            Self::SinceFew => (since(register, &cycle, |_| FEW_CHANGES)?, 200),
            Self::SinceHalf => (since(register, &cycle, |total| total / 2)?, 200),
            Self::Create => {
                (register.client.post_trainee(&register.client.example(&format!("{} {number}", register.run))?)?, 201)
            }
            Self::Duplicate => (register.client.post_trainee(&register.client.example("Same")?)?, 409),
        };
        let is_first = matches!(self, Self::Duplicate) && reply.status == 201;
        if reply.status == status || is_first { Ok(reply.took) } else { Err(format!("{self}: {}", reply.body).into()) }
    }
}

/// The page of a list so many hundredths of the way to its end.
fn page(register: &mut Served, query: &str, part: i64) -> Result<Reply, Box<dyn Error>> {
    let pages = register.know(query, |client| client.pages(query))?;
    let page = (pages * part / 100).max(1);
    register.client.get(&format!("/trainees?{query}&page={page}"))
}

/// The first page of what has changed since a moment after which so many of a list have changed.
fn since(register: &mut Served, query: &str, changed: impl Fn(i64) -> i64) -> Result<Reply, Box<dyn Error>> {
    let single = format!("{query}&per_page=1");
    let changed = changed(register.know(&single, |client| client.pages(&single))?);
    let moment = register.know(&format!("{query} {changed}"), |client| client.moment(query, changed))?;
    let moment = DateTime::from_timestamp_millis(moment).ok_or("no moment")?.format("%FT%T%.3fZ");
    register.client.get(&format!("/trainees?{query}&since={moment}"))
}

impl fmt::Display for Scenario {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read => write!(formatter, "one trainee"),
            Self::Page(0) => write!(formatter, "first page of a list"),
            Self::Page(part) => write!(formatter, "page at {part} % of a list"),
            Self::OldestFirst(0) => write!(formatter, "first page, oldest change first"),
            Self::OldestFirst(part) => write!(formatter, "page at {part} %, oldest change first"),
            Self::Narrowed(filter) => write!(formatter, "first page, `{filter}`"),
            Self::SinceFew => write!(formatter, "first page, `since` {FEW_CHANGES} changes ago"),
            Self::SinceHalf => write!(formatter, "first page, `since` half of the list changed"),
            Self::Create => write!(formatter, "a new trainee"),
            Self::Duplicate => write!(formatter, "a trainee who is there already"),
        }
    }
}
