//! The schemas of a version: what its requests and replies are made of.

use adapter_kit::body_kind::{Purpose, RecordKind};
use adapter_kit::endpoint::{EntryProperty, ReplyBody, RequestBody};
use adapter_kit::read::{IDEMPOTENCY_KEY, MAX_BATCH_ITEMS};
use adapter_kit::shape::{Shape, Source, VersionField};
use adapter_kit::version::{ApiVersion, NestedVisibility};
use adapter_kit::wire::WireRecord;
use domain::fields::field::FieldInfo;
use domain::rules::Rule;
use domain::{Kind, Record, RecordField as _};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AdditionalProperties, AllOfBuilder, AnyOfBuilder, ArrayBuilder, ObjectBuilder, OneOfBuilder, Ref, Schema,
    SchemaType, Type,
};

use super::additions::{self, ACCOUNT, READINESS, RESET, USAGE};
use super::fields::{Presence, sent, shown};
pub(super) use super::properties::{DEGREE, TRAINEE, list_of, named};
use super::properties::{boolean, count, or_null, text, texts};
use super::{Context, Profile, enumerations, errors};

/// The name of a schema.
pub(super) const TRAINEE_IN_LIST: &str = "TraineeInList";
pub(super) const PLACEMENT: &str = "Placement";
pub(super) const PLACEMENT_NESTED: &str = "PlacementOfTrainee";
pub(super) const NEW_TRAINEE: &str = "NewTrainee";
pub(super) const TRAINEE_CHANGES: &str = "TraineeChanges";
pub(super) const NEW_PLACEMENT: &str = "NewPlacement";
pub(super) const PLACEMENT_CHANGES: &str = "PlacementChanges";
pub(super) const NEW_DEGREE: &str = "NewDegree";
pub(super) const DEGREE_CHANGES: &str = "DegreeChanges";
pub(super) const WITHDRAWAL: &str = "Withdrawal";
pub(super) const DEFERRAL: &str = "Deferral";
pub(super) const RECOMMENDATION: &str = "Recommendation";
pub(super) const PAGE: &str = "Page";
pub(super) const CODE_LIST: &str = "CodeList";
const BATCH_ITEM: &str = "BatchItem";
const BATCH_RESULT: &str = "BatchResult";
const EXISTING_TRAINEES: &str = "ExistingTrainees";
const PER_PAGE: &str = "per_page";

/// All schemas, by name, in the order in which they are shown.
pub(super) fn all(context: Context<'_>) -> Vec<(String, RefOr<Schema>)> {
    let ApiVersion { shapes, rules, .. } = context.version;
    let (request, reply) = (Request(context), Reply(context));
    let nested = "A placement, where a trainee is shown.";
    let nested = reply.schema(nested, &shapes.placement_nested, NestedVisibility::Shown);
    let mut all = vec![
        (TRAINEE, reply.schema("A trainee with placements and degrees.", &shapes.trainee, NestedVisibility::Shown)),
        (TRAINEE_IN_LIST, reply.schema("A trainee in a list.", &shapes.trainee, shapes.nested_in_lists)),
        (PLACEMENT, reply.schema("A placement.", &shapes.placement, NestedVisibility::Shown)),
        (PLACEMENT_NESTED, nested),
        (DEGREE, reply.schema("A degree.", &shapes.degree, NestedVisibility::Shown)),
        (NEW_TRAINEE, request.whole("A trainee to register.", rules.trainee)),
        (TRAINEE_CHANGES, request.changes("What is to change on a trainee.", rules.trainee)),
        (NEW_PLACEMENT, request.whole("A placement to add.", rules.placement)),
        (PLACEMENT_CHANGES, request.changes("What is to change on a placement.", rules.placement)),
        (NEW_DEGREE, request.whole("A degree to add.", rules.degree)),
        (DEGREE_CHANGES, request.changes("What is to change on a degree.", rules.degree)),
        (WITHDRAWAL, request.whole("A trainee leaves the training.", rules.withdrawal)),
        (DEFERRAL, request.whole("A trainee pauses the training.", rules.deferral)),
        (RECOMMENDATION, request.whole("A trainee is recommended for the award.", rules.recommendation)),
        (PAGE, page(context.profile)),
        (CODE_LIST, code_list()),
        (BATCH_ITEM, batch_item()),
        (BATCH_RESULT, batch_result(context.profile)),
        (EXISTING_TRAINEES, existing_trainees().into()),
    ];
    all.extend(errors::schemas(context.version.nested_errors, context.profile));
    all.extend(additions::schemas(context.profile));
    let mut all: Vec<_> = all.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    if context.profile == Profile::Client {
        all.extend(enumerations::all(context.version, context.lists));
    }
    all
}

