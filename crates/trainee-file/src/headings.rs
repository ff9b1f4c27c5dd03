//! Headings that are not field names: those of the sector's template for new trainees (Register
//! trainee teachers, "bulk add new trainees"), and the one that this register adds to refused rows.
//!
//! Most headings of the template are field names with spaces, which [`crate::Names`] recognises.

/// The heading of the column with the reason why a row was refused. The column is ignored if the
/// file is sent again.
pub const WHY_HEADING: &str = "Why it was refused";

/// Headings of ignored columns, by [`crate::columns::heading_key`].
pub(crate) const IGNORED_HEADINGS: &[&str] = &["whyitwasrefused", "errors"];

/// Other headings by [`crate::columns::heading_key`], with the names of their columns.
pub(crate) const HEADINGS: &[(&str, &str)] = &[
    ("hesaid", "agency_id"),
    ("qualificationaim", "itt_qualification_aim"),
    ("coursesubjectone", "course_subject_1"),
    ("coursesubjecttwo", "course_subject_2"),
    ("coursesubjectthree", "course_subject_3"),
    ("leadpartnerurn", "training_partner_urn"),
    ("leadpartnerukprn", "training_partner_ukprn"),
    ("firstplacementurn", "placements.1.urn"),
    ("secondplacementurn", "placements.2.urn"),
    ("thirdplacementurn", "placements.3.urn"),
    ("ukdegree", "degrees.1.uk_degree"),
    ("ukdegreetype", "degrees.1.uk_degree"),
    ("nonukdegree", "degrees.1.non_uk_degree"),
    ("nonukdegreetype", "degrees.1.non_uk_degree"),
    ("awardinginstitution", "degrees.1.institution"),
];
