//! Facts that only an import from an older system fills: they share one column, as a JSON object.

use chrono::{DateTime, Utc};
use domain::Trainee;
use domain::value::Document;
use serde::{Deserialize, Serialize};

use crate::error::StorageError;

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Facts {
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_ethnic_background: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    course_min_age: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    course_max_age: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    course_title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    course_uuid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ebacc: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    /// Milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    agency_updated_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_from_legacy: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_from_agency: Option<bool>,
    /// JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_legacy_data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agency_editable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    placement_detail: Option<String>,
}

/// The column; `None` on a record that was not imported.
pub(super) fn facts(trainee: &Trainee) -> Option<String> {
    let facts = Facts {
        additional_ethnic_background: trainee.additional_ethnic_background.clone(),
        course_min_age: trainee.course_min_age,
        course_max_age: trainee.course_max_age,
        course_title: trainee.course_title.clone(),
        course_uuid: trainee.course_uuid.clone(),
        ebacc: trainee.ebacc,
        region: trainee.region.clone(),
        agency_updated_at: trainee.agency_updated_at.map(|moment| moment.timestamp_millis()),
        created_from_legacy: trainee.created_from_legacy,
        created_from_agency: trainee.created_from_agency,
        additional_legacy_data: trainee.additional_legacy_data.as_ref().map(|document| document.0.clone()),
        agency_editable: trainee.agency_editable,
        placement_detail: trainee.placement_detail.clone(),
    };
    if facts == Facts::default() { None } else { serde_json::to_string(&facts).ok() }
}

/// Gives the facts back to the trainee of the row with that key.
pub(super) fn restore(trainee: &mut Trainee, column: &str, key: i64) -> Result<(), StorageError> {
    let facts: Facts =
        serde_json::from_str(column).map_err(|_| StorageError::CorruptRow { table: "trainees", id: key })?;
    trainee.additional_ethnic_background = facts.additional_ethnic_background;
    trainee.course_min_age = facts.course_min_age;
    trainee.course_max_age = facts.course_max_age;
    trainee.course_title = facts.course_title;
    trainee.course_uuid = facts.course_uuid;
    trainee.ebacc = facts.ebacc;
    trainee.region = facts.region;
    trainee.agency_updated_at = facts.agency_updated_at.and_then(DateTime::<Utc>::from_timestamp_millis);
    trainee.created_from_legacy = facts.created_from_legacy;
    trainee.created_from_agency = facts.created_from_agency;
    trainee.additional_legacy_data = facts.additional_legacy_data.map(Document);
    trainee.agency_editable = facts.agency_editable;
    trainee.placement_detail = facts.placement_detail;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_as_they_were_stored() {
        let trainee = Trainee {
            course_min_age: Some(11),
            agency_updated_at: DateTime::from_timestamp_millis(1_700_000_000_123),
            additional_legacy_data: Some(Document("{\"a\":[1]}".to_owned())),
            created_from_legacy: Some(true),
            ..Trainee::default()
        };
        let mut restored = Trainee::default();
        restore(&mut restored, &facts(&trainee).unwrap(), 1).unwrap();
        assert_eq!(restored, trainee);
    }

    #[test]
    fn a_record_that_was_not_imported_needs_no_column() {
        assert_eq!(facts(&Trainee::default()), None);
    }
}
