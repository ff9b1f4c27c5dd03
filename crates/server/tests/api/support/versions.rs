//! Copies of versions that live and end on other days, and what differs between them in name only.

use adapter_kit::{AllInputs, ApiVersion, Deprecation, Endpoint, Endpoints, Inputs, Publication, Shape, Shapes};
use domain::Record;

/// A copy of a version with another publication, made once and kept as long as the tests run.
pub(crate) fn republished(version: &'static ApiVersion, publication: Publication) -> &'static ApiVersion {
    Box::leak(Box::new(ApiVersion { publication, ..copied(version) }))
}

/// A copy of a version in which one endpoint, and no other, should no longer be used.
pub(crate) fn with_one_ending(version: &'static ApiVersion, ends: Deprecation) -> &'static ApiVersion {
    let others = version.endpoints.all().filter(|endpoint| *endpoint != ends.endpoint);
    let endpoints = Endpoints { available: others.collect::<Vec<_>>().leak(), deprecated: vec![ends].leak() };
    Box::leak(Box::new(ApiVersion { endpoints, ..copied(version) }))
}

/// The last part of the path by which a version recommends a trainee, the older name where it has both.
pub(crate) fn recommendation(version: &ApiVersion) -> &'static str {
    let names = [Endpoint::RecommendForQts, Endpoint::UpdateQtsOrEytsStatus];
    let served = names.into_iter().find(|name| version.endpoints.all().any(|endpoint| endpoint == *name));
    served.unwrap().path().rsplit('/').next().unwrap()
}

fn copied(version: &'static ApiVersion) -> ApiVersion {
    fn shape<R: Record>(shape: &Shape<R>) -> Shape<R> {
        Shape { entries: shape.entries, names: shape.names }
    }
    fn inputs<R: Record>(inputs: &Inputs<R>) -> Inputs<R> {
        Inputs { entries: inputs.entries, by_name: inputs.by_name }
    }
    ApiVersion {
        label: version.label,
        publication: version.publication,
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
    }
}
