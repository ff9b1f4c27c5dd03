//! Reads the query of a request. An error names all wrong parameters at once (contract, sections
//! 4.2 and 6.4).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::{IntErrorKind, ParseIntError};

use adapter_kit::form::{MemberForm, read_text};
use adapter_kit::problems::{ParameterErrors, UNKNOWN};
use adapter_kit::read::client_text::{is_printable, truncated};
use adapter_kit::read::nearest;
use adapter_kit::{ApiVersion, Filter, FilterForms};
use chrono::NaiveDate;
use domain::fields::value::impossible_date;
use domain::listing::{DEFAULT_PER_PAGE, Listing, MAX_PER_PAGE, Order, Status, known_cycles};
use domain::values::academic_year;
use domain::values::text::is_absent;
use domain::{FieldSet, TraineeField};
use http_kit::requests::timestamps::timestamp;

use usage::readiness::{DEFAULT_DAYS, MAX_DAYS};

/// The wrong parameters of a query, with their problems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterErrors(ParameterErrors);

impl FilterErrors {
    /// The error of one wrong parameter. `why` continues a sentence that begins with its name.
    #[must_use]
    pub fn one(name: &'static str, why: &str) -> Self {
        let errors = BTreeMap::from([(name.into(), vec![format!("{name} {why}")])]);
        Self(ParameterErrors {
            message: message(1, "parameter"),
            errors,
        })
    }

    /// The body of the reply: the problems of each parameter.
    #[must_use]
    pub fn into_errors(self) -> ParameterErrors {
        self.0
    }

    /// The wrong parameters that exist; not the names that the client invented, which are the owned
    /// ones.
    pub fn known_parameters(&self) -> impl Iterator<Item = &'static str> {
        self.0.errors.keys().filter_map(|name| {
            if let Cow::Borrowed(name) = name {
                Some(*name)
            } else {
                None
            }
        })
    }
}

/// The summary of `count` problems. `what` is a singular noun: filter or parameter.
fn message(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what} is not valid"),
        several => format!("{several} {what}s are not valid"),
    }
}

/// The maximum number of unknown names that are kept from one query.
const MAX_UNKNOWN: usize = 100;

/// A name in a query that the endpoint does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownParameter {
    name: String,
    nearest: Option<&'static str>,
}

impl UnknownParameter {
    /// The text of a `Warning` header; `None` if the name cannot be repeated in a header.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let Self { name, nearest } = self;
        let hint = nearest.map_or(String::new(), |nearest| {
            format!(" (did you mean {nearest}?)")
        });
        // Brackets are printed too, because some clients write lists with them.
        let is_printable = is_printable(&name.replace(['[', ']'], "_"));
        is_printable.then(|| format!("{UNKNOWN} parameter {name}{hint}"))
    }
}

/// The names in a query that are not among the `known` ones, each once.
#[must_use]
pub fn unknown(query: &str, known: &'static [&'static str]) -> Vec<UnknownParameter> {
    let mut unknown: Vec<UnknownParameter> = Vec::new();
    for (name, _) in form_urlencoded::parse(query.as_bytes()) {
        let is_new = !known.contains(&&*name) && unknown.iter().all(|other| other.name != name);
        if is_new && unknown.len() < MAX_UNKNOWN {
            unknown.push(UnknownParameter {
                nearest: nearest(&name, known.iter().copied()),
                name: name.into_owned(),
            });
        }
    }
    unknown
}

/// Refuses unknown names.
///
/// # Errors
///
/// The names, if there are any.
pub fn require_known(unknown: &[UnknownParameter]) -> Result<(), FilterErrors> {
    // Without a query, only the unknown names can be wrong.
    let mut read = Reading::from_query("");
    read.refuse(unknown);
    read.verdict("parameter")
}

/// A list as it was requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    /// The list.
    pub listing: Listing,
    /// Whether the requested number of records on a page was reduced to the maximum.
    pub per_page_cut: bool,
    /// The lists of nested records to show.
    pub included: FieldSet<TraineeField>,
    /// The cursor of the page as sent; `None` for a page by number.
    pub cursor: Option<String>,
}

