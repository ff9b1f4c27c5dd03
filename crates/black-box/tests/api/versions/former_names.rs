//! Names of other versions, whether those are served, were removed, or come later.

use std::collections::BTreeSet;
use std::fs;

use adapter_kit::{
    AllInputs, ApiVersion, Entry, FormerName, InputName, Inputs, Label, Shape, Shapes, Versions,
    changed_names,
};
use domain::{Field, Trainee, TraineeField as F};
use versions::{FORMER_NAMES, REMOVED, SERVED, select};

use crate::api::support::{Api, Body, Register};

/// Where the names of released versions are.
const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../versions/src/former_names.rs"
);

fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// The file as it has to be: the names of the versions that are there, and those that removed
/// versions have left.
fn written() -> String {
    let left = FORMER_NAMES.iter().filter(|former| {
        REMOVED
            .iter()
            .any(|removed| removed.label == former.version)
    });
    let mut names: Vec<FormerName> = left.copied().chain(changed_names(SERVED)).collect();
    names.sort_by_key(|former| former.version);
    let text = fs::read_to_string(FILE).unwrap();
    let (story, _) = text.split_once("\nuse ").unwrap();
    // `TraineeField`, for `trainee`.
    let fields_of = |field: Field| {
        let (first, rest) = field.record().split_at(1);
        format!("{}{rest}Field", first.to_uppercase())
    };
    let records: BTreeSet<String> = names.iter().map(|former| fields_of(former.field)).collect();
    let records: Vec<String> = records.into_iter().collect();
    let lines: String = names
        .iter()
        .map(|FormerName { version: Label { year, major, .. }, name, field }| {
            let field = format!("{}::{}.to_field()", fields_of(*field), field.info().name);
            format!(
                "    FormerName {{ version: Label::release({year}, {major}), name: \"{name}\", field: {field} }},\n"
            )
        })
        .collect();
    format!(
        "{story}\nuse adapter_kit::{{FormerName, Label}};\nuse domain::{{{}}};\n\n/// The names, by version.\n\
         #[rustfmt::skip]\npub const FORMER_NAMES: &[FormerName] = &[\n{lines}];\n",
        records.join(", ")
    )
}

#[test]
fn committed_names_of_released_versions_match_the_versions() {
    let written = written();
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(FILE, &written).unwrap();
    }
    assert_eq!(
        fs::read_to_string(FILE).unwrap(),
        written,
        "{FILE} is out of date: run `make snapshots`"
    );
}

/// Sends each name of a trainee's field to a version that has another name for it, which must say
/// so; counts the names.
fn count_refused(api: &Api<'_>, names: &[FormerName]) -> usize {
    // Versions of one register have a trainee each.
    let created = api.create(
        api.example()
            .with(F::last_name, api.version.label.to_string()),
    );
    let mut refused = 0;
    for FormerName {
        version,
        name,
        field,
    } in names
    {
        let Some(field) = field.to_record_field() else {
            continue;
        };
        let Some(right) = api.version.inputs.trainee.name_of(field) else {
            continue;
        };
        if right == *name || *version > api.version.refuses_names_up_to {
            continue;
        }
        let reply = api.send(
            "PATCH",
            &created.path(),
            Body::new(api.version).with_key(name, "100403"),
        );
        let message = reply.problems(&[name])[0];
        assert!(
            message.split(' ').any(|word| word == right),
            "{message} should say {right}"
        );
        refused += 1;
    }
    refused
}

#[test]
fn server_of_one_version_knows_the_other_versions_names() {
    let current = SERVED.iter().flat_map(|version| {
        let inputs = version.inputs.trainee.entries.iter();
        inputs.map(|input| FormerName {
            version: version.label,
            name: input.name,
            field: input.field.into(),
        })
    });
    let names: Vec<FormerName> = FORMER_NAMES.iter().copied().chain(current).collect();
    for version in SERVED {
        let register = Register::with_versions(select(&[version.label.to_string()]).unwrap());
        assert!(
            count_refused(&register.api(version), &names) > 0,
            "{}",
            version.label
        );
    }
}

#[test]
fn removed_versions_names_are_rejected_with_the_right_name() {
    let labels: BTreeSet<Label> = FORMER_NAMES.iter().map(|former| former.version).collect();
    assert!(!labels.is_empty());
    for label in labels {
        let list: Vec<&'static ApiVersion> = SERVED
            .iter()
            .copied()
            .filter(|version| version.label != label)
            .collect();
        let names: Vec<_> = FORMER_NAMES
            .iter()
            .copied()
            .filter(|former| former.version == label)
            .collect();
        let register = Register::with_versions(leaked(Versions::among(&list, &list, FORMER_NAMES)));
        let refused: usize = list
            .iter()
            .map(|version| count_refused(&register.api(version), &names))
            .sum();
        assert!(refused > 0, "{label}");
    }
}

