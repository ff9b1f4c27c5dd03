//! Names of other versions, whether those are served, were removed, or come later.

use std::collections::BTreeSet;
use std::fs;

use adapter_kit::{FormerName, Label, Versions, changed_names};
use domain::Field;
use versions::{FORMER_NAMES, REMOVED, SERVED};

use crate::api::support::{Api, Body, Register, every_version};

/// Where the names of released versions are.
const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../versions/src/former_names.rs"
);

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

/// Sends each former name of a trainee's field to a version that has another name for it, which
/// must say so; counts the names.
fn count_refused(api: &Api<'_>) -> usize {
    let created = api.create(api.example());
    let mut refused = 0;
    for former in FORMER_NAMES {
        let Some(field) = former.field.to_record_field() else {
            continue;
        };
        let Some(right) = api.version.inputs.trainee.name_of(field) else {
            continue;
        };
        if right == former.name || former.version > api.version.refuses_names_up_to {
            continue;
        }
        let body = Body::new(api.version).with_key(former.name, "100403");
        let reply = api.send("PATCH", &created.path(), body);
        let message = reply.problems(&[former.name])[0];
        assert!(
            message.split(' ').any(|word| word == right),
            "{message} should say {right}"
        );
        refused += 1;
    }
    refused
}

#[test]
fn names_of_absent_versions_are_rejected_with_the_right_name() {
    let mut refused = 0;
    for version in SERVED {
        let alone = [*version];
        let versions = Versions::among(&alone, &alone, FORMER_NAMES);
        let register = Register::with_versions(Box::leak(Box::new(versions)));
        refused += count_refused(&register.api(version));
    }
    assert!(refused > 0);
}

#[test]
fn name_that_only_later_versions_have_warns() {
    every_version(|api| {
        let created = api.create(api.example());
        let ignored = &api.served().other_names.trainee.ignored;
        for unheard in ignored {
            let Some(origin) = unheard.later else {
                continue;
            };
            let body = Body::new(api.version).with_key(unheard.name, "FR");
            let reply = api.send("PATCH", &created.path(), body).is(200);
            let expected = format!(
                "299 - \"unknown field {} ({} ",
                unheard.name, origin.version
            );
            let warnings = reply.warnings();
            assert!(
                warnings.len() == 1 && warnings[0].starts_with(&expected),
                "{expected}: {warnings:?}"
            );
        }
    });
}