/// Reads the query of a list of trainees in a version. `today` sets the default academic cycle.
/// Blank counts as absent. `refused` contains the unknown names to report as errors; other unknown
/// names are skipped.
///
/// # Errors
///
/// The parameters that are wrong.
pub fn listing(
    query: &str,
    refused: &[UnknownParameter],
    version: &ApiVersion,
    today: NaiveDate,
) -> Result<ListQuery, FilterErrors> {
    let mut read = Reading::from_query(query);
    let cycles = known_cycles(today);
    let forms = version.inputs.filters;
    let cycle = read.formed(Filter::AcademicCycle, forms, |text| {
        let year = Some(text)
            .filter(|text| text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit()));
        year.and_then(|year| year.parse().ok())
            .filter(|year| cycles.contains(year))
            .ok_or_else(|| {
                format!(
                    "{} is not a year from {} to {}",
                    quoted(text),
                    cycles.start(),
                    cycles.end()
                )
            })
    });
    let status = read.formed(Filter::Status, forms, |text| {
        text.parse().map_err(|_| {
            format!(
                "{} is not a status; it can be {}",
                quoted(text),
                Status::NAMES.join(", ")
            )
        })
    });
    let since = read.filter("since", |text| {
        timestamp(text).ok_or_else(|| match impossible_date(text.trim()) {
            Some(day) => format!("{day} is no day of the calendar"),
            None => format!("{} is not an ISO 8601 date or date and time", quoted(text)),
        })
    });
    let has_trn = read.formed(Filter::HasTrn, forms, |text| {
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(format!("{} is neither true nor false", quoted(text))),
        }
    });
    let order = read.formed(Filter::SortOrder, forms, |text| match text {
        "asc" => Ok(Order::OldestFirst),
        "desc" => Ok(Order::NewestFirst),
        _ => Err(format!("{} is neither asc nor desc", quoted(text))),
    });
    let included = read
        .filter("include", |text| nested_lists(text, version))
        .unwrap_or_default();
    let cursor = read.filter("cursor", |text| Ok(text.to_owned()));
    read.refuse(refused);
    let page = read.count("page").unwrap_or(1);
    let page_size = version.wire.envelope.page_size;
    let per_page = read.count("per_page").unwrap_or(page_size.default());
    read.verdict("filter")?;
    Ok(ListQuery {
        listing: Listing {
            cycle: cycle.unwrap_or_else(|| academic_year::starting_year(today)),
            status,
            since,
            has_trn,
            order: order.unwrap_or(Order::NewestFirst),
            page,
            per_page: per_page.min(page_size.max()),
        },
        per_page_cut: per_page > page_size.max(),
        included,
        cursor,
    })
}

/// The requested changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangesQuery {
    /// The cursor as sent; the changes begin after it. Without a cursor they begin with every
    /// trainee.
    pub after: Option<String>,
    /// The maximum number of changes.
    pub limit: i64,
    /// Whether the requested number of changes was reduced to the maximum.
    pub limit_cut: bool,
}

/// Reads the query of the changes. Blank counts as absent. If the limit is not a number from 1, the
/// default applies. `refused` contains the unknown names to report as errors.
///
/// # Errors
///
/// The parameters that are wrong.
pub fn changes(query: &str, refused: &[UnknownParameter]) -> Result<ChangesQuery, FilterErrors> {
    let mut read = Reading::from_query(query);
    let after = read.filter("after", |text| Ok(text.to_owned()));
    read.refuse(refused);
    let limit = read.count("limit").unwrap_or(DEFAULT_PER_PAGE);
    read.verdict("parameter")?;
    Ok(ChangesQuery {
        after,
        limit: limit.min(MAX_PER_PAGE),
        limit_cut: limit > MAX_PER_PAGE,
    })
}

/// Reads the names of lists of nested records, separated by commas. The error says which name is
/// wrong.
fn nested_lists(text: &str, version: &ApiVersion) -> Result<FieldSet<TraineeField>, String> {
    let mut included = FieldSet::new();
    for name in text.split(',').map(str::trim) {
        let mut lists = version.shapes.trainee.nested_lists();
        let Some((_, list)) = lists.find(|(known, _)| *known == name) else {
            let lists = version.shapes.trainee.nested_lists();
            let known: Vec<_> = lists.map(|(known, _)| known).collect();
            return Err(format!(
                "{} is not a list of nested records; it can be {}",
                quoted(name),
                known.join(", ")
            ));
        };
        included.insert(list);
    }
    Ok(included)
}

