//! The everyday names of fields: their labels, and what student-record systems and the sector's
//! template for new trainees (Register trainee teachers, "bulk add new trainees") call them.
//!
//! To accept another heading, add it to the line of its field in [`FIELDS`]. A heading in the lines
//! of several fields is ambiguous: it is proposed for each, and assigned to none.

/// The heading of the column with the reason why a row was refused. The column is ignored if the
/// file is sent again.
pub const WHY_HEADING: &str = "Why it was refused";

/// Headings of ignored columns, by [`crate::columns::heading_key`].
pub(crate) const IGNORED_HEADINGS: &[&str] = &["whyitwasrefused", "errors"];

/// A field with its everyday names.
pub(crate) struct FieldHeadings {
    /// The name of the field, after the name of the list of a nested record.
    pub(crate) name: &'static str,
    /// The name to show, which is a heading too.
    pub(crate) label: &'static str,
    /// Further headings, separated by commas.
    headings: &'static str,
}

impl FieldHeadings {
    /// Whether the field has this heading. `key` is a heading without white space, punctuation and
    /// upper case.
    pub(crate) fn has(&self, key: &str) -> bool {
        let mut names = self.headings.split(',').chain([self.label]);
        !key.is_empty() && names.any(|name| bare_key(name) == key)
    }
}

/// Returns the names of the fields with everyday names, such as `email` and `degrees.subject`.
pub fn named_fields() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|field| field.name)
}