/// The name of the schema of a request.
pub(super) fn request(request: RequestBody) -> &'static str {
    match (request.record, request.purpose) {
        (RecordKind::Trainee, Some(Purpose::Update)) => TRAINEE_CHANGES,
        (RecordKind::Placement, Some(Purpose::Update)) => PLACEMENT_CHANGES,
        (RecordKind::Degree, Some(Purpose::Update)) => DEGREE_CHANGES,
        (RecordKind::Trainee, _) => NEW_TRAINEE,
        (RecordKind::Placement, _) => NEW_PLACEMENT,
        (RecordKind::Degree, _) => NEW_DEGREE,
        (RecordKind::Withdrawal, _) => WITHDRAWAL,
        (RecordKind::Deferral, _) => DEFERRAL,
        (RecordKind::Recommendation, _) => RECOMMENDATION,
    }
}

/// The items of a batch.
pub(super) fn batch() -> ArrayBuilder {
    list_of(BATCH_ITEM).min_items(Some(1)).max_items(Some(MAX_BATCH_ITEMS))
}

/// The same as text.
pub(super) fn batch_lines() -> ObjectBuilder {
    text("One item a line, each as in the JSON array; blank lines are skipped.")
}

/// What the body of a successful reply is.
pub(super) fn reply_body(context: Context<'_>, reply: ReplyBody) -> RefOr<Schema> {
    let one = |name| in_data(named(name)).into();
    let list = |name| in_data(list_of(name)).into();
    let object = || ObjectBuilder::new().schema_type(Type::Object);
    match reply {
        ReplyBody::ServiceStatus => {
            let status = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["ok"]));
            object().property("status", status).required("status").into()
        }
        ReplyBody::Trainee => one(TRAINEE),
        ReplyBody::TraineePage => {
            in_data(list_of(TRAINEE_IN_LIST)).property("meta", named(PAGE)).required("meta").into()
        }
        ReplyBody::Changes => {
            in_data(list_of(additions::CHANGE)).property("meta", named(additions::CHANGES_META)).required("meta").into()
        }
        ReplyBody::Placement => one(PLACEMENT),
        ReplyBody::Placements => list(PLACEMENT),
        ReplyBody::Degree => one(DEGREE),
        ReplyBody::Degrees => list(DEGREE),
        ReplyBody::BatchResults => list(BATCH_RESULT),
        ReplyBody::CodeLists => {
            let list: RefOr<Schema> = named(CODE_LIST).into();
            let all = object().additional_properties(Some(AdditionalProperties::RefOr(list.clone())));
            either(context.profile, [list, all.into()])
        }
        ReplyBody::Account => one(ACCOUNT),
        ReplyBody::Usage => one(USAGE),
        ReplyBody::Readiness => one(READINESS),
        ReplyBody::Reset => one(RESET),
        ReplyBody::Entries(properties) => {
            let reply = Reply(context);
            let entry = properties.iter().fold(object(), |entry, EntryProperty { name, meaning, kind, .. }| {
                entry.property(*name, reply.outside_dictionary(meaning, *kind)).required(*name)
            });
            in_data(ArrayBuilder::new().items(entry)).into()
        }
    }
}

/// An object with something in `data`.
pub(super) fn in_data(schema: impl Into<RefOr<Schema>>) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Object).property("data", schema).required("data")
}

/// One of several forms. Of those that a generated client knows, exactly one holds.
pub(super) fn either(profile: Profile, forms: impl IntoIterator<Item = RefOr<Schema>>) -> RefOr<Schema> {
    match profile {
        Profile::Complete => forms.into_iter().fold(AnyOfBuilder::new(), AnyOfBuilder::item).into(),
        Profile::Client => forms.into_iter().fold(OneOfBuilder::new(), OneOfBuilder::item).into(),
    }
}

/// What the replies of a version show.
struct Reply<'a>(Context<'a>);

