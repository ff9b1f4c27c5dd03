//! Code lists, read once from the files that the register embeds too.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The code lists by name.
pub(crate) static LISTS: LazyLock<Lists> = LazyLock::new(Lists::read);

/// A code without properties that this service needs.
#[derive(Debug, Deserialize)]
pub(crate) struct Code {
    code: String,
}

/// A code with its UUID in the lists of the sector.
#[derive(Debug, Deserialize)]
pub(crate) struct Listed {
    code: String,
    pub(crate) uuid: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Ethnicity {
    code: String,
    pub(crate) group: String,
    pub(crate) background: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AgeRange {
    code: String,
    pub(crate) min_age: i64,
    pub(crate) max_age: i64,
    pub(crate) phase: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Subject {
    code: String,
    /// Separated by vertical bars.
    allocation_subjects: String,
}

impl Subject {
    /// Whether funding for one of these subjects is funding for this one.
    pub(crate) fn is_any(&self, allocation_subjects: &[&str]) -> bool {
        self.allocation_subjects
            .split('|')
            .any(|subject| allocation_subjects.contains(&subject))
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Aim {
    code: String,
    pub(crate) requires_qualification_aim: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FundingMethod {
    code: String,
    pub(crate) funding_type: Option<String>,
    pub(crate) bursary_tier: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Initiative {
    code: String,
    pub(crate) start_year: i64,
    pub(crate) end_year: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Route {
    code: String,
    pub(crate) level: String,
    pub(crate) qualification: String,
    pub(crate) early_years: bool,
    pub(crate) study_mode_required: bool,
    pub(crate) iqts_country_required: bool,
    pub(crate) funding_applies: bool,
    pub(crate) start_year: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FundingRule {
    pub(crate) start_year: i64,
    pub(crate) funding_type: String,
    pub(crate) training_route: String,
    pub(crate) allocation_subject: String,
}

/// Declares the lists with their files and the type of their entries.
macro_rules! lists {
    ($($name:ident: $entry:ty,)*) => {
        pub(crate) struct Lists {
            $(pub(crate) $name: HashMap<String, $entry>,)*
            pub(crate) funding_rules: Vec<FundingRule>,
        }

        impl Lists {
            fn read() -> Self {
                Self {
                    $($name: entries::<$entry>(file!(stringify!($name)))
                        .into_iter()
                        .map(|entry| (entry.code.clone(), entry))
                        .collect(),)*
                    funding_rules: entries(file!("funding_rule")),
                }
            }
        }
    };
}

macro_rules! file {
    ($name:expr) => {
        include_str!(concat!(
            "../../../crates/domain/reference-data/",
            $name,
            ".csv"
        ))
    };
}

lists! {
    country: Code,
    course_age_range: AgeRange,
    course_subject: Subject,
    degree_grade: Listed,
    degree_subject: Listed,
    degree_type: Listed,
    disability: Code,
    ethnicity: Ethnicity,
    fund_code: Code,
    funding_method: FundingMethod,
    institution: Listed,
    itt_aim: Aim,
    itt_qualification_aim: Code,
    nationality: Code,
    sex: Code,
    study_mode: Code,
    training_initiative: Initiative,
    training_route: Route,
}

/// Returns the entries of an embedded file.
///
/// # Panics
///
/// If the file is malformed, which the first request would find.
#[expect(clippy::expect_used)]
fn entries<T: DeserializeOwned>(text: &str) -> Vec<T> {
    csv::Reader::from_reader(text.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .expect("embedded code lists are well formed")
}