/// Returns the letters and digits of a heading, in lower case. Headings with the same key have the
/// same meaning.
#[must_use]
pub fn bare_key(heading: &str) -> String {
    heading
        .chars()
        .filter(|character| character.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

const fn field(name: &'static str, label: &'static str, headings: &'static str) -> FieldHeadings {
    FieldHeadings {
        name,
        label,
        headings,
    }
}

/// The fields in the order of the data dictionary.
#[rustfmt::skip]
pub(crate) const FIELDS: &[FieldHeadings] = &[
    field("provider_trainee_id", "Provider trainee ID",
        "student ID, student number, student no, student reference, student ref, student code, trainee number, \
         trainee reference, learner ID, learner reference, person code"),
    field("application_id", "Application ID",
        "application number, application no, application reference, application ref, Apply ID, Apply application ID"),
    field("agency_id", "HESA ID",
        "HESA number, HESA reference, HESA student ID, HESA identifier, HUSID, SID, student identifier"),
    field("first_names", "First names",
        "forename, forenames, first name, given name, given names, Christian name, legal first name"),
    field("middle_names", "Middle names",
        "middle name, second name, other name, other names, other forenames, additional names"),
    field("last_name", "Last name",
        "surname, family name, last names, second name, legal surname, surname or family name"),
    field("previous_last_name", "Previous last name",
        "previous surname, former surname, maiden name, birth name, former name, previous name, previous family name"),
    field("date_of_birth", "Date of birth", "DOB, birth date, birthday, date born, born, born on, birth"),
    field("email", "Email",
        "email address, mail, mail address, contact email, personal email, student email, email 1, primary email"),
    field("nationality", "Nationality",
        "nationalities, citizenship, country of nationality, nationality code, nationality 1, citizen of"),
    field("sex", "Sex", "gender, legal sex, sex at birth, M/F, male/female, sex code, gender code"),
    field("ni_number", "National Insurance number", "NI no, NINO, NI, national insurance no, national insurance, NINo."),
    field("ethnicity", "Ethnicity",
        "ethnic origin, ethnicity code, ethnic code, ethnic, race, ethnic identity, ethnicity description"),
    field("ethnic_group", "Ethnic group", "ethnic category, ethnicity group, broad ethnic group"),
    field("ethnic_background", "Ethnic background", "background, ethnicity background, detailed ethnicity"),
    field("disability1", "Disability 1",
        "disability, disabilities, disability code, disability type, first disability, disability or condition"),
    field("disability2", "Disability 2", "second disability, other disability"),
    field("disability3", "Disability 3", "third disability"),
    field("disability4", "Disability 4", "fourth disability"),
    field("disability5", "Disability 5", "fifth disability"),
    field("disability6", "Disability 6", "sixth disability"),
    field("disability7", "Disability 7", "seventh disability"),
    field("disability8", "Disability 8", "eighth disability"),
    field("disability9", "Disability 9", "ninth disability"),
    field("training_route", "Training route",
        "route, route type, route code, ITT route, programme route, pathway, programme type, route into teaching"),
    field("course_subject_1", "Course subject 1",
        "course subject, course subject one, subject, subject 1, main subject, first subject, teaching subject, \
         ITT subject, specialism, subject specialism"),
    field("course_subject_2", "Course subject 2",
        "course subject two, subject 2, second subject, subsidiary subject, additional subject, specialism 2"),
    field("course_subject_3", "Course subject 3",
        "course subject three, subject 3, third subject, specialism 3"),
    field("course_age_range", "Course age range",
        "age range, age group, age phase, phase, ages taught, training age range, key stage"),
    field("course_year", "Course year",
        "year of course, academic year, year, year of study, year of programme, current year"),
    field("study_mode", "Study mode",
        "mode of study, mode, FT/PT, full time or part time, full time/part time, attendance mode, study type"),
    field("itt_aim", "ITT aim", "aim, training aim, course aim, programme aim, aim of training, ITT objective"),
    field("itt_qualification_aim", "ITT qualification aim",
        "qualification aim, qualification, target qualification, intended qualification, ITT qualification, \
         expected qualification"),
    field("iqts_country", "iQTS country", "country, country of training, training country, country of iQTS"),
    field("itt_start_date", "ITT start date",
        "start date, start, course start date, course start, programme start date, programme start, training start date, \
         ITT start"),
    field("itt_end_date", "ITT end date",
        "end date, end, course end date, course end, programme end date, expected end date, training end date, \
         completion date, ITT end"),
    field("trainee_start_date", "Trainee start date",
        "trainee start, actual start date, start date of trainee, commencement date, date started, joining date, \
         enrolment date"),
    field("pg_apprenticeship_start_date", "PG apprenticeship start date",
        "apprenticeship start date, apprenticeship start, apprenticeship date, PGTA start date"),
    field("training_initiative", "Training initiative",
        "initiative, initiative 1, first initiative, training initiative 1, training initiatives, scheme"),
    field("additional_training_initiative", "Additional training initiative",
        "initiative 2, second initiative, training initiative 2, additional initiative, other initiative"),
    field("fund_code", "Fund code",
        "funding code, fundability, fundability code, eligible for funding, fundable, funding eligibility"),
    field("funding_method", "Funding method",
        "funding, funding type, bursary, bursary level, method of funding, bursary level award"),
    field("employing_school_urn", "Employing school URN",
        "employing school, employer URN, employer, employer school URN, school URN, URN of school, URN, school"),
    field("training_partner_urn", "Training partner URN",
        "lead partner URN, lead partner, lead school URN, lead school, training partner, partner URN, URN"),
    field("training_partner_ukprn", "Training partner UKPRN",
        "lead partner UKPRN, partner UKPRN, lead school UKPRN, UKPRN of partner"),
    field("placements.urn", "URN",
        "placement school URN, placement school, school URN, URN of school, host school URN, school"),
    field("placements.name", "School name",
        "placement school name, name of school, placement school name, host school, host school name"),
    field("placements.postcode", "School postcode", "placement school postcode, postcode of school, host school postcode"),
    field("degrees.uk_degree", "UK degree",
        "UK degree type, degree type, degree, type of degree, qualification, first degree, degree qualification"),
    field("degrees.non_uk_degree", "Non-UK degree",
        "non-UK degree type, overseas degree, international degree, foreign degree, non-UK qualification"),
    field("degrees.subject", "Subject",
        "subject of degree, degree discipline, discipline, undergraduate subject, subject studied, degree course"),
    field("degrees.institution", "Awarding institution",
        "institution, institution name, university, awarding body, university attended, degree awarding institution"),
    field("degrees.graduation_year", "Graduation year",
        "year of graduation, year graduated, year awarded, degree year, award year, year"),
    field("degrees.grade", "Grade",
        "degree class, degree classification, classification, class, class of degree, degree result, result"),
    field("degrees.other_grade", "Other grade", "other degree grade, other degree class"),
    field("degrees.country", "Country", "country of degree, country of study, country of institution, degree awarding country"),
];
