//! The schemas of the requests and replies of a version.

use adapter_kit::PageMember;
use adapter_kit::body_kind::{Direction, Purpose, RecordKind};
use adapter_kit::endpoint::{EntryProperty, ReplyBody, RequestBody};
use adapter_kit::read::{IDEMPOTENCY_KEY, MAX_BATCH_ITEMS, NestedLists};
use adapter_kit::shape::{Entry, Shape, Source, VersionField};
use adapter_kit::version::{ApiVersion, NestedVisibility, capitalised};
use adapter_kit::wire::{WireNested, WireRecord};
use adapter_kit::wire_form::DATA;
use domain::fields::field::FieldInfo;
use domain::rules::Rule;
use domain::{Field, Kind, Record, RecordField, TraineeField, for_each_nested, for_nested_list};
use serde_json::json;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AdditionalProperties, AllOfBuilder, AnyOfBuilder, ArrayBuilder, ObjectBuilder, Ref, Schema,
    SchemaType, Type,
};

use super::additions::{self, ACCOUNT, READINESS, RESET, USAGE};
use super::fields::{self, Presence, sent, shown};
pub(super) use super::properties::{TRAINEE, list_of, named};
use super::properties::{boolean, count, or_null, schema_name, text, texts, with_article};
use super::{Context, errors};
use crate::documents::listed;

/// The name of a schema.
pub(super) const TRAINEE_IN_LIST: &str = "TraineeInList";
pub(super) const PAGE: &str = "Page";
pub(super) const CODE_LIST: &str = "CodeList";
const BATCH_ITEM: &str = "BatchItem";
const BATCH_RESULT: &str = "BatchResult";

/// Returns all schemas by name, in display order.
pub(super) fn all(context: Context<'_>) -> Vec<(String, RefOr<Schema>)> {
    let ApiVersion { shapes, rules, .. } = context.version;
    let request = Request(context);
    let reply = Reply(context);
    let mut all: Vec<(String, RefOr<Schema>)> = Vec::new();
    let mut add = |name: &str, schema| all.push((name.to_owned(), schema));
    add(
        TRAINEE,
        reply.schema(
            "A trainee with placements and degrees.",
            &shapes.trainee,
            NestedVisibility::Shown,
        ),
    );
    add(
        TRAINEE_IN_LIST,
        reply.schema(
            "A trainee in a list.",
            &shapes.trainee,
            shapes.nested_in_lists,
        ),
    );
    add(
        &new_name(TRAINEE),
        request.whole("A trainee to register.", rules.trainee),
    );
    add(
        &changes_name(TRAINEE),
        request.changes("What is to change on a trainee.", rules.trainee),
    );
    add(
        &schema_name(RecordKind::Withdrawal),
        request.whole("A trainee leaves the training.", rules.withdrawal),
    );
    add(
        &schema_name(RecordKind::Deferral),
        request.whole("A trainee pauses the training.", rules.deferral),
    );
    let recommendation = request.whole(
        "A trainee is recommended for the award.",
        rules.recommendation,
    );
    add(&schema_name(RecordKind::Recommendation), recommendation);
    add(PAGE, page(context));
    add(CODE_LIST, code_list());
    add(BATCH_ITEM, batch_item(context));
    add(BATCH_RESULT, batch_result(context));
    all.extend(for_each_nested!(nested(context)).into_iter().flatten());
    all.extend(errors::schemas(context.version));
    all.extend(
        additions::schemas()
            .into_iter()
            .map(|(name, schema)| (name.to_owned(), schema)),
    );
    all
}