/// Reads the number of days from the query of a report about the last days. Blank counts as absent.
///
/// # Errors
///
/// If the value is not a number from 1 to the maximum.
pub fn days(query: &str) -> Result<u16, FilterErrors> {
    let mut read = Reading::from_query(query);
    let days = read.filter("days", |text| {
        let days = text
            .parse()
            .ok()
            .filter(|days| (1..=MAX_DAYS).contains(days));
        days.ok_or_else(|| {
            format!(
                "{} is not a whole number from 1 to {MAX_DAYS}",
                quoted(text)
            )
        })
    });
    read.verdict("parameter")?;
    Ok(days.unwrap_or(DEFAULT_DAYS))
}

/// The values of a query, and the errors found so far.
struct Reading {
    values: BTreeMap<String, Vec<String>>,
    errors: BTreeMap<Cow<'static, str>, Vec<String>>,
}

impl Reading {
    fn from_query(query: &str) -> Self {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            values
                .entry(name.into_owned())
                .or_default()
                .push(value.into_owned());
        }
        Self {
            values,
            errors: BTreeMap::new(),
        }
    }

    /// Adds an error for each parameter that the endpoint does not have.
    fn refuse(&mut self, unknown: &[UnknownParameter]) {
        for UnknownParameter { name, nearest } in unknown {
            let name = truncated(name);
            let hint = nearest.map_or(String::new(), |nearest| {
                format!("; did you mean {nearest}?")
            });
            let text = format!("{name} is not a parameter of this endpoint{hint}");
            self.errors.entry(name.into()).or_default().push(text);
        }
    }

    /// The value of a filter; `None` if it is absent, blank or wrong. `read` parses the text. The
    /// error of a wrong value is kept.
    fn filter<T>(
        &mut self,
        name: &'static str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let values = self.values.get(name)?;
        let result = match values.as_slice() {
            [value] if is_absent(value) => return None,
            [value] => read(value),
            _ => Err("is sent more than once".to_owned()),
        };
        result
            .map_err(|error| {
                self.errors
                    .entry(name.into())
                    .or_default()
                    .push(format!("{name} {error}"));
            })
            .ok()
    }

    /// Like `filter`, for a filter that may have another form. `read` parses the canonical text.
    fn formed<T>(
        &mut self,
        filter: Filter,
        forms: FilterForms,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let Some(MemberForm { form, .. }) = filter.form(forms) else {
            return self.filter(filter.name(), read);
        };
        let field = filter.form_field();
        let read = |text: &str| {
            let invalid = || {
                let expected = form.expected();
                format!("{} is invalid: it must be {expected}", quoted(text))
            };
            let value = read_text(form, text.trim(), &field).ok_or_else(invalid)?;
            let Some(canonical) = value.to_plain_text() else {
                return Ok(None);
            };
            match read(&canonical) {
                // This error would list the canonical codes.
                Err(_) if field.codes.is_some() => Err(invalid()),
                read => read.map(Some),
            }
        };
        self.filter(filter.name(), read).flatten()
    }

    /// The number in a parameter; `None` if it is absent or not a number from 1, so that the
    /// default applies. A number that does not fit into `i64` becomes its maximum.
    fn count(&self, name: &str) -> Option<i64> {
        let number = self.values.get(name)?.last()?.trim();
        let is_too_large = |error: &ParseIntError| *error.kind() == IntErrorKind::PosOverflow;
        let number = number.parse().or_else(|error| {
            if is_too_large(&error) {
                Ok(i64::MAX)
            } else {
                Err(error)
            }
        });
        number.ok().filter(|count| *count >= 1)
    }

    /// Returns the errors found, if any. `what` is the noun for a parameter in the message.
    fn verdict(self, what: &str) -> Result<(), FilterErrors> {
        if self.errors.is_empty() {
            return Ok(());
        }
        let count: usize = self.errors.values().map(Vec::len).sum();
        Err(FilterErrors(ParameterErrors {
            message: message(count, what),
            errors: self.errors,
        }))
    }
}

/// The text in double quotes, shortened if it is long.
fn quoted(text: &str) -> String {
    format!("\"{}\"", truncated(text))
}

#[cfg(test)]
mod tests {
    use adapter_kit::AllInputs;
    use adapter_kit::form::{CodeWords, ThreeWords};

    use super::*;

