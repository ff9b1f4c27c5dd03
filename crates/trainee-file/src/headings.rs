//! Headings that are no field names: those of the sector's template for new trainees (Register
//! trainee teachers, "bulk add new trainees"), and the one that this register adds to refused rows.
//!
//! Most headings of the template are field names with spaces, which [`crate::Names`] recognises.

/// The heading of the column that says why a row was refused. A file that has it can be sent again.
pub const WHY_HEADING: &str = "Why it was refused";

/// Headings of columns to leave out, in the form of [`crate::columns::heading_key`].
pub(crate) const IGNORED: &[&str] = &["why_it_was_refused", "errors"];

/// Other headings in the form of [`crate::columns::heading_key`], with the names of their columns.
pub(crate) const HEADINGS: &[(&str, &str)] = &[
    ("hesa_id", "agency_id"),
    ("disability_1", "disability1"),
    ("disability_2", "disability2"),
    ("disability_3", "disability3"),
    ("disability_4", "disability4"),
    ("disability_5", "disability5"),
    ("disability_6", "disability6"),
    ("disability_7", "disability7"),
    ("disability_8", "disability8"),
    ("disability_9", "disability9"),
    ("qualification_aim", "itt_qualification_aim"),
    ("course_subject_one", "course_subject_1"),
    ("course_subject_two", "course_subject_2"),
    ("course_subject_three", "course_subject_3"),
    ("lead_partner_urn", "training_partner_urn"),
    ("lead_partner_ukprn", "training_partner_ukprn"),
    ("first_placement_urn", "placements.1.urn"),
    ("second_placement_urn", "placements.2.urn"),
    ("third_placement_urn", "placements.3.urn"),
    ("uk_degree", "degrees.1.uk_degree"),
    ("uk_degree_type", "degrees.1.uk_degree"),
    ("non_uk_degree", "degrees.1.non_uk_degree"),
    ("non_uk_degree_type", "degrees.1.non_uk_degree"),
    ("awarding_institution", "degrees.1.institution"),
];
