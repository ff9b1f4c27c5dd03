-- Fills the tables of before from the documents.
DELETE FROM former_trainee_disabilities;
DELETE FROM former_withdrawals;
DELETE FROM former_placements;
DELETE FROM former_degrees;

UPDATE trainees SET
    provider_trainee_id = record ->> '$.provider_trainee_id',
    application_id = record ->> '$.application_id',
    agency_id = record ->> '$.agency_id',
    first_names = record ->> '$.first_names',
    middle_names = record ->> '$.middle_names',
    last_name = record ->> '$.last_name',
    previous_last_name = record ->> '$.previous_last_name',
    email = record ->> '$.email',
    nationality = record ->> '$.nationality',
    sex = record ->> '$.sex',
    ni_number = record ->> '$.ni_number',
    ethnicity = record ->> '$.ethnicity',
    course_subject_1 = record ->> '$.course_subject_1',
    course_subject_2 = record ->> '$.course_subject_2',
    course_subject_3 = record ->> '$.course_subject_3',
    course_age_range = record ->> '$.course_age_range',
    course_year = record ->> '$.course_year',
    study_mode = record ->> '$.study_mode',
    itt_aim = record ->> '$.itt_aim',
    itt_qualification_aim = record ->> '$.itt_qualification_aim',
    iqts_country = record ->> '$.iqts_country',
    itt_end_date = record ->> '$.itt_end_date',
    trainee_start_date = record ->> '$.trainee_start_date',
    pg_apprenticeship_start_date = record ->> '$.pg_apprenticeship_start_date',
    training_initiative = record ->> '$.training_initiative',
    additional_training_initiative = record ->> '$.additional_training_initiative',
    fund_code = record ->> '$.fund_code',
    funding_method = record ->> '$.funding_method',
    employing_school_urn = record ->> '$.employing_school_urn',
    training_partner_urn = record ->> '$.training_partner_urn',
    training_partner_ukprn = record ->> '$.training_partner_ukprn',
    defer_date = record ->> '$.defer_date',
    defer_reason = record ->> '$.defer_reason',
    outcome_date = record ->> '$.outcome_date',
    reinstate_date = record ->> '$.reinstate_date',
    slug_sent_to_registry_at = strftime('%Y-%m-%d %H:%M:%f', record ->> '$.slug_sent_to_registry_at'),
    record_source = record ->> '$.record_source',
    commencement_status = record ->> '$.commencement_status',
    imported_facts = nullif(json_patch('{}', json_object(
        'additional_ethnic_background', json(record -> '$.additional_ethnic_background'),
        'course_min_age', json(record -> '$.course_min_age'),
        'course_max_age', json(record -> '$.course_max_age'),
        'course_title', json(record -> '$.course_title'),
        'course_uuid', json(record -> '$.course_uuid'),
        'ebacc', json(record -> '$.ebacc'),
        'region', json(record -> '$.region'),
        'agency_updated_at', unixepoch(record ->> '$.agency_updated_at') * 1000 + CAST(substr(record ->> '$.agency_updated_at', 21, 3) AS INTEGER),
        'created_from_legacy', json(record -> '$.created_from_legacy'),
        'created_from_agency', json(record -> '$.created_from_agency'),
        'additional_legacy_data', json(record -> '$.additional_legacy_data'),
        'agency_editable', json(record -> '$.agency_editable'),
        'placement_detail', json(record -> '$.placement_detail')
    )), '{}');

INSERT INTO former_trainee_disabilities (trainee_key, position, code)
    SELECT trainees.id, places.value, record ->> ('$.disability' || places.value)
    FROM trainees, json_each('[1,2,3,4,5,6,7,8,9]') places
    WHERE record ->> ('$.disability' || places.value) IS NOT NULL;

-- The fields of a withdrawal that stands are those of the trainee.
INSERT INTO former_withdrawals (trainee_key, previous_state, withdrawal_date, "trigger", future_interest, reasons,
                         another_reason, safeguarding_concern_reasons, created_at, undone_at)
    SELECT key, previous_state, fields ->> '$.withdrawal_date', fields ->> '$.withdrawal_trigger',
           fields ->> '$.withdrawal_future_interest',
           coalesce((SELECT group_concat(value, ' ') FROM json_each(fields, '$.withdrawal_reasons')), ''),
           fields ->> '$.withdrawal_another_reason', fields ->> '$.withdrawal_safeguarding_concern_reasons',
           strftime('%Y-%m-%d %H:%M:%f', created_at), strftime('%Y-%m-%d %H:%M:%f', undone_at)
    FROM (
        SELECT trainees.id AS key, each.key AS place, each.value ->> '$.previous_state' AS previous_state,
               each.value ->> '$.created_at' AS created_at, each.value ->> '$.undone_at' AS undone_at,
               iif(each.value ->> '$.undone_at' IS NULL, record, each.value) AS fields
        FROM trainees, json_each(record, '$.withdrawals') each
    )
    ORDER BY key, place;

INSERT INTO former_placements (trainee_key, placement_id, urn, name, postcode, school_id, created_at, updated_at)
    SELECT trainees.id, each.value ->> '$.placement_id', each.value ->> '$.urn', each.value ->> '$.name',
           each.value ->> '$.postcode', each.value ->> '$.school_id', strftime('%Y-%m-%d %H:%M:%f', each.value ->> '$.created_at'),
           strftime('%Y-%m-%d %H:%M:%f', each.value ->> '$.updated_at')
    FROM trainees, json_each(record, '$.placements') each
    ORDER BY trainees.id, each.key;

INSERT INTO former_degrees (trainee_key, degree_id, uk_degree, non_uk_degree, subject, institution, graduation_year, grade,
                     other_grade, country, created_at, updated_at)
    SELECT trainees.id, each.value ->> '$.degree_id', each.value ->> '$.uk_degree', each.value ->> '$.non_uk_degree',
           each.value ->> '$.subject', each.value ->> '$.institution', each.value ->> '$.graduation_year',
           each.value ->> '$.grade', each.value ->> '$.other_grade', each.value ->> '$.country',
           strftime('%Y-%m-%d %H:%M:%f', each.value ->> '$.created_at'), strftime('%Y-%m-%d %H:%M:%f', each.value ->> '$.updated_at')
    FROM trainees, json_each(record, '$.degrees') each
    ORDER BY trainees.id, each.key;

-- The program of before knows no order of nested records in its history.
UPDATE changes SET fields = json_remove(fields, '$.placements', '$.degrees')
WHERE fields LIKE '%"placements":[[%' OR fields LIKE '%"degrees":[[%';
