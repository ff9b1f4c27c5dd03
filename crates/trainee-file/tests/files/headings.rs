//! Everyday headings, and fields proposed by values.

use trainee_file::{Column, ColumnProposal, LISTS, ProposalContext, Table, propose_columns};

use super::{DEGREE_FIELDS, FIELDS, TODAY, TestCodes, names};

fn propose(text: &str, remembered: &[(String, String)]) -> Vec<ColumnProposal> {
    let context = ProposalContext {
        names: &names(),
        codes: &TestCodes,
        remembered,
        today: TODAY,
    };
    propose_columns(&Table::read(text.as_bytes()).unwrap(), &context)
}

fn column_names(columns: &[Column]) -> String {
    let names: Vec<_> = columns.iter().map(ToString::to_string).collect();
    names.join(" ")
}

#[test]
fn everyday_headings_are_recognised() {
    let cases = [
        (
            "provider_trainee_id",
            "Student ID|STUDENT NUMBER|Student No.|Learner ID|student-ref",
        ),
        (
            "application_id",
            "Application number|Apply ID|Application ref",
        ),
        ("agency_id", "HESA ID|HUSID|SID|HESA number|Hesa Identifier"),
        (
            "first_names",
            "Forename|forenames|First name|Given name|Given Names|Christian name",
        ),
        (
            "last_name",
            "Surname|SURNAME|Family name|family_name|Last names|Legal surname",
        ),
        (
            "previous_last_name",
            "Maiden name|Former surname|Previous surname|Birth name",
        ),
        (
            "date_of_birth",
            "DOB|D.O.B.|Date of birth|Birth date|birthdate|Birthday",
        ),
        (
            "email",
            "Email address|E-mail|e-mail address|Mail|Contact email|Student email",
        ),
        (
            "nationality",
            "Citizenship|Nationalities|Nationality code|Country of nationality",
        ),
        ("sex", "Gender|Sex|Legal sex|M/F|Male/Female|gender code"),
        (
            "ni_number",
            "NI no.|NINO|National Insurance Number|National Insurance No",
        ),
        (
            "ethnicity",
            "Ethnic origin|Ethnicity code|Race|ethnic identity",
        ),
        (
            "disability1",
            "Disability|Disabilities|Disability type|First disability",
        ),
        (
            "training_route",
            "Route|Training route|Route type|ITT route|Pathway|Route code",
        ),
        (
            "course_subject_1",
            "Course subject|Main subject|Subject 1|ITT subject|Specialism",
        ),
        (
            "course_subject_2",
            "Second subject|Subject 2|Course Subject Two",
        ),
        (
            "course_age_range",
            "Age range|Age phase|Age group|Phase|Key stage",
        ),
        ("course_year", "Academic year|Year of course|Year of study"),
        (
            "study_mode",
            "Mode of study|FT/PT|Mode|Full time or part time|Attendance mode",
        ),
        (
            "itt_start_date",
            "Start date|Course start date|Programme start|ITT start",
        ),
        (
            "itt_end_date",
            "End date|Course end|Expected end date|Completion date",
        ),
        (
            "trainee_start_date",
            "Commencement date|Actual start date|Date started",
        ),
        ("fund_code", "Funding code|Fundability|Fundable"),
        (
            "funding_method",
            "Funding|Bursary|Funding type|Bursary level",
        ),
        (
            "employing_school_urn",
            "Employing school|Employer|Employer URN",
        ),
        (
            "training_partner_urn",
            "Lead partner|Lead school URN|Training partner",
        ),
        (
            "placements.1.urn",
            "Placement school|Placement URN|Placement school URN|Host school URN",
        ),
        (
            "placements.2.urn",
            "Second placement URN|Placement 2 school|Placement 2: URN",
        ),
        (
            "degrees.1.subject",
            "Degree subject|Subject of degree|Degree discipline|Degree course",
        ),
        (
            "degrees.1.institution",
            "University|Institution|Awarding body|Degree university",
        ),
        (
            "degrees.2.institution",
            "Degree 2 university|Second degree awarding institution",
        ),
        (
            "degrees.1.graduation_year",
            "Graduation year|Year of graduation|Degree year",
        ),
        (
            "degrees.1.grade",
            "Degree class|Classification|Degree classification|Grade",
        ),
        (
            "degrees.1.uk_degree",
            "Degree type|Degree|First degree|Type of degree",
        ),
    ];
    for (column, headings) in cases {
        for heading in headings.split('|') {
            let found = names().recognise(heading).map(|column| column.to_string());
            assert_eq!(found.as_deref(), Some(column), "{heading}");
        }
    }
}

