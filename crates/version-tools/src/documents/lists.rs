//! The pages about code lists: each code with its name, its properties and the versions that accept
//! it.

use adapter_kit::reference;
use adapter_kit::version::ApiVersion;
use adapter_kit::versions::Versions;
use domain::ended_codes::successor;
use domain::fields::field::Codes;
use domain::fields::vocabulary::{FUTURE_INTERESTS, WITHDRAWAL_TRIGGERS};
use domain::lists::Entry;
use domain::{List, Lists};

use super::{escaped, listed, table};

/// Returns the page with all lists, with the names of a version.
#[must_use]
pub fn index(version: &ApiVersion, lists: &Lists) -> String {
    let rows = listed_here().map(|name| {
        let count = list_called(name).map_or(lists.withdrawal_reasons().len(), |list| {
            lists.entries(list).len()
        });
        let used = listed(reference::fields_of_list(version, name));
        vec![
            format!("[`{name}`](reference-data/{name})"),
            meaning(name).to_owned(),
            count.to_string(),
            used,
        ]
    });
    let table = table(&["list", "content", "codes", "used in"], rows);
    format!(
        "# Code lists\n\nCodes are text. Send each code exactly as its list shows it, with leading zeros and in the same case. For the \
         available funding, see the [funding rules](funding).\n\n{table}"
    )
}

/// Returns the page about one list, with the names of a version; `None` if no list has this name.
#[must_use]
pub fn list(
    name: &str,
    version: &ApiVersion,
    versions: &Versions,
    lists: &Lists,
) -> Option<String> {
    let known = listed_here().find(|known| *known == name)?;
    let table = match list_called(known) {
        Some(list) => codes(list, version, versions, lists),
        None => withdrawal_reasons(lists),
    };
    let used = reference::fields_of_list(version, known);
    let used = if used.is_empty() {
        String::new()
    } else {
        format!(" Used in {}.", listed(used))
    };
    Some(format!(
        "# Code list: {known}\n\n{}{used}\n\n{table}",
        meaning(known)
    ))
}

/// Returns the names of the lists with their own page. Funding rules are on the page about funding.
fn listed_here() -> impl Iterator<Item = &'static str> {
    reference::names().filter(|name| *name != reference::FUNDING_RULES)
}

fn list_called(name: &str) -> Option<List> {
    List::ALL.iter().copied().find(|list| list.name() == name)
}

/// Returns the meaning of a list. The only list outside [`List`] contains the withdrawal reasons.
fn meaning(name: &str) -> &'static str {
    list_called(name).map_or("Withdrawal reasons, by trigger.", List::meaning)
}

/// Returns a table of the codes of a list, as the version writes them. Columns that are the same
/// for all codes are omitted.
fn codes(list: List, version: &ApiVersion, versions: &Versions, lists: &Lists) -> String {
    let entries = lists.entries(list);
    let has_years = entries
        .iter()
        .any(|entry| entry.start_year.is_some() || entry.end_year.is_some());
    let is_narrowed = versions.iter().any(|served| {
        entries
            .iter()
            .any(|entry| !served.version.accepted_codes.accepts(list, &entry.code))
    });
    let facts = facts(list);
    let mut columns = vec!["code", "name"];
    columns.extend(facts.iter().map(|(name, _)| *name));
    if has_years {
        columns.push("start years");
    }
    if is_narrowed {
        columns.push("accepted in");
    }
    let rows = entries.iter().map(|entry| {
        let mut row = vec![
            format!("`{}`", version.wire.written(list, &entry.code)),
            escaped(&entry.name),
        ];
        row.extend(facts.iter().map(|(_, fact)| escaped(&fact(lists, entry))));
        if has_years {
            row.push(years(entry));
        }
        if is_narrowed {
            row.push(accepting(list, entry, versions));
        }
        row
    });
    let note = if is_narrowed {
        ""
    } else {
        "Every version accepts all of these codes.\n\n"
    };
    format!("{note}{}", table(&columns, rows))
}

/// Returns the labels of the versions that accept a code, `all` or `none`. The replacement follows
/// if the code has ended.
fn accepting(list: List, entry: &Entry, versions: &Versions) -> String {
    let accepts = |version: &ApiVersion| version.accepted_codes.accepts(list, &entry.code);
    if versions.iter().all(|served| accepts(served.version)) {
        return "all".to_owned();
    }
    let labels = versions
        .iter()
        .filter(|served| accepts(served.version))
        .map(|served| served.version.label.to_string());
    let labels = labels.collect::<Vec<_>>().join(", ");
    let labels = if labels.is_empty() {
        "none".to_owned()
    } else {
        labels
    };
    match successor(list, &entry.code) {
        Some(successor) => format!("{labels}; {successor}"),
        None => labels,
    }
}

/// Describes the start years that a code is for.
fn years(entry: &Entry) -> String {
    match (entry.start_year, entry.end_year) {
        (Some(first), Some(last)) => format!("{first} to {last}"),
        (Some(first), None) => format!("{first} and later"),
        (None, Some(last)) => format!("{last} and earlier"),
        (None, None) => "every year".to_owned(),
    }
}

