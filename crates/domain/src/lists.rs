//! The code lists of the sector: codes, and facts about them.
//!
//! The tables are CSV files in `reference-data/`. They are embedded and parsed once.
//! [`Lists::with_replacements`] replaces single tables. Each version of the API defines which codes
//! it accepts ([`crate::fields::accepted_codes`]).

use std::sync::LazyLock;

use foldhash::{HashMap, HashSet};
use uuid::Uuid;

mod entry;
mod list;
mod parse;
mod table;

pub use self::entry::{AgeRange, Entry, Ethnicity, FundingMethod, Route, WithdrawalReason};
pub use self::list::{List, Table};
pub use self::table::{ListError, ListErrorKind};

use self::list::{FUNDING_RULE, WITHDRAWAL_REASON};
use self::parse::{entries, facts, flagged, reasons, route};
use self::table::rows;

/// All lists, and the facts about their codes.
#[derive(Debug)]
pub struct Lists {
    entries: Vec<Vec<Entry>>,
    /// The index of each code in the entries of its list.
    positions: Vec<HashMap<String, usize>>,
    routes: HashMap<String, Route>,
    age_ranges: HashMap<String, AgeRange>,
    funding_subjects: HashMap<String, Vec<String>>,
    ethnicities: HashMap<String, Ethnicity>,
    disabilities: HashMap<String, String>,
    funding_methods: HashMap<String, FundingMethod>,
    uk_countries: HashSet<String>,
    aims_with_qualification: HashSet<String>,
    funding_rules: HashSet<(i32, String, String, String)>,
    funded_routes: HashSet<(i32, String)>,
    withdrawal_reasons: Vec<WithdrawalReason>,
}

/// The published identifier of "other UK institution", the only entry without a code.
const OTHER_UK_INSTITUTION: Uuid = uuid::uuid!("02132969-f5bc-47ca-be9c-b6f6d5b05e1b");

static EMBEDDED: LazyLock<Lists> = LazyLock::new(|| {
    #[expect(
        clippy::expect_used,
        reason = "the text is embedded, and a test parses it"
    )]
    Lists::with_replacements(|_| None).expect("the embedded lists are well formed")
});

impl Lists {
    /// Returns all embedded tables.
    pub fn tables() -> impl Iterator<Item = Table> {
        let lists = List::ALL.iter().map(|list| Table {
            name: list.name(),
            text: list.embedded(),
        });
        lists.chain([FUNDING_RULE, WITHDRAWAL_REASON])
    }

