//! Conformance checks for API versions. They run on a sample of generated records.
//!
//! 1. [`every_record_serialises`]: every version can write every record, also a record on a route
//!    that is unknown to the version. Each field has the same name in requests and in responses.
//! 2. [`round_trip_is_lossless`]: writing a record as a request, reading it and creating a record
//!    gives the normal form of the record.
//! 3. [`updates_touch_only_what_was_sent`]: an update changes only fields that its version can set,
//!    and a client can send back a complete record.
//! 4. [`updates_keep_records_valid`]: an accepted update, through any version, keeps the invariants
//!    and keeps the record as valid as before.
//! 5. [`errors_use_own_names`]: problems name only fields of their version and keys from the
//!    request.
//! 6. [`translation_matches_target_version`]: a translated body equals the body that the target
//!    version writes, and translating back is lossless, except for declared losses.
//! 7. [`can_be_seeded`]: the rules of the version accept most generated records.
//! 8. [`no_input_panics`]: every body gets a valid answer, and accepted records pass the other
//!    checks.
//! 9. [`defaults_yield_to_sent_values`]: a default applies only if no sent value decides its field.
//!
//! The checks depend on no particular version. The tests of an adapter run them for its own version
//! ([`conformance_tests!`]). The tests of the server run them for all versions together, so that
//! each version is also checked against the names of the others.

mod alternative_spellings;
mod any_input;
mod case;
mod defaults;
pub mod form_version;
mod forms;
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
pub use defaults::defaults_yield_to_sent_values;
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

/// Defines the tests of an adapter: one test for each check, on generated records, for its version
/// alone.
///
/// The file `tests/conformance.rs` of the version's crate consists of this call.
#[macro_export]
macro_rules! conformance_tests {
    ($version:expr) => {
        fn check(check: $crate::Check) -> Result<(), String> {
            #[expect(clippy::disallowed_methods, reason = "a test reads how it is run")]
            let given = std::env::var("CONFORMANCE_RECORDS").ok();
            let records = $crate::record_count(given, 200)?;
            let versions = $crate::Versions::new(&[&$version]);
            $crate::check_samples(check, &versions, 2_025, records, $crate::date(2026, 3, 25))
                .map_err(|failure| failure.to_string())
        }

        $crate::conformance_tests!(@each every_record_serialises round_trip_is_lossless
            updates_touch_only_what_was_sent updates_keep_records_valid errors_use_own_names
            translation_matches_target_version can_be_seeded no_input_panics
            defaults_yield_to_sent_values);
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