/// A property of codes: the name of a column, and its value for a code.
type Fact = (&'static str, fn(&Lists, &Entry) -> String);

fn facts(list: List) -> &'static [Fact] {
    match list {
        List::TrainingRoute => &[
            ("level", |lists, entry| {
                text_or_blank(lists.route(&entry.code), |route| route.level.to_owned())
            }),
            ("award", |lists, entry| {
                text_or_blank(lists.route(&entry.code), |route| {
                    route.qualification.to_owned()
                })
            }),
            ("placements required for the award", |lists, entry| {
                text_or_blank(lists.route(&entry.code), |route| {
                    route.min_placements.to_string()
                })
            }),
            ("degree required for the award", |lists, entry| {
                text_or_blank(lists.route(&entry.code), |route| {
                    yes_or_no(route.degree_required)
                })
            }),
            ("employing school required for the award", |lists, entry| {
                text_or_blank(lists.route(&entry.code), |route| {
                    yes_or_no(route.employing_school_required_for_award)
                })
            }),
        ],
        List::CourseAgeRange => &[("ages", |lists, entry| {
            text_or_blank(lists.age_range(&entry.code), |ages| {
                format!("{} to {}", ages.min_age, ages.max_age)
            })
        })],
        List::CourseSubject => &[("funding subjects", |lists, entry| {
            lists.funding_subjects(&entry.code).join(", ")
        })],
        List::Ethnicity => &[
            ("group", |lists, entry| {
                text_or_blank(lists.ethnicity(&entry.code), |ethnicity| {
                    ethnicity.group.clone()
                })
            }),
            ("background", |lists, entry| {
                text_or_blank(lists.ethnicity(&entry.code), |ethnicity| {
                    ethnicity.background.clone()
                })
            }),
        ],
        List::Disability => &[("discloses", |lists, entry| {
            text_or_blank(lists.disclosure(&entry.code), |disclosure| {
                disclosure.to_owned()
            })
        })],
        List::FundingMethod => &[
            ("type", |lists, entry| {
                text_or_blank(lists.funding_method(&entry.code), |method| {
                    method.funding_type.clone().unwrap_or_default()
                })
            }),
            ("tier", |lists, entry| {
                text_or_blank(lists.funding_method(&entry.code), |method| {
                    method.bursary_tier.clone().unwrap_or_default()
                })
            }),
        ],
        List::Country => &[("part of the United Kingdom", |lists, entry| {
            yes_or_no(lists.is_uk(&entry.code))
        })],
        List::IttAim => &[("academic award required", |lists, entry| {
            yes_or_no(lists.aim_needs_qualification(&entry.code))
        })],
        List::DegreeGrade | List::DegreeSubject | List::DegreeType | List::Institution => {
            &[("UUID", |_, entry| entry.uuid.to_string())]
        }
        List::FundCode
        | List::IttQualificationAim
        | List::Nationality
        | List::Sex
        | List::StudyMode
        | List::TrainingInitiative => &[],
    }
}

fn text_or_blank<T>(found: Option<T>, fact: impl FnOnce(T) -> String) -> String {
    found.map_or_else(String::new, fact)
}

fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

/// Returns a table of the withdrawal reasons, after the values of the fields that go with a reason.
fn withdrawal_reasons(lists: &Lists) -> String {
    let rows = lists.withdrawal_reasons().iter().map(|reason| {
        let needs = match (
            reason.requires_another_reason,
            reason.requires_safeguarding_concern_reasons,
        ) {
            (true, _) => "`another_reason`",
            (false, true) => "`safeguarding_concern_reasons`",
            (false, false) => "",
        };
        vec![
            format!("`{}`", reason.code),
            escaped(&reason.name),
            format!("`{}`", reason.trigger),
            needs.to_owned(),
        ]
    });
    format!(
        "`trigger` is one of {}; `future_interest` is one of {}. A reason that you can send with both triggers has two rows.\n\n{}",
        listed(WITHDRAWAL_TRIGGERS.iter().copied()),
        listed(FUTURE_INTERESTS.iter().copied()),
        table(&["reason", "name", "trigger", "required explanation"], rows)
    )
}

/// Returns the values of a field with a link to its list, in Markdown; empty if the field accepts
/// any value.
pub(super) fn values(field: domain::Field) -> String {
    if let Some(list) = reference::list_of(field) {
        return format!("[list `{list}`](reference-data/{list})");
    }
    match field.info().codes {
        Some(Codes::OneOf(words)) => listed(words.iter().copied()),
        Some(Codes::Listed(_)) | None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_for_markdown() {
        assert_eq!(
            escaped("*A* | <b>`c`</b> [d](e)"),
            r"\*A\* | \<b\>\`c\`\<\/b\> \[d\]\(e\)"
        );
        let row = table(
            &["code", "name"],
            [vec!["`1`".to_owned(), escaped("a | b")]].into_iter(),
        );
        assert_eq!(row, "| code | name |\n|---|---|\n| `1` | a \\| b |\n");
    }

    #[test]
    fn every_fact_has_a_value_for_some_code() {
        let lists = Lists::embedded();
        for list in List::ALL {
            for (column, fact) in facts(*list) {
                assert!(
                    lists
                        .entries(*list)
                        .iter()
                        .any(|entry| !fact(lists, entry).is_empty()),
                    "{list:?} {column}"
                );
            }
        }
    }
}