/// Returns the schemas of a kind of nested record.
fn nested<R: WireNested>(context: Context<'_>) -> Vec<(String, RefOr<Schema>)> {
    let request = Request(context);
    let reply = Reply(context);
    let shapes = R::shapes(context.version);
    let rules = R::rules(context.version);
    let name = schema_name(R::KIND);
    let one = with_article(R::NAME);
    let shown = format!("{}, where a trainee is shown.", capitalised(&one));
    vec![
        (
            name.clone(),
            reply.schema(
                &format!("{}.", capitalised(&one)),
                &shapes.alone,
                NestedVisibility::Shown,
            ),
        ),
        (
            in_trainee_name(&name),
            reply.schema(&shown, &shapes.in_trainee, NestedVisibility::Shown),
        ),
        (
            new_name(&name),
            request.whole(&format!("{} to add.", capitalised(&one)), rules),
        ),
        (
            changes_name(&name),
            request.changes(&format!("What is to change on {one}."), rules),
        ),
    ]
}

/// Returns the name of the schema of a new record.
fn new_name(record: &str) -> String {
    format!("New{record}")
}

/// Returns the name of the schema of the changes of a record.
fn changes_name(record: &str) -> String {
    format!("{record}Changes")
}

/// Returns the name of the schema for a nested record inside its trainee. Used only if this form
/// differs from a separate response.
fn in_trainee_name(record: &str) -> String {
    format!("{record}OfTrainee")
}

/// Returns the name of the schema of a request.
pub(super) fn request(request: RequestBody) -> String {
    let name = schema_name(request.record);
    match request.purpose {
        Some(Purpose::Create) => new_name(&name),
        Some(Purpose::Update) => changes_name(&name),
        None => name,
    }
}

/// Returns the schema of a batch as a JSON array.
pub(super) fn batch() -> ArrayBuilder {
    list_of(BATCH_ITEM)
        .min_items(Some(1))
        .max_items(Some(MAX_BATCH_ITEMS))
}

/// Returns the schema of a batch as lines of JSON.
pub(super) fn batch_lines() -> ObjectBuilder {
    text("One item a line, each as in the JSON array; blank lines are skipped.")
}

/// Returns the schema of the body of a successful reply.
pub(super) fn reply_body(context: Context<'_>, reply: ReplyBody) -> RefOr<Schema> {
    let one = |name: &str| in_data(named(name)).into();
    let record = |name: &str| {
        let record = in_key(context.version.wire.envelope.record, named(name));
        if !context.version.wire.envelope.record_links {
            return record.into();
        }
        let address = text("The path of the record.");
        let links = ObjectBuilder::new()
            .schema_type(Type::Object)
            .property("self", address)
            .required("self");
        // A record in the reply to a dry run has no address.
        record.property("links", links).into()
    };
    let list = |name: &str| in_data(list_of(name)).into();
    let object = || ObjectBuilder::new().schema_type(Type::Object);
    match reply {
        ReplyBody::ServiceStatus => {
            let status = ObjectBuilder::new()
                .schema_type(Type::String)
                .enum_values(Some(["ok"]));
            object()
                .property("status", status)
                .required("status")
                .into()
        }
        ReplyBody::Trainee => record(TRAINEE),
        ReplyBody::TraineePage => {
            let envelope = &context.version.wire.envelope;
            let page = in_key(envelope.list, list_of(TRAINEE_IN_LIST));
            match envelope.page.0 {
                "" => with_page_members(page, context),
                name => page.property(name, named(PAGE)).required(name),
            }
            .into()
        }
        ReplyBody::Changes => in_data(list_of(additions::CHANGE))
            .property("meta", named(additions::CHANGES_META))
            .required("meta")
            .into(),
        ReplyBody::Nested(kind) => record(&schema_name(kind)),
        ReplyBody::NestedList(kind) => {
            let list = list_of(&schema_name(kind));
            in_key(context.version.wire.envelope.list, list).into()
        }
        ReplyBody::BatchResults => list(BATCH_RESULT),
        ReplyBody::CodeLists => {
            let list: RefOr<Schema> = named(CODE_LIST).into();
            let all =
                object().additional_properties(Some(AdditionalProperties::RefOr(list.clone())));
            AnyOfBuilder::new().item(list).item(all).into()
        }
        ReplyBody::Account => one(ACCOUNT),
        ReplyBody::Usage => one(USAGE),
        ReplyBody::Readiness => one(READINESS),
        ReplyBody::Reset => one(RESET),
        ReplyBody::Entries(properties) => {
            let reply = Reply(context);
            let entry = properties.iter().fold(
                object(),
                |entry,
                 EntryProperty {
                     name,
                     meaning,
                     kind,
                     ..
                 }| {
                    entry
                        .property(*name, reply.outside_dictionary(meaning, *kind))
                        .required(*name)
                },
            );
            in_data(ArrayBuilder::new().items(entry)).into()
        }
    }
}