/// A version after the newest one, with another name for a field.
fn later_version(field: F, name: &'static str) -> &'static ApiVersion {
    let newest = *SERVED.last().unwrap();
    let label = Label::release(newest.label.year + 1, 0);
    let renamed = |input: &InputName<F>| {
        if input.field == field {
            InputName { name, ..*input }
        } else {
            *input
        }
    };
    let entries: Vec<_> = newest.inputs.trainee.entries.iter().map(renamed).collect();
    let mut by_name = entries.clone();
    by_name.sort_by_key(|input| input.name);
    let trainee = Inputs {
        entries: entries.leak(),
        by_name: by_name.leak(),
        ..newest.inputs.trainee
    };
    let inputs = AllInputs {
        trainee,
        ..newest.inputs
    };
    let shown = |entry: &Entry<Trainee>| {
        if entry.field() == Some(field) {
            Entry {
                name,
                key: format!(",\"{name}\":").leak(),
                ..*entry
            }
        } else {
            *entry
        }
    };
    let entries: Vec<_> = newest.shapes.trainee.entries.iter().map(shown).collect();
    let mut names: Vec<_> = entries
        .iter()
        .map(|entry| InputName::new(entry.name, ()))
        .collect();
    names.sort_by_key(|shown| shown.name);
    let trainee = Shape {
        entries: entries.leak(),
        names: names.leak(),
        ..newest.shapes.trainee
    };
    let shapes = Shapes {
        trainee,
        ..newest.shapes
    };
    leaked(ApiVersion {
        label,
        inputs,
        shapes,
        refuses_names_up_to: label,
        ..*newest
    })
}

#[test]
fn name_only_in_later_versions_warns_with_the_version() {
    let later = later_version(F::study_mode, "mode_of_study");
    let list: Vec<&'static ApiVersion> = SERVED.iter().copied().chain([later]).collect();
    let versions: &Versions = leaked(Versions::among(&list, &list, FORMER_NAMES));
    let register = Register::with_versions(versions);
    for version in SERVED {
        let api = register.api(version);
        let own_name = version.inputs.trainee.name_of(F::study_mode).unwrap();
        let body = Body::new(version).with_key("mode_of_study", "31");
        let created = api.create(api.example().with(F::last_name, version.label.to_string()));
        let reply = api.send("PATCH", &created.path(), body.clone()).is(200);
        let hint = format!("{} calls {own_name} this", later.label);
        assert_eq!(
            reply.warnings(),
            [format!("299 - \"unknown field mode_of_study ({hint})\"")]
        );
        assert_eq!(*reply.data(), created.data);
        let strict = api
            .request("PATCH", &created.path())
            .header("Prefer", "handling=strict")
            .json(body)
            .send();
        assert!(
            strict.problems(&["mode_of_study"])[0].ends_with(&hint),
            "{}",
            strict.body
        );
        // What only later versions have at all.
        let unheard = &versions
            .find(version.label)
            .unwrap()
            .other_names
            .trainee
            .ignored;
        for unheard in unheard
            .iter()
            .filter(|unheard| unheard.name != "mode_of_study")
        {
            let Some(origin) = unheard.later else {
                continue;
            };
            let body = Body::new(version).with_key(unheard.name, "FR");
            let reply = api.send("PATCH", &created.path(), body).is(200);
            let later = list
                .iter()
                .find(|later| later.label == origin.version)
                .unwrap();
            let field = later.inputs.trainee.field(unheard.name);
            let hint = match field.and_then(|field| version.inputs.trainee.name_of(field)) {
                Some(own_name) => format!("calls {own_name} this"),
                None => "has it".to_owned(),
            };
            let expected = format!(
                "299 - \"unknown field {} ({} {hint})\"",
                unheard.name, origin.version
            );
            assert_eq!(reply.warnings(), [expected]);
        }
    }
    // The later version refuses the older name.
    let api = register.api(later);
    let created = api.create(api.example().with(F::last_name, "Later"));
    let older = SERVED
        .last()
        .unwrap()
        .inputs
        .trainee
        .name_of(F::study_mode)
        .unwrap();
    api.send(
        "PATCH",
        &created.path(),
        Body::new(later).with_key(older, "31"),
    )
    .problems(&[older]);
}
