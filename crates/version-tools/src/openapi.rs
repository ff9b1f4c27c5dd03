//! Builds the OpenAPI document of a version.
//!
//! The dictionary defines the type, length, codes and nullability of each field. The shapes and
//! inputs of the version define the names and the selection of fields. The rules of the version
//! define the required fields. The document therefore matches the behaviour of the server. This
//! module does not depend on an HTTP library or on the configuration of the server.

use adapter_kit::endpoint::Tag;
use adapter_kit::version::{ApiVersion, Status};
use adapter_kit::versions::Served;
use domain::Lists;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    ComponentsBuilder, Contact, Info, License, OpenApi, OpenApiBuilder, PathsBuilder, Server,
};

mod additions;
mod descriptions;
mod errors;
pub mod examples;
mod fields;
mod operation_id;
mod operations;
mod parameters;
mod properties;
mod references;
mod replies;
mod schemas;
mod version_3_0;

pub use version_3_0::in_version_3_0;

/// The contact for questions about the API.
const CONTACT: &str = "The operator of the register";
/// The licence of the document and of the program.
const LICENCE: &str = "MIT";
/// The name of the security scheme.
const TOKEN: &str = "token";

/// The inputs for a document.
#[derive(Clone, Copy)]
struct Context<'a> {
    version: &'a ApiVersion,
    lists: &'a Lists,
}

/// Returns the OpenAPI 3.1 document of a version. `lists` are the code lists of the register.
#[must_use]
pub fn document(served: &Served, lists: &Lists) -> OpenApi {
    let version = served.version;
    let context = Context { version, lists };
    let mut paths = PathsBuilder::new();
    for endpoint in version.endpoints.all() {
        for (method, operation) in operations::build(context, endpoint) {
            let item = utoipa::openapi::PathItem::new(method, operation);
            paths = paths.path(version.row(endpoint).path, item);
        }
    }
    let token = Http::builder()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("The token of a provider: `Authorization: Bearer <token>`. Each environment has its own."))
        .build();
    let components = schemas::all(context)
        .into_iter()
        .fold(ComponentsBuilder::new(), |components, (name, schema)| {
            components.schema(name, schema)
        })
        .security_scheme(TOKEN, SecurityScheme::Http(token));
    let is_used = |tag: Tag| {
        version
            .endpoints
            .all()
            .any(|endpoint| version.row(endpoint).tag == tag)
    };
    let tags = Tag::ALL.iter().filter(|(tag, ..)| is_used(*tag));
    let document = OpenApiBuilder::new()
        .info(info(version))
        .servers(Some([Server::new(version.label.base_path())]))
        .paths(paths)
        .components(Some(components.build()))
        .security(Some([SecurityRequirement::new(
            TOKEN,
            Vec::<String>::new(),
        )]))
        .tags(Some(tags.map(|(_, name, meaning)| {
            TagBuilder::new()
                .name(*name)
                .description(Some(*meaning))
                .build()
        })))
        .build();
    references::without_unused(document)
}

/// Returns the title, the description and the contact of a document.
fn info(version: &ApiVersion) -> Info {
    let mut description = String::from(
        "Teacher-training providers keep the records of their trainees in step with the national register.\n\n",
    );
    description.push_str(
        &match (version.publication.since, version.publication.status) {
            (None, _) => "Not released; no date is set.".to_owned(),
            (Some(since), Status::Released) => format!("Released on {since}."),
            (Some(since), Status::SandboxOnly) => format!("In the sandbox since {since}."),
        },
    );
    if let Some(deprecated) = version.publication.deprecated_on {
        description.push_str(&format!(" Deprecated since {deprecated}."));
    }
    if let Some(sunset) = version.publication.sunset_on {
        description.push_str(&format!(" Removed on {sunset}."));
    }
    for note in version.notes {
        description.push_str(&format!("\n- {note}"));
    }
    Info::builder()
        .title("Trainee Register API")
        .version(version.label.to_string())
        .description(Some(description))
        .contact(Some(Contact::builder().name(Some(CONTACT)).build()))
        .license(Some(
            License::builder()
                .name(LICENCE)
                .identifier(Some(LICENCE))
                .build(),
        ))
        .build()
}