/// Returns an object with this schema in `data`.
fn in_data(schema: impl Into<RefOr<Schema>>) -> ObjectBuilder {
    in_key(DATA, schema)
}

/// Returns an object with this schema under a key.
pub(super) fn in_key(key: &str, schema: impl Into<RefOr<Schema>>) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property(key, schema)
        .required(key)
}

/// Builds schemas of replies.
struct Reply<'a>(Context<'a>);

impl Reply<'_> {
    /// Returns the schema of a record. `nested` tells whether responses always show nested records.
    fn schema<R: WireRecord>(
        &self,
        description: &str,
        shape: &Shape<R>,
        nested: NestedVisibility,
    ) -> RefOr<Schema> {
        let mut members = Members::default();
        for entry in shape.entries.iter().filter(|entry| entry.is_first_part()) {
            // Hidden nested records appear if a request includes them.
            let is_required = !entry.when_set && nested.shows(entry.kind());
            members.add(entry.name, self.property(shape, entry), is_required);
        }
        members
            .into_object(
                ObjectBuilder::new().description(Some(description)),
                Direction::Reply,
            )
            .into()
    }

    /// Returns the schema of one property: a field, a joined text or a value outside the
    /// dictionary.
    fn property<R: WireRecord>(&self, shape: &Shape<R>, entry: &Entry<R>) -> RefOr<Schema> {
        if let Some(part) = entry.part {
            let parts = shape
                .entries
                .iter()
                .filter(|other| other.name == entry.name);
            let meanings = parts.filter_map(|part| Some(part.field()?.info().meaning));
            return fields::joined(meanings, part, Presence::Optional);
        }
        let schema = match (&entry.source, entry.form) {
            (source, Some(form)) => {
                let meaning = match source {
                    Source::Field(field) => field.info().meaning,
                    Source::Own(own) => own.meaning,
                };
                let meaning = self.0.version.vocabulary.apply(meaning);
                // A member of a split value may be null.
                let is_whole = form.form.members() == 1;
                let presence = match source {
                    Source::Field(field) if field.info().never_null && is_whole => {
                        Presence::Required
                    }
                    Source::Field(_) | Source::Own(_) => Presence::Optional,
                };
                let may = (Direction::Reply, presence);
                fields::formed(&meaning, &entry.form_field(), form, may)
            }
            (Source::Field(field), None) => {
                let info = field.info();
                let nested =
                    nested_list(*field).and_then(|list| for_nested_list!(list, in_trainee(self.0)));
                shown(info, info.kind, self.0, nested)
            }
            (Source::Own(VersionField { meaning, kind, .. }), None) => {
                self.outside_dictionary(meaning, *kind)
            }
        };
        if entry.read_only {
            fields::read_only(schema)
        } else {
            schema
        }
    }

    /// Returns the schema of a value outside the dictionary, such as a field of only this version.
    /// The value is nullable.
    fn outside_dictionary(&self, meaning: &'static str, kind: Kind) -> RefOr<Schema> {
        // The definition of a field without special properties.
        let info = domain::TraineeField::trn.definition();
        let info = FieldInfo {
            name: "",
            meaning,
            kind,
            never_null: false,
            ..info
        };
        let mut schema = shown(&info, kind, self.0, None);
        // A list of the dictionary is never null, but the function of a version can return null.
        if let RefOr::T(Schema::Array(list)) = &mut schema {
            list.schema_type = SchemaType::Array(vec![Type::Array, Type::Null]);
        }
        schema
    }
}

