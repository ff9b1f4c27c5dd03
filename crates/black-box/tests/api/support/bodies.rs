//! Bodies to send. Fields are given by their canonical name and spelt as the version spells them.

use adapter_kit::shape::JsonType;
use adapter_kit::{ApiVersion, WireRecord};
use conformance::paths;
use domain::{DegreeField, TraineeField, Withdrawal, WithdrawalField};
use serde_json::{Map, Value, json};

use super::wire_values;

/// The required fields of the example; two of them are required by its aim and its route.
pub(crate) const REQUIRED: [TraineeField; 17] = [
    TraineeField::first_names,
    TraineeField::last_name,
    TraineeField::date_of_birth,
    TraineeField::sex,
    TraineeField::email,
    TraineeField::agency_id,
    TraineeField::training_route,
    TraineeField::itt_start_date,
    TraineeField::itt_end_date,
    TraineeField::course_subject_1,
    TraineeField::course_age_range,
    TraineeField::course_year,
    TraineeField::study_mode,
    TraineeField::itt_aim,
    TraineeField::itt_qualification_aim,
    TraineeField::fund_code,
    TraineeField::funding_method,
];

/// Whether a version has a rule that requires a field of every trainee.
pub(crate) fn requires(version: &ApiVersion, field: TraineeField) -> bool {
    version
        .rules
        .trainee
        .iter()
        .any(|rule| rule.required_field() == Some(field))
}

/// The body of a request, in the names of a version.
#[derive(Clone)]
pub(crate) struct Body {
    version: &'static ApiVersion,
    data: Map<String, Value>,
}

impl Body {
    /// A body that asks for nothing yet.
    pub(crate) fn new(version: &'static ApiVersion) -> Self {
        Self {
            version,
            data: Map::new(),
        }
    }

    /// A trainee whom the version accepts, with a placement and a degree.
    pub(crate) fn example(version: &'static ApiVersion) -> Self {
        let body: Value = serde_json::from_str(&server::sandbox::demo::example(version)).unwrap();
        Self {
            version,
            data: body[version.wire.envelope.request]
                .as_object()
                .unwrap()
                .clone(),
        }
    }

    /// A withdrawal that the version accepts.
    pub(crate) fn withdrawal(version: &'static ApiVersion) -> Self {
        Self::new(version)
            .with_withdrawal(WithdrawalField::withdrawal_date, "2026-10-01")
            .with_withdrawal(WithdrawalField::trigger, "trainee")
            .with_withdrawal(WithdrawalField::future_interest, "no")
            .with_withdrawal(WithdrawalField::reasons, json!(["trainee_workload_issues"]))
    }

    /// Sets a field of a trainee.
    pub(crate) fn with(self, field: TraineeField, value: impl Into<Value>) -> Self {
        self.with_field::<domain::Trainee>(field, value.into())
    }

    fn with_field<R: WireRecord>(mut self, field: R::Field, value: Value) -> Self {
        wire_values::put::<R>(self.version, &mut self.data, field, value);
        self
    }

    /// Removes a field of a trainee.
    pub(crate) fn without(mut self, field: TraineeField) -> Self {
        let inputs = self.version.inputs.trainee.all_of_field(field);
        let removed: Vec<Value> = inputs
            .filter_map(|input| paths::remove(&mut self.data, input.name))
            .collect();
        assert!(!removed.is_empty(), "{field:?} was not there");
        self
    }

    /// Sets a field of a withdrawal.
    pub(crate) fn with_withdrawal(self, field: WithdrawalField, value: impl Into<Value>) -> Self {
        self.with_field::<Withdrawal>(field, value.into())
    }

    /// Sets a key, or a path of keys, to the value as given.
    pub(crate) fn with_key(mut self, key: &str, value: impl Into<Value>) -> Self {
        paths::put(&mut self.data, key, value.into());
        self
    }

    /// Sets the fields that a request of the version can set.
    pub(crate) fn with_known(self, fields: &[(TraineeField, Value)]) -> Self {
        let known = fields
            .iter()
            .filter(|(field, _)| can_set(self.version, *field))
            .cloned()
            .collect::<Vec<_>>();
        known
            .into_iter()
            .fold(self, |body, (field, value)| body.with(field, value))
    }
}

impl From<Body> for Value {
    fn from(body: Body) -> Self {
        json!({ "data": body.data })
    }
}

/// Whether a request of the version can set a field.
pub(crate) fn can_set(version: &ApiVersion, field: TraineeField) -> bool {
    version.inputs.trainee.name_of(field).is_some()
}

/// Whether a new record gets a value where its request has no key for a field.
pub(crate) fn has_default(version: &ApiVersion, field: TraineeField) -> bool {
    version
        .inputs
        .trainee
        .find_by_field(field)
        .is_some_and(|input| input.default.is_some())
}

/// Whether the version accepts whole numbers alone in a field of a degree.
pub(crate) fn takes_numbers_alone(version: &ApiVersion, field: DegreeField) -> bool {
    version
        .inputs
        .degree
        .find_by_field(field)
        .is_some_and(|input| input.accepts == Some(JsonType::Integer))
}

/// What a request of the version calls a field.
#[track_caller]
pub(crate) fn input<R: WireRecord>(version: &ApiVersion, field: R::Field) -> &'static str {
    R::inputs(version)
        .name_of(field)
        .unwrap_or_else(|| panic!("{} cannot set {field:?}", version.label))
}

/// A record in a nested list, as a request of a version has it.
pub(crate) fn record<R: WireRecord>(version: &ApiVersion, fields: &[(R::Field, &str)]) -> Value {
    let mut record = Map::new();
    for (field, value) in fields {
        wire_values::put::<R>(version, &mut record, *field, Value::from(*value));
    }
    Value::Object(record)
}
