//! Copies of versions that live and end on other days, and what differs between versions in name
//! only.

use adapter_kit::{ApiVersion, Deprecation, Endpoint, Endpoints, Method, Publication, Versions};
use versions::SERVED;

/// A copy of a version with another publication, made once and kept as long as the tests run.
pub(crate) fn republished(
    version: &'static ApiVersion,
    publication: Publication,
) -> &'static ApiVersion {
    Box::leak(Box::new(ApiVersion {
        publication,
        ..*version
    }))
}

/// A copy of a version with one deprecated endpoint.
pub(crate) fn with_one_ending(
    version: &'static ApiVersion,
    ends: Deprecation,
) -> &'static ApiVersion {
    let is_other =
        |endpoint: &Endpoint| *endpoint != ends.endpoint && !Endpoint::ADDITIONS.contains(endpoint);
    let others = version.endpoints.all().filter(is_other);
    let endpoints = Endpoints {
        available: others.collect::<Vec<_>>().leak(),
        deprecated: vec![ends].leak(),
    };
    Box::leak(Box::new(ApiVersion {
        endpoints,
        ..*version
    }))
}

/// The versions, with this one instead of the one with its label.
pub(crate) fn in_place(version: &'static ApiVersion) -> &'static Versions {
    let list: Vec<_> = SERVED
        .iter()
        .map(|other| {
            if other.label == version.label {
                version
            } else {
                *other
            }
        })
        .collect();
    Box::leak(Box::new(Versions::new(&list)))
}

/// The last segment of the path of a recommendation in a version; the older name if it has both.
pub(crate) fn recommendation(version: &ApiVersion) -> &'static str {
    let names = [Endpoint::RecommendForQts, Endpoint::UpdateQtsOrEytsStatus];
    let served = names.into_iter().find(|name| version.endpoints.has(*name));
    served.unwrap().path().rsplit('/').next().unwrap()
}

/// The HTTP methods of an endpoint in versions that do not change it.
pub(crate) fn methods(endpoint: Endpoint) -> &'static [&'static str] {
    method_names(endpoint.method())
}

/// The HTTP methods of a method.
pub(crate) fn method_names(method: Method) -> &'static [&'static str] {
    match method {
        Method::Get => &["GET"],
        Method::Post => &["POST"],
        Method::PutOrPatch => &["PUT", "PATCH"],
        Method::Delete => &["DELETE"],
    }
}

/// The newest version.
pub(crate) fn newest() -> &'static ApiVersion {
    versions::all().newest().unwrap().version
}

/// All other versions.
pub(crate) fn others_than(version: &ApiVersion) -> impl Iterator<Item = &'static ApiVersion> {
    SERVED
        .iter()
        .copied()
        .filter(move |other| other.label != version.label)
}