/// Returns the field as a nested list of the trainee; `None` if the field is not a list of records.
fn nested_list<F: RecordField + Into<Field>>(field: F) -> Option<TraineeField> {
    field
        .into()
        .to_record_field()
        .filter(|_| field.info().kind == Kind::Records)
}

/// Returns a reference to the schema of a nested record inside its trainee.
fn in_trainee<R: WireNested>(context: Context<'_>) -> Ref {
    let name = schema_name(R::KIND);
    named(&if R::shapes(context.version).differ() {
        in_trainee_name(&name)
    } else {
        name
    })
}

/// Returns a reference to the schema of a nested record that is created together with its trainee.
fn new_in_trainee<R: WireNested>() -> Ref {
    named(&new_name(&schema_name(R::KIND)))
}

/// The members of an object: path, schema, and whether the member is required.
#[derive(Default)]
struct Members(Vec<(&'static str, RefOr<Schema>, bool)>);

impl Members {
    fn add(&mut self, path: &'static str, schema: RefOr<Schema>, is_required: bool) {
        self.0.push((path, schema, is_required));
    }

    /// Adds the members to an object. Members of a group are in a nested object, which is nullable
    /// in a reply, and in a request that requires none of them.
    fn into_object(self, object: ObjectBuilder, direction: Direction) -> ObjectBuilder {
        let mut groups: Vec<(&'static str, Self)> = Vec::new();
        let mut object = object.schema_type(Type::Object);
        for (path, schema, is_required) in self.0 {
            let Some((group, name)) = path.split_once('.') else {
                object = object.property(path, schema);
                object = if is_required {
                    object.required(path)
                } else {
                    object
                };
                continue;
            };
            match groups.iter_mut().find(|(known, _)| *known == group) {
                Some((_, members)) => members.add(name, schema, is_required),
                None => groups.push((group, Self(vec![(name, schema, is_required)]))),
            }
        }
        for (group, members) in groups {
            let is_required = members.0.iter().any(|(_, _, is_required)| *is_required);
            let mut members = members.into_object(ObjectBuilder::new(), direction);
            if direction == Direction::Reply || !is_required {
                members = members.schema_type(SchemaType::Array(vec![Type::Object, Type::Null]));
            }
            object = object.property(group, members);
            object = if is_required {
                object.required(group)
            } else {
                object
            };
        }
        object
    }
}

/// Builds schemas of requests.
struct Request<'a>(Context<'a>);

impl Request<'_> {
    /// Returns the schema of a request that creates a record or changes the state of a trainee. The
    /// schema has required fields.
    fn whole<R: WireRecord>(&self, description: &str, rules: &[Rule<R>]) -> RefOr<Schema> {
        self.inputs(description, rules, NestedLists::Read).into()
    }

    /// Returns the schema of a request that changes a record, without required fields. Nested
    /// records have their own endpoints.
    fn changes<R: WireRecord>(&self, description: &str, rules: &[Rule<R>]) -> RefOr<Schema> {
        self.inputs(description, rules, NestedLists::Ignore).into()
    }

    /// Returns the schema of a request. A request that reads nested lists creates a record, so only
    /// this schema has required fields and defaults.
    fn inputs<R: WireRecord>(
        &self,
        description: &str,
        rules: &[Rule<R>],
        nested: NestedLists,
    ) -> ObjectBuilder {
        let inputs = R::inputs(self.0.version);
        let is_whole = nested == NestedLists::Read;
        let mut members = Members::default();
        for input in inputs.entries.iter().filter(|input| input.is_first_part()) {
            let info = input.field.info();
            if info.kind == Kind::Records && !is_whole {
                continue;
            }
            let is_split = input.form.is_some_and(|form| form.form.members() > 1);
            // A value can be in any of its members.
            let presence = if is_split {
                Presence::Optional
            } else {
                presence(rules, input.field)
            };
            let nested =
                nested_list(input.field).and_then(|list| for_nested_list!(list, new_in_trainee()));
            let schema = match (input.part, input.form) {
                (None, Some(form)) => {
                    let meaning = self.0.version.vocabulary.apply(info.meaning);
                    let may = (Direction::Request, presence);
                    fields::formed(&meaning, &info.into(), form, may)
                }
                (Some(part), _) => {
                    let meanings = inputs
                        .parts(input)
                        .iter()
                        .map(|part| part.field.info().meaning);
                    fields::joined(meanings, part, presence)
                }
                (None, None) => sent(info, presence, input.accepts, self.0, nested),
            };
            let default = input.default.filter(|_| is_whole);
            let schema = default.map_or(schema.clone(), |default| {
                let written = match input.form {
                    Some(form) => form.write(&domain::Value::text(default), &info.into()),
                    None => json!(self.0.version.wire.written_in(info.codes, default)),
                };
                fields::with_default(schema, written)
            });
            members.add(
                input.name,
                schema,
                is_whole && presence == Presence::Required && default.is_none() && !is_split,
            );
        }
        members.into_object(
            ObjectBuilder::new()
                .description(Some(description))
                .min_properties(Some(1)),
            Direction::Request,
        )
    }
}

/// Returns whether a rule requires a value in the field, regardless of other fields.
fn presence<R: Record>(rules: &[Rule<R>], field: R::Field) -> Presence {
    if rules
        .iter()
        .any(|rule| rule.required_field() == Some(field))
    {
        Presence::Required
    } else {
        Presence::Optional
    }
}

/// Whether pages reached by a cursor have the page detail, like pages reached by number.
const fn is_on_every_page(member: PageMember) -> bool {
    matches!(member, PageMember::PerPage | PageMember::Next)
}

/// Returns the schema of the details of a page. All details are required, as in the contract,
/// although a page reached by a cursor has only some of them.
fn page(context: Context<'_>) -> RefOr<Schema> {
    let (_, members) = context.version.wire.envelope.page;
    let cursor_members = members
        .iter()
        .filter(|(_, member)| is_on_every_page(*member))
        .map(|(name, _)| *name);
    let meaning = format!(
        "The position of the page in the list. A page reached by a cursor has only {}.",
        listed(cursor_members)
    );
    let object = ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some(meaning));
    with_page_members(object, context).into()
}

