-- Fills the tables of before from the documents.
DELETE FROM former_trainee_disabilities;
DELETE FROM former_withdrawals;
DELETE FROM former_placements;
DELETE FROM former_degrees;

UPDATE trainees SET
    provider_trainee_id = record ->> 'provider_trainee_id',
    application_id = record ->> 'application_id',
    agency_id = record ->> 'agency_id',
    first_names = record ->> 'first_names',
    middle_names = record ->> 'middle_names',
    last_name = record ->> 'last_name',
    previous_last_name = record ->> 'previous_last_name',
    email = record ->> 'email',
    nationality = record ->> 'nationality',
    sex = record ->> 'sex',
    ni_number = record ->> 'ni_number',
    ethnicity = record ->> 'ethnicity',
    course_subject_1 = record ->> 'course_subject_1',
    course_subject_2 = record ->> 'course_subject_2',
    course_subject_3 = record ->> 'course_subject_3',
    course_age_range = record ->> 'course_age_range',
    course_year = record ->> 'course_year',
    study_mode = record ->> 'study_mode',
    itt_aim = record ->> 'itt_aim',
    itt_qualification_aim = record ->> 'itt_qualification_aim',
    iqts_country = record ->> 'iqts_country',
    itt_end_date = (record ->> 'itt_end_date')::date,
    trainee_start_date = (record ->> 'trainee_start_date')::date,
    pg_apprenticeship_start_date = (record ->> 'pg_apprenticeship_start_date')::date,
    training_initiative = record ->> 'training_initiative',
    additional_training_initiative = record ->> 'additional_training_initiative',
    fund_code = record ->> 'fund_code',
    funding_method = record ->> 'funding_method',
    employing_school_urn = record ->> 'employing_school_urn',
    training_partner_urn = record ->> 'training_partner_urn',
    training_partner_ukprn = record ->> 'training_partner_ukprn',
    defer_date = (record ->> 'defer_date')::date,
    defer_reason = record ->> 'defer_reason',
    outcome_date = (record ->> 'outcome_date')::date,
    reinstate_date = (record ->> 'reinstate_date')::date,
    slug_sent_to_registry_at = (record ->> 'slug_sent_to_registry_at')::timestamptz AT TIME ZONE 'UTC',
    record_source = record ->> 'record_source',
    commencement_status = record ->> 'commencement_status',
    imported_facts = nullif(json_strip_nulls(json_build_object(
        'additional_ethnic_background', record -> 'additional_ethnic_background',
        'course_min_age', record -> 'course_min_age',
        'course_max_age', record -> 'course_max_age',
        'course_title', record -> 'course_title',
        'course_uuid', record -> 'course_uuid',
        'ebacc', record -> 'ebacc',
        'region', record -> 'region',
        'agency_updated_at', (extract(epoch FROM (record ->> 'agency_updated_at')::timestamptz) * 1000)::bigint,
        'created_from_legacy', record -> 'created_from_legacy',
        'created_from_agency', record -> 'created_from_agency',
        'additional_legacy_data', record -> 'additional_legacy_data',
        'agency_editable', record -> 'agency_editable',
        'placement_detail', record -> 'placement_detail'
    ))::text, '{}');

INSERT INTO former_trainee_disabilities (trainee_key, position, code)
    SELECT id, position, record ->> ('disability' || position)
    FROM trainees, generate_series(1, 9) AS position
    WHERE record ->> ('disability' || position) IS NOT NULL;

-- The fields of a withdrawal that stands are those of the trainee.
INSERT INTO former_withdrawals (trainee_key, previous_state, withdrawal_date, "trigger", future_interest, reasons,
                         another_reason, safeguarding_concern_reasons, created_at, undone_at)
    SELECT id, one ->> 'previous_state', (fields ->> 'withdrawal_date')::date, fields ->> 'withdrawal_trigger',
           fields ->> 'withdrawal_future_interest',
           coalesce((SELECT string_agg(reason, ' ') FROM json_array_elements_text(fields -> 'withdrawal_reasons') AS reason), ''),
           fields ->> 'withdrawal_another_reason', fields ->> 'withdrawal_safeguarding_concern_reasons',
           (one ->> 'created_at')::timestamptz AT TIME ZONE 'UTC', (one ->> 'undone_at')::timestamptz AT TIME ZONE 'UTC'
    FROM (
        SELECT trainees.id, place, one, CASE WHEN one ->> 'undone_at' IS NULL THEN record ELSE one END AS fields
        FROM trainees, json_array_elements(record -> 'withdrawals') WITH ORDINALITY AS each (one, place)
    ) AS withdrawals
    ORDER BY id, place;

INSERT INTO former_placements (trainee_key, placement_id, urn, name, postcode, school_id, created_at, updated_at)
    SELECT trainees.id, one ->> 'placement_id', one ->> 'urn', one ->> 'name', one ->> 'postcode',
           (one ->> 'school_id')::bigint, (one ->> 'created_at')::timestamptz AT TIME ZONE 'UTC', (one ->> 'updated_at')::timestamptz AT TIME ZONE 'UTC'
    FROM trainees, json_array_elements(record -> 'placements') WITH ORDINALITY AS each (one, place)
    ORDER BY trainees.id, place;

INSERT INTO former_degrees (trainee_key, degree_id, uk_degree, non_uk_degree, subject, institution, graduation_year, grade,
                     other_grade, country, created_at, updated_at)
    SELECT trainees.id, one ->> 'degree_id', one ->> 'uk_degree', one ->> 'non_uk_degree', one ->> 'subject',
           one ->> 'institution', (one ->> 'graduation_year')::bigint, one ->> 'grade', one ->> 'other_grade',
           one ->> 'country', (one ->> 'created_at')::timestamptz AT TIME ZONE 'UTC', (one ->> 'updated_at')::timestamptz AT TIME ZONE 'UTC'
    FROM trainees, json_array_elements(record -> 'degrees') WITH ORDINALITY AS each (one, place)
    ORDER BY trainees.id, place;

-- The program of before knows no order of nested records in its history.
UPDATE changes SET fields = (fields::jsonb - 'placements' - 'degrees')::text
WHERE fields LIKE '%"placements":[[%' OR fields LIKE '%"degrees":[[%';
