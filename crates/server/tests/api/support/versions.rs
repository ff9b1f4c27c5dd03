//! Copies of versions that live and end on other days.

use adapter_kit::{AllInputs, ApiVersion, Inputs, Publication, Shape, Shapes};
use domain::Record;

/// A copy of a version with another publication, made once and kept as long as the tests run.
pub(crate) fn republished(version: &'static ApiVersion, publication: Publication) -> &'static ApiVersion {
    fn shape<R: Record>(shape: &Shape<R>) -> Shape<R> {
        Shape { entries: shape.entries, names: shape.names }
    }
    fn inputs<R: Record>(inputs: &Inputs<R>) -> Inputs<R> {
        Inputs { entries: inputs.entries, by_name: inputs.by_name }
    }
    Box::leak(Box::new(ApiVersion {
        label: version.label,
        publication,
        shapes: Shapes {
            trainee: shape(&version.shapes.trainee),
            placement: shape(&version.shapes.placement),
            placement_nested: shape(&version.shapes.placement_nested),
            degree: shape(&version.shapes.degree),
        },
        inputs: AllInputs {
            trainee: inputs(&version.inputs.trainee),
            placement: inputs(&version.inputs.placement),
            degree: inputs(&version.inputs.degree),
            withdrawal: inputs(&version.inputs.withdrawal),
            deferral: inputs(&version.inputs.deferral),
            recommendation: inputs(&version.inputs.recommendation),
        },
        rules: version.rules,
        terms: version.terms,
        endpoints: version.endpoints,
        nested_errors: version.nested_errors,
        words: version.words,
        notes: version.notes,
    }))
}