/// Adds the details of a page to an object.
fn with_page_members(mut object: ObjectBuilder, context: Context<'_>) -> ObjectBuilder {
    let (page, members) = context.version.wire.envelope.page;
    for (name, member) in members {
        let schema: RefOr<Schema> = match member {
            PageMember::Number => count("The page, from 1.").into(),
            PageMember::Pages => count("How many pages there are.").into(),
            PageMember::Total => count("How many records there are.").into(),
            PageMember::PerPage => count("Records on a page.").into(),
            PageMember::Next => or_null(text("The address of the next page."), Type::String),
        };
        object = object.property(*name, schema);
        // A page reached by a cursor lacks these members, and shares the object with the list.
        if !page.is_empty() || is_on_every_page(*member) {
            object = object.required(*name);
        }
    }
    object
}

fn code_list() -> RefOr<Schema> {
    let metadata = ["name", "display_name", "description"].into_iter().fold(
        ObjectBuilder::new().schema_type(Type::Object),
        |object, name| object.property(name, ObjectBuilder::new().schema_type(Type::String)),
    );
    let year = |description: &str| {
        or_null(
            ObjectBuilder::new().description(Some(description)),
            Type::Integer,
        )
    };
    let text_or_null = |description: &str| or_null(text(description), Type::String);
    let texts = |description: &str| texts().description(Some(description));
    let entry = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("code", text("The code."))
        .property("display_name", text("What it stands for."))
        .property("start_year", year("The first academic year of use."))
        .property("end_year", year("The last academic year of use."))
        .property(
            "funding_subjects",
            texts("Of a course subject: what it counts as for the funding."),
        )
        .property(
            "funding_type",
            text_or_null("Of a funding method or a funding rule: bursary, scholarship or grant."),
        )
        .property(
            "bursary_tier",
            text_or_null("Of a funding method: the tier of the bursary."),
        )
        .property(
            "training_route",
            text("Of a funding rule: the code of the route."),
        )
        .property(
            "funding_subject",
            text("Of a funding rule: one of the `funding_subjects` of the course subject."),
        )
        .property(
            "trigger",
            text("Of a reason of a withdrawal: whose decision it was."),
        )
        .property(
            "requires_another_reason",
            boolean("Whether the reason must be given in words."),
        )
        .property(
            "requires_safeguarding_concern_reasons",
            boolean("Whether the concerns must be given in words."),
        )
        .required("code")
        .required("display_name");
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("A list of codes."))
        .property(
            "metadata",
            metadata.required("name").required("display_name"),
        )
        .property("entries", ArrayBuilder::new().items(entry))
        .property(
            "triggers",
            texts("Whose decision a withdrawal can have been."),
        )
        .property(
            "future_interest",
            texts("What is known of the interest of a withdrawn trainee."),
        )
        .required("metadata")
        .required("entries")
        .into()
}

