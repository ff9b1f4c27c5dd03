//! The document about funding: tables of bursaries, scholarships and grants by start, route and
//! subject.

use std::collections::{BTreeMap, BTreeSet};

use adapter_kit::names;
use adapter_kit::version::ApiVersion;
use domain::rules::funding::{ELIGIBLE, EXCEPTION_SUBJECTS};
use domain::{List, Lists, TraineeField as F};

use super::{escaped, table};

/// Returns the document about funding, with the names of a version.
#[must_use]
pub fn funding(version: &ApiVersion, lists: &Lists) -> String {
    let years: BTreeSet<i32> = lists.funding().map(|(year, ..)| year).collect();
    let tables: Vec<String> = years
        .iter()
        .rev()
        .map(|year| year_section(*year, lists))
        .collect();
    let span = match (years.first(), years.last()) {
        (Some(first), Some(last)) => {
            format!("Funding is available for starts from {first} to {last}.")
        }
        (_, _) => "No funding is available.".to_owned(),
    };
    let subject = named(version, F::course_subject_1);
    format!(
        "# Funding rules\n\nA trainee's funding depends on the academic year of the start (1 August to 31 July), the \
         route and the funding subjects of `{subject}`. {span} The [rules](rules.md#trainee-rules) check it.\n\n\
         {}\n{}\n\
         ## Funding subjects\n\nEach course subject belongs to one or more funding subjects. Only `{subject}` determines the funding.\n\n{}",
        exceptions(version),
        tables.join("\n"),
        subjects(lists),
    )
}

fn named(version: &ApiVersion, field: F) -> &'static str {
    names::field(version, field.into())
}

/// Returns a sentence about funding without student finance; empty if the version has no such
/// years.
fn exceptions(version: &ApiVersion) -> String {
    let years = version.accepted_codes.funding_exception_years;
    if years.is_empty() {
        return String::new();
    }
    let years: Vec<String> = years.iter().map(ToString::to_string).collect();
    format!(
        "For starts in {}, `{}` does not require `{}` `{ELIGIBLE}` in {} for these funding subjects: {}.\n",
        years.join(" and "),
        named(version, F::funding_method),
        named(version, F::fund_code),
        version.label,
        EXCEPTION_SUBJECTS.join(", ")
    )
}

/// Returns the section about starts in one academic year: the routes with student finance, and a
/// table of the funding subjects by type and route.
fn year_section(year: i32, lists: &Lists) -> String {
    let mut subjects: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for (_, funding_type, route, subject) in lists.funding().filter(|(start, ..)| *start == year) {
        subjects
            .entry((funding_type, route))
            .or_default()
            .insert(subject);
    }
    let rows = subjects.iter().map(|((funding_type, route), subjects)| {
        let subjects: Vec<String> = subjects.iter().map(|subject| escaped(subject)).collect();
        vec![
            escaped(funding_type),
            methods(funding_type, lists),
            route_name(route, lists),
            subjects.join(", "),
        ]
    });
    let funded: BTreeSet<&str> = subjects.keys().map(|(_, route)| *route).collect();
    let funded: Vec<String> = funded
        .into_iter()
        .map(|route| format!("`{route}`"))
        .collect();
    format!(
        "## Starts in {year}\n\nStudent finance (`{ELIGIBLE}`) is available on these routes: {}.\n\n{}",
        funded.join(", "),
        table(
            &["type", "funding methods", "route", "funding subjects"],
            rows
        )
    )
}

/// Returns the funding methods of a type, such as bursaries, separated by commas.
fn methods(funding_type: &str, lists: &Lists) -> String {
    let methods_of_type = lists.entries(List::FundingMethod).iter().filter(|entry| {
        lists
            .funding_method(&entry.code)
            .is_some_and(|method| method.funding_type.as_deref() == Some(funding_type))
    });
    methods_of_type
        .map(|entry| format!("`{}` {}", entry.code, escaped(&entry.name)))
        .collect::<Vec<_>>()
        .join(", ")
}

fn route_name(code: &str, lists: &Lists) -> String {
    let name = lists
        .entry(List::TrainingRoute, code)
        .map_or("", |entry| entry.name.as_str());
    format!("`{code}` {}", escaped(name))
}

/// Returns a table of the course subjects of each funding subject.
fn subjects(lists: &Lists) -> String {
    let mut courses: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for entry in lists.entries(List::CourseSubject) {
        for subject in lists.funding_subjects(&entry.code) {
            courses.entry(subject).or_default().push(format!(
                "`{}` {}",
                entry.code,
                escaped(&entry.name)
            ));
        }
    }
    let rows = courses
        .into_iter()
        .map(|(subject, courses)| vec![escaped(subject), courses.join(", ")]);
    table(&["funding subject", "course subjects"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_funding_rule_is_in_a_table() {
        let lists = Lists::embedded();
        let tables: String = lists
            .funding()
            .map(|(year, ..)| year)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .map(|year| year_section(year, lists))
            .collect();
        for (year, funding_type, route, subject) in lists.funding() {
            let (_, section) = tables
                .split_once(&format!("## Starts in {year}\n"))
                .unwrap();
            let section = section.split("\n## ").next().unwrap();
            let row = section.lines().find(|line| {
                line.starts_with(&format!("| {funding_type} |"))
                    && line.contains(&format!("`{route}`"))
            });
            assert!(
                row.unwrap().contains(&escaped(subject)),
                "{year} {funding_type} {route} {subject}"
            );
        }
    }
}