impl Reply<'_> {
    fn schema<R: WireRecord>(&self, description: &str, shape: &Shape<R>, nested: NestedVisibility) -> RefOr<Schema> {
        let object = ObjectBuilder::new().schema_type(Type::Object).description(Some(description));
        let object = shape.entries.iter().fold(object, |object, entry| {
            let schema = match &entry.source {
                Source::Field(field) => {
                    let info = field.info();
                    let nested = nested_reply(info.name).filter(|_| info.kind == Kind::Records);
                    shown(info, info.kind, self.0, nested)
                }
                Source::Own(VersionField { meaning, kind, .. }) => self.outside_dictionary(meaning, *kind),
            };
            let object = object.property(entry.name, schema);
            // Nested records that are hidden are shown where a request asks for them.
            if entry.when_set || !nested.shows(entry.kind()) { object } else { object.required(entry.name) }
        });
        object.into()
    }

    /// What is no field of the dictionary, such as a field that only this version has; it may always be null.
    fn outside_dictionary(&self, meaning: &'static str, kind: Kind) -> RefOr<Schema> {
        let info = domain::TraineeField::trn.definition();
        let info = FieldInfo { name: "", meaning, kind, never_null: false, ..info };
        shown(&info, kind, self.0, None)
    }
}

fn nested_reply(list: &str) -> Option<Ref> {
    let placements = domain::TraineeField::placements.info().name;
    Some(named(if list == placements { PLACEMENT_NESTED } else { DEGREE }))
}

/// What the requests of a version can have.
struct Request<'a>(Context<'a>);

impl Request<'_> {
    /// A request that makes a record or asks for a transition: it must have what the rules demand.
    fn whole<R: WireRecord>(&self, description: &str, rules: &[Rule<R>]) -> RefOr<Schema> {
        let object = self.inputs(description, rules, |_| true);
        let inputs = R::inputs(self.0.version).entries.iter();
        let required = inputs.filter(|input| self.presence(rules, input.field) == Presence::Required);
        required.fold(object, |object, input| object.required(input.name)).into()
    }

    /// A request that changes a record: it has what is to change. Nested records have endpoints of their own.
    fn changes<R: WireRecord>(&self, description: &str, rules: &[Rule<R>]) -> RefOr<Schema> {
        self.inputs(description, rules, |kind| kind != Kind::Records).into()
    }

    fn inputs<R: WireRecord>(&self, description: &str, rules: &[Rule<R>], is_read: fn(Kind) -> bool) -> ObjectBuilder {
        let object =
            ObjectBuilder::new().schema_type(Type::Object).description(Some(description)).min_properties(Some(1));
        let entries = R::inputs(self.0.version).entries.iter().filter(|input| is_read(input.field.info().kind));
        entries.fold(object, |object, input| {
            let info = input.field.info();
            let presence = self.presence(rules, input.field);
            let placements = domain::TraineeField::placements.info().name;
            let nested = named(if info.name == placements { NEW_PLACEMENT } else { NEW_DEGREE });
            object.property(input.name, sent(info, presence, self.0, Some(nested)))
        })
    }

    /// Whether a rule demands a value in the field, whatever else is sent. Released documents do not say it of the fields
    /// that a rule demands among other things.
    fn presence<R: Record>(&self, rules: &[Rule<R>], field: R::Field) -> Presence {
        let demanded = match self.0.profile {
            Profile::Complete => Rule::required_field,
            Profile::Client => Rule::demanded_field,
        };
        if rules.iter().any(|rule| demanded(rule) == Some(field)) { Presence::Required } else { Presence::Optional }
    }
}

const PAGE_MEANING: &str =
    "Where in a list the page is. Of a page that was reached by a cursor, there is `per_page` and nothing else.";

/// Released documents demand all four members, which a page that was reached by a number has.
fn page(profile: Profile) -> RefOr<Schema> {
    let page = [
        ("current_page", "The page, from 1."),
        ("total_pages", "How many pages there are."),
        ("total_count", "How many records there are."),
        (PER_PAGE, "Records on a page."),
    ];
    let object = ObjectBuilder::new().schema_type(Type::Object).description(Some(PAGE_MEANING));
    page.into_iter()
        .fold(object, |object, (name, description)| {
            let object = object.property(name, count(description));
            if profile == Profile::Complete || name == PER_PAGE { object.required(name) } else { object }
        })
        .into()
}

