//! What must hold for every version of the API, shown on a sample of invented records.
//!
//! 1. [`total`]: every record can be written in every version, also on a route that the version does
//!    not know, and what a version can set it shows under the same name.
//! 2. [`faithful`]: a record that is written as a request, read and decided on is the record again,
//!    but for what is put in order on the way.
//! 3. [`blind`]: an update changes nothing that its version cannot see, and a record that was read
//!    can be sent back whole.
//! 4. [`consistent`]: an accepted update leaves a record in which storage finds no fault, and which is as valid as it was,
//!    whichever version made it.
//! 5. [`closed`]: a problem names a field of its version, or a key that the client sent.
//! 6. [`translated`]: what is translated into another version is what that version writes itself, and the
//!    way back gives what there was, but for the losses that were declared.
//! 7. [`inhabited`]: a register can be filled under the version's own rules.
//! 8. [`sturdy`]: any bytes get an answer that holds; what the other laws say is asked of whatever is accepted.
//!
//! The laws know no version and no version's names. An adapter's tests run them for its own version;
//! over all versions together they say more, since one version's names are foreign to the others.

use std::fmt;

use domain::{Context, Lists, ParsedRecord, Trainee};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::compose::{Data, Request};
use crate::label::Label;
use crate::read::{Nest, NestedLists, Reader, UnknownNames};
use crate::version::{ApiVersion, Wire};
use crate::versions::{Served, Versions};

mod blind;
mod closed;
mod consistent;
mod faithful;
mod inhabited;
mod loose;
mod mutation;
mod normal;
mod run;

/// Makes the tests of an adapter: every law, over generated records, for its version alone.
///
/// The version's crate needs nothing else in its `tests/laws.rs`.
#[macro_export]
macro_rules! laws_hold_for {
    ($version:expr) => {
        fn check(law: $crate::laws::Law) -> Result<(), String> {
            let records = $crate::laws::records_asked_for(std::env::var("LAW_RECORDS").ok(), 200)?;
            let versions = $crate::Versions::new(&[&$version]);
            $crate::laws::over(law, &versions, 2_025, records, $crate::date(2026, 3, 25))
                .map_err(|broken| broken.to_string())
        }

        #[test]
        fn every_record_can_be_written() -> Result<(), String> {
            check($crate::laws::total)
        }

        #[test]
        fn what_is_written_is_read_again() -> Result<(), String> {
            check($crate::laws::faithful)
        }

        #[test]
        fn what_cannot_be_seen_is_not_changed() -> Result<(), String> {
            check($crate::laws::blind)
        }

        #[test]
        fn an_accepted_update_leaves_a_valid_record() -> Result<(), String> {
            check($crate::laws::consistent)
        }

        #[test]
        fn problems_speak_of_the_names_of_this_version() -> Result<(), String> {
            check($crate::laws::closed)
        }

        #[test]
        fn what_is_translated_into_this_version_itself_stays_as_it_is() -> Result<(), String> {
            check($crate::laws::translated)
        }

        #[test]
        fn a_register_can_be_filled_under_the_rules_of_this_version() -> Result<(), String> {
            check($crate::laws::inhabited)
        }

        #[test]
        fn any_bytes_get_an_answer_that_holds() -> Result<(), String> {
            check($crate::laws::sturdy)
        }
    };
}

#[cfg(test)]
pub(crate) mod planted;
mod sample;
mod sturdy;
mod total;
mod translated;

pub use blind::blind;
pub use closed::closed;
pub use consistent::consistent;
pub use faithful::faithful;
pub use inhabited::inhabited;
pub use run::{Law, Unshown, over, records_asked_for};
pub use sample::Sample;
pub use sturdy::{Bodies, sturdy};
pub use total::total;
pub use translated::translated;

/// Checks all laws.
///
/// # Errors
///
/// The first case in which one does not hold.
pub fn hold(versions: &Versions, sample: &Sample) -> Result<(), Broken> {
    total(versions, sample)?;
    faithful(versions, sample)?;
    blind(versions, sample)?;
    consistent(versions, sample)?;
    closed(versions, sample)?;
    translated(versions, sample)?;
    inhabited(versions, sample)?;
    sturdy(versions, sample)
}

/// A case in which a law does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The law.
    pub law: &'static str,
    /// The version.
    pub version: Label,
    /// The seed of the sample.
    pub seed: u64,
    /// The record's place in the sample; `None` when the version breaks the law without one.
    pub record: Option<usize>,
    /// The field.
    pub field: String,
    /// What is wrong with it.
    pub fault: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { law, version, seed, record, field, fault } = self;
        write!(formatter, "{version} is not {law}: {field} {fault} (seed {seed}")?;
        match record {
            Some(record) => write!(formatter, ", record {record})"),
            None => write!(formatter, ")"),
        }
    }
}

impl std::error::Error for Broken {}

/// One version and one record, on which a law is tried.
#[derive(Clone, Copy)]
struct Case<'a> {
    law: &'static str,
    served: &'a Served,
    sample: &'a Sample,
    record: Option<usize>,
}

impl<'a> Case<'a> {
    fn of(law: &'static str, served: &'a Served, sample: &'a Sample) -> Self {
        Self { law, served, sample, record: None }
    }

    fn version(self) -> &'a ApiVersion {
        self.served.version
    }

    /// The case with each of the records.
    fn each(self, records: &'a [Trainee]) -> impl Iterator<Item = (Self, &'a Trainee)> {
        records.iter().enumerate().map(move |(at, record)| (Self { record: Some(at), ..self }, record))
    }

    /// What the version's rules may know.
    fn context(self) -> Context<'a> {
        Context {
            today: self.sample.today,
            lists: Lists::embedded(),
            accepted_codes: &self.version().accepted_codes,
            organisations: &self.sample.organisations,
        }
    }

    /// The record as a request in the version's names.
    fn request<R: Wire>(self, record: &R) -> Result<Map<String, Value>, Broken> {
        let request = Request { version: self.version(), record, lists: Lists::embedded() };
        match serde_json::to_value(request) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(other) => self.broken(R::NAME, format!("is written as {other}")),
            Err(error) => self.broken(R::NAME, format!("cannot be written: {error}")),
        }
    }

    /// What a request with that under `data` asks for.
    fn read<R: Nest>(self, data: &impl Serialize, unknown: UnknownNames) -> Result<ParsedRecord<R>, Broken> {
        let written = serde_json::to_vec(&Data { data });
        let body = written.or_else(|error| self.broken(R::NAME, format!("cannot be written: {error}")))?;
        let reader = Reader { served: self.served, unknown, nested: NestedLists::Read };
        reader.read(&body).or_else(|error| self.broken(R::NAME, format!("cannot be read: {error}")))
    }

    fn broken<T>(self, field: impl Into<String>, fault: impl Into<String>) -> Result<T, Broken> {
        Err(Broken {
            law: self.law,
            version: self.version().label,
            seed: self.sample.seed,
            record: self.record,
            field: field.into(),
            fault: fault.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_version_keeps_all_laws() {
        planted::try_on(hold, planted::SOUND).unwrap();
    }
}