    fn today() -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 7, 31).unwrap()
    }

    fn newest() -> &'static ApiVersion {
        versions::all().newest().unwrap().version
    }

    fn read(query: &str) -> Option<ListQuery> {
        listing(query, &[], newest(), today()).ok()
    }

    fn parsed(query: &str) -> Listing {
        read(query).unwrap().listing
    }

    #[test]
    fn empty_query_lists_the_current_cycle_newest_change_first() {
        let expected = Listing {
            cycle: 2025,
            status: None,
            since: None,
            has_trn: None,
            order: Order::NewestFirst,
            page: 1,
            per_page: 50,
        };
        assert_eq!(parsed(""), expected);
        assert_eq!(
            parsed("academic_cycle=&status=&since=+&has_trn=&sort_order=&page=&per_page="),
            expected
        );
        assert_eq!(parsed("page=0&per_page=-1&other=1"), expected);
        assert_eq!(parsed("page=x&per_page=0"), expected);
    }

    #[test]
    fn cycles_reach_from_the_first_to_five_years_ahead() {
        for (cycle, known) in [
            ("2008", false),
            ("2009", true),
            ("2031", true),
            ("2032", false),
            ("02025", false),
        ] {
            assert_eq!(
                read(&format!("academic_cycle={cycle}")).is_some(),
                known,
                "{cycle}"
            );
        }
    }

    #[test]
    fn filter_in_another_form_is_read_in_that_form_only() {
        const HAS_TRN: ThreeWords = ThreeWords {
            yes: "with",
            no: "without",
            unknown: "any",
        };
        const ORDER: CodeWords = CodeWords(&[("asc", "oldest_first"), ("desc", "newest_first")]);
        let version = ApiVersion {
            inputs: AllInputs {
                filters: &[(Filter::HasTrn, &HAS_TRN), (Filter::SortOrder, &ORDER)],
                ..newest().inputs
            },
            ..*newest()
        };
        for (query, has_trn, order) in [
            (
                "has_trn=with&sort_order=oldest_first",
                Some(true),
                Order::OldestFirst,
            ),
            ("has_trn=without", Some(false), Order::NewestFirst),
            ("has_trn=any&sort_order=", None, Order::NewestFirst),
        ] {
            let read = listing(query, &[], &version, today()).unwrap().listing;
            assert_eq!((read.has_trn, read.order), (has_trn, order), "{query}");
        }
        let refused = listing("has_trn=true&sort_order=newest", &[], &version, today());
        let errors = refused.unwrap_err().into_errors().errors;
        assert_eq!(
            errors["has_trn"],
            ["has_trn \"true\" is invalid: it must be with, without or any"]
        );
        assert_eq!(
            errors["sort_order"],
            ["sort_order \"newest\" is invalid: it must be one of oldest_first, newest_first"]
        );
    }

    #[test]
    fn a_filter_that_is_sent_twice_is_refused() {
        assert!(read("status=deferred&status=awarded").is_none());
    }

    #[test]
    fn a_timestamp_is_read_with_and_without_an_offset() {
        let expected = "2026-03-01T09:30:00.123Z".parse().ok();
        for text in [
            "2026-03-01T09:30:00.123Z",
            "2026-03-01T10:30:00.1239+01:00",
            "2026-03-01T10%3A30%3A00.123%2B01:00",
            "2026-03-01T09:30:00.123",
            "2026-03-01T10:30:00.123%2B0100",
            "2026-03-01T10:30:00.123 01",
        ] {
            assert_eq!(parsed(&format!("since={text}")).since, expected, "{text}");
        }
        assert_eq!(
            parsed("since=2026-03-01").since,
            "2026-03-01T00:00:00Z".parse().ok()
        );
        for text in [
            "26-03-01",
            "2026-3-1",
            "2026-03-0",
            "%2B2026-03-01",
            "2026-3-1T09:30:00",
        ] {
            assert!(read(&format!("since={text}")).is_none(), "{text}");
        }
    }

    #[test]
    fn a_page_holds_five_hundred_records_at_most() {
        let cut = read("per_page=501").unwrap();
        assert_eq!((cut.listing.per_page, cut.per_page_cut), (500, true));
        let whole = read("per_page=500&page=9223372036854775807").unwrap();
        assert_eq!((whole.listing.per_page, whole.per_page_cut), (500, false));
        assert_eq!(whole.listing.offset(), i64::MAX);
        let beyond = read("per_page=9223372036854775808&page=9223372036854775808").unwrap();
        assert_eq!(
            (
                beyond.listing.per_page,
                beyond.per_page_cut,
                beyond.listing.page
            ),
            (500, true, i64::MAX)
        );
    }
}