#[test]
fn ambiguous_headings_are_proposed_and_not_assigned() {
    for (heading, proposed) in [
        ("Subject", "course_subject_1 degrees.1.subject"),
        (
            "URN",
            "employing_school_urn training_partner_urn placements.1.urn",
        ),
        ("URN of school", "employing_school_urn placements.1.urn"),
        ("Year", "course_year degrees.1.graduation_year"),
        ("Qualification", "itt_qualification_aim degrees.1.uk_degree"),
    ] {
        let found = propose(&format!("{heading}\nx\n"), &[]);
        assert_eq!(found[0].column, None, "{heading}");
        assert_eq!(column_names(&found[0].proposals), proposed, "{heading}");
    }
    let found = propose("Subject,Degree subject\nx,y\n", &[]);
    assert_eq!(column_names(&found[0].proposals), "course_subject_1");
}

#[test]
fn unknown_headings_get_proposals_by_their_values() {
    for (values, proposed) in [
        ("01/09/2001\n1999-12-31\n3 Sep 1998", "date_of_birth"),
        ("01/09/2025\n1999-12-31", ""),
        ("ayo@x.org\nbea@y.org", "email"),
        ("ayo@x.org\nnone", ""),
        ("Male\nFemale\n11", "sex"),
        ("Male\nFemale", "sex"),
        ("Ceramics\n100003", "degrees.1.subject"),
        ("0310261553101\n0310261553102", "agency_id"),
        ("36525\n37135", ""),
        ("Ayo\nBea", ""),
        ("", ""),
    ] {
        let found = propose(&format!("Column X,first_names\n{values}\n,Ayo\n"), &[]);
        assert_eq!(column_names(&found[0].proposals), proposed, "{values}");
    }
    let known = propose("Gender,Column X\nMale,Female\n", &[]);
    assert_eq!(known[1].proposals, []);
}

#[test]
fn columns_are_shown_with_their_first_values() {
    let found = propose("Column X\nAyo\n\nBea\nAyo\nCleo\nDan\n", &[]);
    assert_eq!(found[0].heading, "Column X");
    assert_eq!(found[0].examples, ["Ayo", "Bea", "Cleo"]);
}

#[test]
fn remembered_headings_precede_other_names() {
    let remembered = [
        ("Column X".to_owned(), "email".to_owned()),
        ("Start date".to_owned(), "trainee_start_date".to_owned()),
        ("Mentor".to_owned(), "ignored".to_owned()),
        ("Sex".to_owned(), "removed_field".to_owned()),
    ];
    let found = propose("column x,START DATE,Mentor,Sex\na,b,c,d\n", &remembered);
    let columns: Vec<_> = found.into_iter().filter_map(|one| one.column).collect();
    assert_eq!(
        column_names(&columns),
        "email trainee_start_date ignored sex"
    );
}

#[test]
fn columns_have_labels_that_are_their_headings() {
    let nested = |list: usize, number, field: &str| Column::Nested {
        list: LISTS[list],
        number,
        field: field.to_owned(),
    };
    for (column, label) in [
        (Column::Field("date_of_birth".to_owned()), "Date of birth"),
        (Column::Field("new_field".to_owned()), "new field"),
        (nested(0, 2, "urn"), "Placement 2: URN"),
        (nested(1, 1, "degree_id"), "Degree 1: degree id"),
        (Column::TraineeId, "Trainee ID of the register"),
    ] {
        assert_eq!(column.label(), label);
    }
    let names = names();
    let mut columns: Vec<_> = names.fields().iter().cloned().map(Column::Field).collect();
    for (position, list) in LISTS.into_iter().enumerate() {
        let fields = names.nested_fields(list).iter();
        columns.extend(fields.map(|field| nested(position, 2, field)));
    }
    assert_eq!(columns.len(), FIELDS.len() + DEGREE_FIELDS.len() + 1);
    for column in columns {
        let label = column.label();
        assert_eq!(names.recognise(&label), Some(column), "{label}");
    }
}
