-- Writes the documents of the trainees with the keys from :first to :last that have none, from the tables of before.
UPDATE trainees SET record = (
    SELECT json_patch(json_patch(json_patch('{}', json_object(
        'provider_trainee_id', trainees.provider_trainee_id,
        'application_id', trainees.application_id,
        'agency_id', trainees.agency_id,
        'first_names', trainees.first_names,
        'middle_names', trainees.middle_names,
        'last_name', trainees.last_name,
        'previous_last_name', trainees.previous_last_name,
        'date_of_birth', trainees.date_of_birth,
        'email', trainees.email,
        'nationality', trainees.nationality,
        'sex', trainees.sex,
        'ni_number', trainees.ni_number,
        'ethnicity', trainees.ethnicity,
        'disability1', (SELECT code FROM former_trainee_disabilities WHERE trainee_key = trainees.id AND position = 1),
        'disability2', (SELECT code FROM former_trainee_disabilities WHERE trainee_key = trainees.id AND position = 2),
        'disability3', (SELECT code FROM former_trainee_disabilities WHERE trainee_key = trainees.id AND position = 3),
        'disability4', (SELECT code FROM former_trainee_disabilities WHERE trainee_key = trainees.id AND position = 4),
        'disability5', (SELECT code FROM former_trainee_disabilities WHERE trainee_key = trainees.id AND position = 5),
        'disability6', (SELECT code FROM former_trainee_disabilities WHERE trainee_key = trainees.id AND position = 6),
        'disability7', (SELECT code FROM former_trainee_disabilities WHERE trainee_key = trainees.id AND position = 7),
        'disability8', (SELECT code FROM former_trainee_disabilities WHERE trainee_key = trainees.id AND position = 8),
        'disability9', (SELECT code FROM former_trainee_disabilities WHERE trainee_key = trainees.id AND position = 9),
        'training_route', trainees.training_route,
        'course_subject_1', trainees.course_subject_1,
        'course_subject_2', trainees.course_subject_2,
        'course_subject_3', trainees.course_subject_3,
        'course_age_range', trainees.course_age_range,
        'course_year', trainees.course_year,
        'study_mode', trainees.study_mode,
        'itt_aim', trainees.itt_aim,
        'itt_qualification_aim', trainees.itt_qualification_aim,
        'iqts_country', trainees.iqts_country,
        'itt_start_date', trainees.itt_start_date,
        'itt_end_date', trainees.itt_end_date,
        'trainee_start_date', trainees.trainee_start_date,
        'pg_apprenticeship_start_date', trainees.pg_apprenticeship_start_date,
        'training_initiative', trainees.training_initiative,
        'additional_training_initiative', trainees.additional_training_initiative,
        'fund_code', trainees.fund_code
    )), json_object(
        'funding_method', trainees.funding_method,
        'employing_school_urn', trainees.employing_school_urn,
        'training_partner_urn', trainees.training_partner_urn,
        'training_partner_ukprn', trainees.training_partner_ukprn,
        'trainee_id', trainees.trainee_id,
        'trn', trainees.trn,
        'ukprn', (SELECT ukprn FROM providers WHERE providers.id = provider_id),
        'state', trainees.state,
        'defer_date', trainees.defer_date,
        'defer_reason', trainees.defer_reason,
        'withdrawal_date', standing.withdrawal_date,
        'withdrawal_trigger', standing."trigger",
        'withdrawal_future_interest', standing.future_interest,
        'withdrawal_reasons', CASE WHEN standing.id IS NOT NULL THEN CASE WHEN standing.reasons = '' THEN json('[]') ELSE json('["' || replace(standing.reasons, ' ', '","') || '"]') END END,
        'withdrawal_another_reason', standing.another_reason,
        'withdrawal_safeguarding_concern_reasons', standing.safeguarding_concern_reasons,
        'outcome_date', trainees.outcome_date,
        'reinstate_date', trainees.reinstate_date,
        'created_at', strftime('%Y-%m-%dT%H:%M:%fZ', trainees.created_at),
        'updated_at', strftime('%Y-%m-%dT%H:%M:%fZ', trainees.updated_at),
        'submitted_for_trn_at', strftime('%Y-%m-%dT%H:%M:%fZ', trainees.submitted_for_trn_at),
        'recommended_for_award_at', strftime('%Y-%m-%dT%H:%M:%fZ', trainees.recommended_for_award_at),
        'awarded_at', strftime('%Y-%m-%dT%H:%M:%fZ', trainees.awarded_at),
        'discarded_at', strftime('%Y-%m-%dT%H:%M:%fZ', trainees.discarded_at),
        'slug_sent_to_registry_at', strftime('%Y-%m-%dT%H:%M:%fZ', trainees.slug_sent_to_registry_at),
        'record_source', trainees.record_source,
        'commencement_status', trainees.commencement_status,
        'additional_ethnic_background', json(imported_facts -> '$.additional_ethnic_background'),
        'course_min_age', json(imported_facts -> '$.course_min_age'),
        'course_max_age', json(imported_facts -> '$.course_max_age'),
        'course_title', json(imported_facts -> '$.course_title'),
        'course_uuid', json(imported_facts -> '$.course_uuid'),
        'ebacc', json(imported_facts -> '$.ebacc'),
        'region', json(imported_facts -> '$.region'),
        'agency_updated_at', strftime('%Y-%m-%dT%H:%M:%fZ', (imported_facts ->> '$.agency_updated_at') / 1000.0, 'unixepoch'),
        'created_from_legacy', json(imported_facts -> '$.created_from_legacy'),
        'created_from_agency', json(imported_facts -> '$.created_from_agency'),
        'additional_legacy_data', json(imported_facts -> '$.additional_legacy_data'),
        'agency_editable', json(imported_facts -> '$.agency_editable'),
        'placement_detail', json(imported_facts -> '$.placement_detail')
    )), json_object(
        'withdrawals', (
            SELECT nullif(json_group_array(json_patch('{}', json_object(
                'previous_state', previous_state,
                'created_at', strftime('%Y-%m-%dT%H:%M:%fZ', created_at),
                'undone_at', strftime('%Y-%m-%dT%H:%M:%fZ', undone_at),
                'withdrawal_date', CASE WHEN undone_at IS NOT NULL THEN withdrawal_date END,
                'withdrawal_trigger', CASE WHEN undone_at IS NOT NULL THEN "trigger" END,
                'withdrawal_future_interest', CASE WHEN undone_at IS NOT NULL THEN future_interest END,
                'withdrawal_reasons', CASE WHEN undone_at IS NOT NULL THEN CASE WHEN reasons = '' THEN json('[]') ELSE json('["' || replace(reasons, ' ', '","') || '"]') END END,
                'withdrawal_another_reason', CASE WHEN undone_at IS NOT NULL THEN another_reason END,
                'withdrawal_safeguarding_concern_reasons', CASE WHEN undone_at IS NOT NULL THEN safeguarding_concern_reasons END
            )) ORDER BY id), '[]')
            FROM former_withdrawals WHERE trainee_key = trainees.id
        ) -> '$',
        'placements', (
            SELECT nullif(json_group_array(json_patch('{}', json_object(
                'urn', p.urn,
                'name', iif(s.id IS NULL, p.name, s.name),
                'postcode', iif(s.id IS NULL, p.postcode, s.postcode),
                'placement_id', p.placement_id,
                'school_id', s.id,
                'created_at', strftime('%Y-%m-%dT%H:%M:%fZ', p.created_at),
                'updated_at', strftime('%Y-%m-%dT%H:%M:%fZ', p.updated_at)
            )) ORDER BY p.created_at, p.id), '[]')
            FROM former_placements p LEFT JOIN schools s ON s.id = p.school_id WHERE p.trainee_key = trainees.id
        ) -> '$',
        'degrees', (
            SELECT nullif(json_group_array(json_patch('{}', json_object(
                'uk_degree', uk_degree,
                'non_uk_degree', non_uk_degree,
                'subject', subject,
                'institution', institution,
                'graduation_year', graduation_year,
                'grade', grade,
                'other_grade', other_grade,
                'country', country,
                'degree_id', degree_id,
                'created_at', strftime('%Y-%m-%dT%H:%M:%fZ', created_at),
                'updated_at', strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)
            ))
                ORDER BY graduation_year IS NOT NULL, graduation_year, created_at, id), '[]')
            FROM former_degrees WHERE trainee_key = trainees.id
        ) -> '$'
    ))
    FROM (SELECT 1)
    LEFT JOIN former_withdrawals standing ON standing.id = (
        SELECT max(id) FROM former_withdrawals WHERE trainee_key = trainees.id AND undone_at IS NULL
    )
)
WHERE record IS NULL AND id BETWEEN :first AND :last;

INSERT OR IGNORE INTO placement_schools (school_id, trainee_key)
    SELECT school_id, trainee_key FROM former_placements
    WHERE school_id IS NOT NULL AND trainee_key BETWEEN :first AND :last;