    /// Parses the embedded tables. `text` returns the replacement of a table by name, or `None`.
    ///
    /// # Errors
    ///
    /// [`ListError`] if a table is malformed.
    pub fn with_replacements<'t>(
        text: impl Fn(&str) -> Option<&'t str>,
    ) -> Result<Self, ListError> {
        Self::parse(
            |list| text(list.name()).unwrap_or(list.embedded()),
            text(FUNDING_RULE.name).unwrap_or(FUNDING_RULE.text),
            text(WITHDRAWAL_REASON.name).unwrap_or(WITHDRAWAL_REASON.text),
        )
    }

    /// Returns the embedded lists.
    #[must_use]
    pub fn embedded() -> &'static Self {
        &EMBEDDED
    }

    /// Whether the list has the code.
    #[must_use]
    pub fn contains(&self, list: List, code: &str) -> bool {
        self.entry(list, code).is_some()
    }

    /// Returns the entry of a code, or `None` if the list does not have the code.
    #[must_use]
    pub fn entry(&self, list: List, code: &str) -> Option<&Entry> {
        let position = self.positions.get(list as usize)?.get(code)?;
        self.entries(list).get(*position)
    }

    /// Returns the entries of a list, in code order.
    #[must_use]
    pub fn entries(&self, list: List) -> &[Entry] {
        self.entries.get(list as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns the codes of a list, in code order.
    pub fn codes(&self, list: List) -> impl Iterator<Item = &str> {
        self.entries(list).iter().map(|entry| entry.code.as_str())
    }

    /// Returns the stable identifier of a code, or `None` if the list does not have the code.
    #[must_use]
    pub fn uuid(&self, list: List, code: &str) -> Option<Uuid> {
        self.entry(list, code).map(|entry| entry.uuid)
    }

    /// Returns the identifier of the only entry without a code: "other UK institution".
    #[must_use]
    pub const fn other_uk_institution() -> Uuid {
        OTHER_UK_INSTITUTION
    }

    /// Returns the facts about a training route, or `None` for an unknown code.
    #[must_use]
    pub fn route(&self, code: &str) -> Option<&Route> {
        self.routes.get(code)
    }

    /// Returns the ages of an age range, or `None` for an unknown code.
    #[must_use]
    pub fn age_range(&self, code: &str) -> Option<AgeRange> {
        self.age_ranges.get(code).copied()
    }

    /// Returns the funding subjects of a course subject, most specific first. Empty for an unknown
    /// code.
    #[must_use]
    pub fn funding_subjects(&self, subject: &str) -> &[String] {
        self.funding_subjects
            .get(subject)
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the group and the background of an ethnicity, or `None` for an unknown code.
    #[must_use]
    pub fn ethnicity(&self, code: &str) -> Option<&Ethnicity> {
        self.ethnicities.get(code)
    }

    /// Returns the only ethnicity with the group and the background. Returns `None` if there is no
    /// such ethnicity or more than one.
    #[must_use]
    pub fn ethnicity_of(&self, group: &str, background: &str) -> Option<&str> {
        let mut matching = self.codes(List::Ethnicity).filter(|code| {
            self.ethnicity(code).is_some_and(|ethnicity| {
                ethnicity.group == group && ethnicity.background == background
            })
        });
        let first = matching.next()?;
        matching.next().is_none().then_some(first)
    }

    /// Returns the disability disclosure of a single disability, or `None` for an unknown code.
    #[must_use]
    pub fn disclosure(&self, disability: &str) -> Option<&str> {
        self.disabilities.get(disability).map(String::as_str)
    }

    /// Returns the facts about a funding method, or `None` for an unknown code.
    #[must_use]
    pub fn funding_method(&self, code: &str) -> Option<&FundingMethod> {
        self.funding_methods.get(code)
    }

    /// Whether the country is the United Kingdom or a part of it.
    #[must_use]
    pub fn is_uk(&self, country: &str) -> bool {
        self.uk_countries.contains(country)
    }

    /// Whether a training with this aim needs an academic award (`itt_qualification_aim`).
    #[must_use]
    pub fn aim_needs_qualification(&self, aim: &str) -> bool {
        self.aims_with_qualification.contains(aim)
    }

    /// Whether funding of that type exists for the academic year, the route and the funding
    /// subject.
    #[must_use]
    pub fn has_funding(&self, year: i32, funding_type: &str, route: &str, subject: &str) -> bool {
        self.funding_rules.contains(&(
            year,
            funding_type.to_owned(),
            route.to_owned(),
            subject.to_owned(),
        ))
    }

    /// Whether any funding exists for the academic year and the route.
    #[must_use]
    pub fn is_funded(&self, year: i32, route: &str) -> bool {
        self.funded_routes.contains(&(year, route.to_owned()))
    }

    /// Returns the available funding: academic year, type, route and funding subject. Unsorted.
    pub fn funding(&self) -> impl Iterator<Item = (i32, &str, &str, &str)> {
        self.funding_rules
            .iter()
            .map(|(year, funding_type, route, subject)| {
                (
                    *year,
                    funding_type.as_str(),
                    route.as_str(),
                    subject.as_str(),
                )
            })
    }

    /// Returns the reasons of withdrawals, one for each code and trigger.
    #[must_use]
    pub fn withdrawal_reasons(&self) -> &[WithdrawalReason] {
        &self.withdrawal_reasons
    }

    /// Parses all tables.
    fn parse<'t>(
        text: impl Fn(List) -> &'t str,
        funding_rules: &str,
        withdrawal_reasons: &str,
    ) -> Result<Self, ListError> {
        let namespace = Uuid::new_v5(&Uuid::NAMESPACE_URL, b"trainee-register");
        let entries = List::ALL
            .iter()
            .map(|list| entries(*list, text(*list), &namespace))
            .collect::<Result<Vec<_>, ListError>>()?;
        let rules: HashSet<_> = rows(FUNDING_RULE.name, funding_rules)?
            .iter()
            .map(|row| {
                Ok((
                    row.number("start_year")?,
                    row.text("funding_type")?.to_owned(),
                    row.text("training_route")?.to_owned(),
                    row.text("allocation_subject")?.to_owned(),
                ))
            })
            .collect::<Result<_, ListError>>()?;
        Ok(Self {
            positions: entries
                .iter()
                .map(|entries| code_positions(entries))
                .collect(),
            entries,
            routes: facts(List::TrainingRoute, &text, route)?,
            age_ranges: facts(List::CourseAgeRange, &text, |row| {
                Ok(AgeRange {
                    min_age: row.number("min_age")?,
                    max_age: row.number("max_age")?,
                })
            })?,
            funding_subjects: facts(List::CourseSubject, &text, |row| {
                Ok(row
                    .text("allocation_subjects")?
                    .split('|')
                    .map(str::to_owned)
                    .collect())
            })?,
            ethnicities: facts(List::Ethnicity, &text, |row| {
                Ok(Ethnicity {
                    group: row.text("group")?.to_owned(),
                    background: row.text("background")?.to_owned(),
                })
            })?,
            disabilities: facts(List::Disability, &text, |row| {
                Ok(row.text("disclosure")?.to_owned())
            })?,
            funding_methods: facts(List::FundingMethod, &text, |row| {
                Ok(FundingMethod {
                    funding_type: row.optional("funding_type")?.map(str::to_owned),
                    bursary_tier: row.optional("bursary_tier")?.map(str::to_owned),
                })
            })?,
            uk_countries: flagged(List::Country, &text, "uk")?,
            aims_with_qualification: flagged(List::IttAim, &text, "requires_qualification_aim")?,
            funded_routes: rules
                .iter()
                .map(|(year, _, route, _)| (*year, route.clone()))
                .collect(),
            funding_rules: rules,
            withdrawal_reasons: reasons(withdrawal_reasons)?,
        })
    }
}

/// Returns the index of each code in a list.
fn code_positions(entries: &[Entry]) -> HashMap<String, usize> {
    entries
        .iter()
        .enumerate()
        .map(|(position, entry)| (entry.code.clone(), position))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_reference_data_is_embedded() {
        let lists = Lists::embedded();
        let counted: Vec<_> = List::ALL
            .iter()
            .map(|list| (list.name(), lists.entries(*list).len()))
            .collect();
        assert_eq!(
            counted,
            [
                ("country", 263),
                ("course_age_range", 11),
                ("course_subject", 72),
                ("degree_grade", 16),
                ("degree_subject", 1094),
                ("degree_type", 90),
                ("disability", 12),
                ("ethnicity", 22),
                ("fund_code", 2),
                ("funding_method", 9),
                ("institution", 586),
                ("itt_aim", 2),
                ("itt_qualification_aim", 11),
                ("nationality", 223),
                ("sex", 5),
                ("study_mode", 5),
                ("training_initiative", 5),
                ("training_route", 14),
            ]
        );
        assert_eq!(lists.withdrawal_reasons().len(), 20);
        assert_eq!(lists.funding_rules.len(), 407);
    }

    #[test]
    fn codes_are_compared_exactly() {
        let lists = Lists::embedded();
        assert!(lists.contains(List::StudyMode, "01"));
        assert!(!lists.contains(List::StudyMode, "1"));
        assert!(!lists.contains(List::FundingMethod, "e"));
    }

    #[test]
    fn ambiguous_group_and_background_have_no_ethnicity() {
        let lists = Lists::embedded();
        assert_eq!(
            lists.ethnicity_of("black_ethnic_group", "African"),
            Some("120")
        );
        assert_eq!(
            lists.ethnicity_of("not_provided_ethnic_group", "Not provided"),
            None
        );
    }

    fn uuid(text: &str) -> Option<Uuid> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn degree_lists_have_the_published_identifiers() {
        let lists = Lists::embedded();
        for (list, code, published) in [
            (
                List::DegreeSubject,
                "100003",
                "2d7f70f0-5dce-e911-a985-000d3ab79618",
            ),
            (
                List::DegreeGrade,
                "02",
                "e2fe18d4-8655-47cf-ab1a-8c3e0b0f078f",
            ),
            (
                List::DegreeType,
                "001",
                "c1695652-c197-e711-80d8-005056ac45bb",
            ),
            (
                List::Institution,
                "0001",
                "5c9e1d2d-3fa2-e811-812b-5065f38ba241",
            ),
        ] {
            assert_eq!(lists.uuid(list, code), uuid(published), "{}", list.name());
        }
        let namespace = Uuid::new_v5(&Uuid::NAMESPACE_URL, b"trainee-register");
        for list in [
            List::DegreeSubject,
            List::DegreeGrade,
            List::DegreeType,
            List::Institution,
        ] {
            let entries = lists.entries(list);
            let distinct: HashSet<Uuid> = entries.iter().map(|entry| entry.uuid).collect();
            assert_eq!(distinct.len(), entries.len(), "{}", list.name());
            for entry in entries {
                let derived = Uuid::new_v5(
                    &namespace,
                    format!("{}:{}", list.name(), entry.code).as_bytes(),
                );
                assert_ne!(entry.uuid, derived, "{} {}", list.name(), entry.code);
            }
        }
        assert_eq!(
            Some(Lists::other_uk_institution()),
            uuid("02132969-f5bc-47ca-be9c-b6f6d5b05e1b")
        );
    }

    #[test]
    fn missing_identifiers_are_derived() {
        let namespace = Uuid::new_v5(&Uuid::NAMESPACE_URL, b"trainee-register");
        let derived = Uuid::new_v5(&namespace, b"degree_grade:02");
        for text in [
            "code,name\n02,Second\n",
            "code,name,uuid\n01,First,8741765a-13d8-4550-a413-c5a860a59d25\n02,Second,\n",
        ] {
            let lists =
                Lists::with_replacements(|name| (name == "degree_grade").then_some(text)).unwrap();
            assert_eq!(lists.uuid(List::DegreeGrade, "02"), Some(derived), "{text}");
        }
    }
}