/// Returns the schema of an item of a batch: a new trainee with its own idempotency key.
fn batch_item(context: Context<'_>) -> RefOr<Schema> {
    let key = ObjectBuilder::new()
        .schema_type(SchemaType::Array(vec![Type::String, Type::Integer]))
        .description(Some(
            "A key of the client's for the item, as `Idempotency-Key` is for a separate request.",
        ));
    in_key(
        context.version.wire.envelope.request,
        named(&new_name(TRAINEE)),
    )
    .property(IDEMPOTENCY_KEY, key)
    .required(IDEMPOTENCY_KEY)
    .into()
}

fn existing_trainees() -> ArrayBuilder {
    list_of(TRAINEE).description(Some("The existing records of a duplicate."))
}

/// Returns the schema of the result of a batch item: the reply to a separate request, with the key
/// and the status.
fn batch_result(context: Context<'_>) -> RefOr<Schema> {
    let key = ObjectBuilder::new()
        .schema_type(SchemaType::Array(vec![Type::String, Type::Null]))
        .description(Some(
            "The key of the item; null where what was sent cannot be one.",
        ));
    let item = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property(IDEMPOTENCY_KEY, key)
        .property(
            "status",
            count("The status that a separate request would have got."),
        )
        .property(
            "warnings",
            texts().description(Some("What its `Warning` headers would have said.")),
        )
        .property(
            "replayed",
            boolean("Whether it is the reply to an earlier request with the key."),
        )
        .required(IDEMPOTENCY_KEY)
        .required("status");
    let wire = &context.version.wire;
    if !wire.problems.is_common() {
        return item
            .description(Some(BATCH_RESULT_MEANING))
            .property(wire.envelope.record, named(TRAINEE))
            .property(
                "problem",
                errors::with_existing(context, existing_trainees()),
            )
            .into();
    }
    let reply = AnyOfBuilder::new()
        .item(in_key(wire.envelope.record, named(TRAINEE)))
        .item(errors::with_existing(context, existing_trainees()))
        .item(named(errors::ERRORS_BY_FIELD))
        .item(named(errors::UNAUTHORIZED));
    AllOfBuilder::new()
        .description(Some(BATCH_RESULT_MEANING))
        .item(item)
        .item(reply)
        .into()
}

const BATCH_RESULT_MEANING: &str =
    "The result of an item: the reply that it would have got as a separate request.";