fn code_list() -> RefOr<Schema> {
    let metadata = ["name", "display_name", "description"]
        .into_iter()
        .fold(ObjectBuilder::new().schema_type(Type::Object), |object, name| {
            object.property(name, ObjectBuilder::new().schema_type(Type::String))
        });
    let year = |description: &str| or_null(ObjectBuilder::new().description(Some(description)), Type::Integer);
    let text_or_null = |description: &str| or_null(text(description), Type::String);
    let texts = |description: &str| texts().description(Some(description));
    let entry = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("code", text("The code."))
        .property("display_name", text("What it stands for."))
        .property("start_year", year("The first academic year in which it is used."))
        .property("end_year", year("The last academic year in which it is used."))
        .property("funding_subjects", texts("Of a course subject: what it counts as for the funding."))
        .property("funding_type", text_or_null("Of a funding method or a funding rule: bursary, scholarship or grant."))
        .property("bursary_tier", text_or_null("Of a funding method: the tier of the bursary."))
        .property("training_route", text("Of a funding rule: the code of the route."))
        .property("funding_subject", text("Of a funding rule: one of the `funding_subjects` of the course subject."))
        .property("trigger", text("Of a reason of a withdrawal: whose decision it was."))
        .property("requires_another_reason", boolean("Whether the reason must be given in words."))
        .property("requires_safeguarding_concern_reasons", boolean("Whether the concerns must be given in words."))
        .required("code")
        .required("display_name");
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("A list of codes."))
        .property("metadata", metadata.required("name").required("display_name"))
        .property("entries", ArrayBuilder::new().items(entry))
        .property("triggers", texts("Whose decision a withdrawal can have been."))
        .property("future_interest", texts("What is known of the interest of a withdrawn trainee."))
        .required("metadata")
        .required("entries")
        .into()
}

fn batch_item() -> RefOr<Schema> {
    let key = ObjectBuilder::new()
        .schema_type(SchemaType::Array(vec![Type::String, Type::Integer]))
        .description(Some("A key of the client's for the item, as `Idempotency-Key` is for a request of its own."));
    in_data(named(NEW_TRAINEE)).property(IDEMPOTENCY_KEY, key).required(IDEMPOTENCY_KEY).into()
}

fn existing_trainees() -> ArrayBuilder {
    list_of(TRAINEE).description(Some("The existing records of a duplicate."))
}

/// What a request of its own would be answered, with the key and the status next to it.
fn batch_result(profile: Profile) -> RefOr<Schema> {
    let key = ObjectBuilder::new()
        .schema_type(SchemaType::Array(vec![Type::String, Type::Null]))
        .description(Some("The key of the item; null where what was sent cannot be one."));
    let item = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property(IDEMPOTENCY_KEY, key)
        .property("status", count("The status that a request of its own would have got."))
        .property("warnings", texts().description(Some("What its `Warning` headers would have said.")))
        .property("replayed", boolean("Whether it is the reply to an earlier request with the key."))
        .required(IDEMPOTENCY_KEY)
        .required("status");
    match profile {
        Profile::Complete => {
            let existing = existing_trainees();
            let existing = ObjectBuilder::new().schema_type(Type::Object).property("data", existing);
            let refused = AllOfBuilder::new().item(named(errors::ERRORS)).item(existing);
            let reply = AnyOfBuilder::new()
                .item(in_data(named(TRAINEE)))
                .item(refused)
                .item(named(errors::ERRORS_BY_FIELD))
                .item(named(errors::UNAUTHORIZED));
            AllOfBuilder::new().description(Some(BATCH_RESULT_MEANING)).item(item).item(reply).into()
        }
        // The members of all replies next to each other, since generators read no object from several parts.
        Profile::Client => {
            let data = either(profile, [named(TRAINEE).into(), named(EXISTING_TRAINEES).into()]);
            let problems =
                ArrayBuilder::new().description(Some("What is wrong with the item.")).items(named(errors::ERROR));
            item.description(Some(BATCH_RESULT_MEANING))
                .property("data", data)
                .property("errors", problems)
                .property("error", text("`Unauthorized`, when the token was revoked meanwhile."))
                .into()
        }
    }
}

const BATCH_RESULT_MEANING: &str = "The result of an item: the reply that it would have got as a request of its own.";
