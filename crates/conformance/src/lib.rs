//! Conformance checks: what every version must pass of the API, shown on a sample of invented
//! records.
//!
//! 1. [`every_record_serialises`]: every record can be written in every version, also on a route
//!    that the version does not know, and what a version can set it shows under the same name.
//! 2. [`round_trip_is_lossless`]: a record that is written as a request, read and decided on is the
//!    record again, in its normal form.
//! 3. [`updates_touch_only_what_was_sent`]: an update changes nothing that its version cannot see,
//!    and a record that was read can be sent back whole.
//! 4. [`updates_keep_records_valid`]: an accepted update leaves a record that keeps the invariants,
//!    and is as valid as it was, whichever version made it.
//! 5. [`errors_use_own_names`]: a problem names a field of its version, or a key that the client
//!    sent.
//! 6. [`translation_matches_target_version`]: what is translated into another version is what that
//!    version writes itself, and the way back is lossless, except for the losses that were
//!    declared.
//! 7. [`can_be_seeded`]: a register can be filled under the version's own rules.
//! 8. [`no_input_panics`]: any bytes get a valid answer; the other checks apply to whatever is
//!    accepted.
//!
//! The checks know no version and no version's names. An adapter's tests run them for its own
//! version ([`conformance_tests!`]); the server's tests run them over all versions together, where
//! one version's names are foreign to the others.

mod alternative_spellings;
mod any_input;
mod case;
mod mutation;
mod normal_form;
mod own_names;
pub mod paths;
mod round_trip;
mod runner;
mod sample;
pub mod sample_version;
mod serialisation;
mod translation;
mod untouched_fields;
mod valid_updates;
pub mod wire_version;

pub use any_input::{Bodies, no_input_panics};
pub use case::CheckFailure;
pub use own_names::errors_use_own_names;
pub use round_trip::round_trip_is_lossless;
pub use runner::{Check, CheckError, check_samples, record_count};
pub use sample::Sample;
pub use sample::seeding::can_be_seeded;
pub use serialisation::every_record_serialises;
pub use translation::translation_matches_target_version;
pub use untouched_fields::updates_touch_only_what_was_sent;
pub use valid_updates::updates_keep_records_valid;

#[doc(hidden)]
pub use adapter_kit::{Versions, date};

/// Makes the tests of an adapter: every check, over generated records, for its version alone.
///
/// The version's crate needs nothing else in its `tests/conformance.rs`.
#[macro_export]
macro_rules! conformance_tests {
    ($version:expr) => {
        fn check(check: $crate::Check) -> Result<(), String> {
            let records = $crate::record_count(std::env::var("CONFORMANCE_RECORDS").ok(), 200)?;
            let versions = $crate::Versions::new(&[&$version]);
            $crate::check_samples(check, &versions, 2_025, records, $crate::date(2026, 3, 25))
                .map_err(|failure| failure.to_string())
        }

        $crate::conformance_tests!(@each every_record_serialises round_trip_is_lossless
            updates_touch_only_what_was_sent updates_keep_records_valid errors_use_own_names
            translation_matches_target_version can_be_seeded no_input_panics);
    };
    (@each $($name:ident)*) => {
        $(
            #[test]
            fn $name() -> Result<(), String> {
                check($crate::$name)
            }
        )*
    };
}
