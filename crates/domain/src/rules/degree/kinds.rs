//! Tests of all updates between the two kinds of degrees. Each update results in a whole degree or
//! is refused with the missing fields.

use super::*;
use crate::fields::value::Input;
use crate::lists::Lists;
use crate::records::degree::DegreeChanges;
use crate::rules::Rule;
use crate::rules::testing::{apply, paths};

const RULES: &[Rule<Degree>] = &[
    KIND,
    GRADE_RECORDED,
    SUBJECT,
    COUNTRY,
    UK_DEGREE,
    NON_UK_DEGREE,
    COUNTRY_REQUIRED,
    GRADE,
];

/// The sent fields and their values. `None` means null.
type Sent<'a> = &'a [(F, Option<&'a str>)];

fn text(text: &str) -> Option<Text> {
    Some(text.to_owned())
}

fn degree_with_subject() -> Degree {
    Degree {
        subject: text("100485"),
        ..Degree::default()
    }
}

fn uk() -> Degree {
    Degree {
        uk_degree: text("083"),
        institution: text("0117"),
        grade: text("02"),
        ..degree_with_subject()
    }
}

fn foreign() -> Degree {
    Degree {
        country: text("FR"),
        non_uk_degree: text("051"),
        ..degree_with_subject()
    }
}

fn changes(sent: Sent<'_>) -> DegreeChanges {
    let mut changes = DegreeChanges::default();
    for (field, value) in sent {
        match value {
            Some("") => changes.blank(*field),
            Some(value) => assert!(changes.set(*field, Input::Text((*value).into()))),
            None => changes.clear(*field),
        }
    }
    changes
}

/// Asserts that the update is accepted and results in the expected degree.
#[track_caller]
fn leaves(stored: &Degree, sent: Sent<'_>, expected: &Degree) {
    let candidate = apply((), Some(stored), changes(sent), RULES);
    assert_eq!(candidate.problems(), [], "{sent:?}");
    assert_eq!(candidate.record, *expected, "{sent:?}");
    assert!(
        candidate.record.is_whole(Lists::embedded()) || candidate.record == *stored,
        "{sent:?}"
    );
}

/// Asserts that the update is refused with problems at these fields.
#[track_caller]
fn refused(stored: &Degree, sent: Sent<'_>, at: &[F]) {
    let expected: Vec<_> = at.iter().map(|field| (*field).into()).collect();
    assert_eq!(
        paths(&apply((), Some(stored), changes(sent), RULES)),
        expected,
        "{sent:?}"
    );
}

#[test]
fn update_of_uk_degree_results_in_whole_degree() {
    let stored = uk();
    for sent in [
        &[(F::country, None)][..],
        &[(F::country, Some("GB"))],
        &[(F::country, Some("XF"))],
        &[(F::non_uk_degree, None)],
        &[(F::country, Some("")), (F::non_uk_degree, Some(""))],
    ] {
        leaves(&stored, sent, &stored);
    }
    leaves(
        &stored,
        &[(F::institution, None)],
        &Degree {
            institution: None,
            ..uk()
        },
    );
    let elsewhere = Degree {
        institution: text("0149"),
        ..uk()
    };
    leaves(&stored, &[(F::institution, Some("0149"))], &elsewhere);
    leaves(
        &stored,
        &[(F::institution, Some("0149")), (F::country, Some("FR"))],
        &elsewhere,
    );
    let to_france = (F::country, Some("FR"));
    let as_bachelor = (F::non_uk_degree, Some("051"));
    let moved = Degree {
        grade: text("02"),
        ..foreign()
    };
    leaves(&stored, &[to_france, as_bachelor], &moved);
    leaves(
        &stored,
        &[
            to_france,
            as_bachelor,
            (F::uk_degree, None),
            (F::institution, None),
        ],
        &moved,
    );
    leaves(
        &stored,
        &[to_france, as_bachelor, (F::uk_degree, Some("083"))],
        &moved,
    );
    // A client sends back the whole record with another country.
    let whole = [
        (F::institution, Some("0117")),
        (F::uk_degree, Some("083")),
        (F::grade, Some("02")),
    ];
    leaves(
        &stored,
        &[&whole[..], &[to_france, as_bachelor]].concat(),
        &moved,
    );
    leaves(&moved, &[(F::grade, None)], &foreign());
    // A grade in words is never recorded.
    leaves(&stored, &[(F::other_grade, Some("Very good"))], &stored);
    leaves(
        &stored,
        &[(F::uk_degree, Some("001")), as_bachelor],
        &Degree {
            uk_degree: text("001"),
            ..uk()
        },
    );
    refused(&stored, &[to_france], &[F::non_uk_degree]);
    refused(&stored, &[as_bachelor], &[F::country]);
    refused(&stored, &[as_bachelor, (F::uk_degree, None)], &[F::country]);
    refused(&stored, &[(F::uk_degree, None)], &[F::uk_degree]);
    refused(
        &stored,
        &[(F::uk_degree, None), (F::grade, None)],
        &[F::uk_degree, F::grade],
    );
    refused(&stored, &[(F::grade, None)], &[F::grade]);
    refused(&stored, &[(F::country, Some("QQ"))], &[F::country]);
    // An unknown type is one problem.
    refused(
        &stored,
        &[(F::country, Some("GB")), (F::uk_degree, Some("zz"))],
        &[F::uk_degree],
    );
}

#[test]
fn update_of_foreign_degree_results_in_whole_degree() {
    let stored = foreign();
    for sent in [
        &[(F::uk_degree, None)][..],
        &[(F::institution, None)],
        &[(F::institution, Some(""))],
    ] {
        leaves(&stored, sent, &stored);
    }
    leaves(
        &stored,
        &[(F::country, Some("DE"))],
        &Degree {
            country: text("DE"),
            ..foreign()
        },
    );
    for blank in [None, Some("")] {
        refused(&stored, &[(F::country, blank)], &[F::country]);
        refused(&stored, &[(F::non_uk_degree, blank)], &[F::non_uk_degree]);
        refused(
            &stored,
            &[(F::country, blank), (F::non_uk_degree, blank)],
            &[F::non_uk_degree, F::country],
        );
        refused(
            &stored,
            &[(F::country, blank), (F::institution, blank)],
            &[F::country],
        );
    }
    let typed = (F::uk_degree, Some("083"));
    let graded = (F::grade, Some("02"));
    for at_home in [
        &[(F::country, Some("GB"))][..],
        &[(F::country, Some("XI"))],
        &[(F::institution, Some("0117"))],
    ] {
        refused(&stored, at_home, &[F::uk_degree, F::grade]);
        refused(&stored, &[at_home, &[typed]].concat(), &[F::grade]);
        refused(&stored, &[at_home, &[graded]].concat(), &[F::uk_degree]);
        let institution = at_home
            .iter()
            .find(|(field, _)| *field == F::institution)
            .and_then(|_| text("0117"));
        leaves(
            &stored,
            &[at_home, &[typed, graded]].concat(),
            &Degree {
                institution,
                ..uk()
            },
        );
    }
    let anywhere = Degree {
        institution: None,
        ..uk()
    };
    leaves(&stored, &[typed, graded], &anywhere);
    leaves(
        &stored,
        &[typed, graded, (F::country, None), (F::non_uk_degree, None)],
        &anywhere,
    );
    leaves(
        &stored,
        &[
            typed,
            graded,
            (F::country, Some("FR")),
            (F::non_uk_degree, Some("051")),
        ],
        &anywhere,
    );
    refused(&stored, &[typed], &[F::grade]);
}

#[test]
fn next_update_makes_degree_of_mixed_kind_whole() {
    let without_country = Degree {
        country: None,
        ..foreign()
    };
    let untyped = Degree {
        uk_degree: None,
        ..uk()
    };
    let mixed = Degree {
        country: text("FR"),
        non_uk_degree: text("051"),
        ..uk()
    };
    let in_northern_ireland = Degree {
        country: text("XG"),
        ..uk()
    };
    let graded = (F::grade, Some("01"));
    refused(&without_country, &[graded], &[F::country]);
    refused(
        &without_country,
        &[(F::subject, Some("100403"))],
        &[F::country],
    );
    leaves(&without_country, &[(F::country, Some("FR"))], &foreign());
    let graded_uk = Degree {
        grade: text("01"),
        institution: None,
        ..uk()
    };
    leaves(
        &without_country,
        &[(F::uk_degree, Some("083")), graded],
        &graded_uk,
    );
    refused(&untyped, &[graded], &[F::uk_degree]);
    refused(&untyped, &[(F::institution, None)], &[F::uk_degree]);
    leaves(&untyped, &[(F::uk_degree, Some("083"))], &uk());
    let unplaced = Degree {
        institution: None,
        ..mixed.clone()
    };
    leaves(
        &unplaced,
        &[(F::country, Some("GB"))],
        &Degree {
            institution: None,
            ..uk()
        },
    );
    // An imported degree may lack a grade. The grade is required when the kind changes.
    let ungraded = Degree {
        grade: None,
        ..uk()
    };
    let elsewhere = Degree {
        institution: text("0149"),
        ..ungraded.clone()
    };
    leaves(&ungraded, &[(F::institution, Some("0149"))], &elsewhere);
    leaves(
        &mixed,
        &[graded],
        &Degree {
            grade: text("01"),
            ..foreign()
        },
    );
    leaves(
        &mixed,
        &[(F::institution, Some("0149"))],
        &Degree {
            institution: text("0149"),
            ..uk()
        },
    );
    leaves(
        &in_northern_ireland,
        &[graded],
        &Degree {
            grade: text("01"),
            ..uk()
        },
    );
    // Problems of other fields are reported together with problems of the kind.
    refused(
        &without_country,
        &[(F::subject, None)],
        &[F::subject, F::country],
    );
}

#[test]
fn degree_of_mixed_kind_can_be_sent_back_unchanged() {
    for stored in [
        Degree {
            country: None,
            ..foreign()
        },
        Degree {
            uk_degree: None,
            ..uk()
        },
        Degree {
            country: text("FR"),
            non_uk_degree: text("051"),
            ..uk()
        },
    ] {
        let value = |field| stored.stored(field).as_text().map(str::to_owned);
        let shown = [
            F::country,
            F::uk_degree,
            F::non_uk_degree,
            F::institution,
            F::grade,
            F::subject,
        ]
        .map(|field| (field, value(field)));
        let sent: Vec<_> = shown
            .iter()
            .map(|(field, value)| (*field, value.as_deref()))
            .collect();
        leaves(&stored, &sent, &stored);
    }
}
