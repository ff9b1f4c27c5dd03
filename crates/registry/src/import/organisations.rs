//! The columns of schools and training partners.

use domain::RecordField as _;
use domain::records::organisations::{is_reserved_urn, is_ukprn, is_urn};
use domain::records::placement::PlacementField;
use storage::observations::imports::ImportKind;
use storage::records::organisations::merge::{PartnerDetails, SchoolDetails};

use super::{Importable, ImportableOrganisation, Row, RowProblem};

const URN: &str = "URN";
const UKPRN: &str = "UKPRN";
const SCHOOL_NAME: &str = "EstablishmentName";
const POSTCODE: &str = "Postcode";
const STATUS: &str = "EstablishmentStatus (name)";
const PARTNER_NAME: &str = "Name";
/// The beginning of the status of an open school, for example `Open, but proposed to close`.
const OPEN: &str = "Open";

impl Row<'_> {
    /// The text of a column that is copied into a field of placements, limited to the length of the
    /// field.
    fn text_for(
        &self,
        column: &'static str,
        field: PlacementField,
    ) -> Result<Option<String>, RowProblem> {
        let text = self.text(column);
        let max = field.info().max.unwrap_or(usize::MAX);
        if text.as_ref().is_some_and(|text| text.chars().count() > max) {
            return Err(RowProblem::TooLong { column, max });
        }
        Ok(text)
    }

    /// The URN, or `None` if the cell is blank.
    fn urn(&self) -> Result<Option<String>, RowProblem> {
        let urn = self.text(URN);
        if urn.as_deref().is_some_and(|urn| !is_urn(urn)) {
            return Err(RowProblem::BadUrn);
        }
        if urn.as_deref().is_some_and(is_reserved_urn) {
            return Err(RowProblem::ReservedUrn);
        }
        Ok(urn)
    }

    /// The name in a column, which must not be blank.
    fn name(&self, column: &'static str) -> Result<String, RowProblem> {
        self.text_for(column, PlacementField::name)?
            .ok_or(RowProblem::Blank(column))
    }
}

impl Importable for SchoolDetails {
    const COLUMNS: &'static [&'static str] = &[URN, SCHOOL_NAME, POSTCODE, STATUS];

    fn from_row(row: &Row<'_>) -> Result<Self, RowProblem> {
        Ok(Self {
            urn: row.urn()?.ok_or(RowProblem::BadUrn)?,
            name: row.name(SCHOOL_NAME)?,
            postcode: row.text_for(POSTCODE, PlacementField::postcode)?,
            open: row
                .text(STATUS)
                .is_some_and(|status| status.starts_with(OPEN)),
        })
    }
}

impl Importable for PartnerDetails {
    const COLUMNS: &'static [&'static str] = &[URN, UKPRN, PARTNER_NAME];

    fn from_row(row: &Row<'_>) -> Result<Self, RowProblem> {
        let urn = row.urn()?;
        let ukprn = row.text(UKPRN);
        if urn.is_none() && ukprn.is_none() {
            return Err(RowProblem::NoNumber);
        }
        if ukprn.as_deref().is_some_and(|ukprn| !is_ukprn(ukprn)) {
            return Err(RowProblem::BadUkprn);
        }
        Ok(Self {
            urn,
            ukprn,
            name: row.name(PARTNER_NAME)?,
        })
    }
}

impl ImportableOrganisation for SchoolDetails {
    const KIND: ImportKind = ImportKind::Schools;
    const OPERATION: &'static str = "school import";
}

impl ImportableOrganisation for PartnerDetails {
    const KIND: ImportKind = ImportKind::Partners;
    const OPERATION: &'static str = "partner import";
}
