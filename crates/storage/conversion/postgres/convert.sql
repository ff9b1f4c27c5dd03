-- Writes the documents of the trainees with the keys from :first to :last that have none, from the tables of before.
UPDATE trainees SET record = documents.record FROM (
    SELECT trainee_key, json_strip_nulls(row_to_json(fields)) AS record FROM (
        SELECT t.id, t.id AS trainee_key FROM trainees t WHERE t.record IS NULL AND t.id BETWEEN :first AND :last
    ) AS wanted
    JOIN LATERAL (
        SELECT
            t.provider_trainee_id AS provider_trainee_id,
            t.application_id AS application_id,
            t.agency_id AS agency_id,
            t.first_names AS first_names,
            t.middle_names AS middle_names,
            t.last_name AS last_name,
            t.previous_last_name AS previous_last_name,
            t.date_of_birth AS date_of_birth,
            t.email AS email,
            t.nationality AS nationality,
            t.sex AS sex,
            t.ni_number AS ni_number,
            t.ethnicity AS ethnicity,
            (SELECT code FROM former_trainee_disabilities WHERE trainee_key = t.id AND position = 1) AS disability1,
            (SELECT code FROM former_trainee_disabilities WHERE trainee_key = t.id AND position = 2) AS disability2,
            (SELECT code FROM former_trainee_disabilities WHERE trainee_key = t.id AND position = 3) AS disability3,
            (SELECT code FROM former_trainee_disabilities WHERE trainee_key = t.id AND position = 4) AS disability4,
            (SELECT code FROM former_trainee_disabilities WHERE trainee_key = t.id AND position = 5) AS disability5,
            (SELECT code FROM former_trainee_disabilities WHERE trainee_key = t.id AND position = 6) AS disability6,
            (SELECT code FROM former_trainee_disabilities WHERE trainee_key = t.id AND position = 7) AS disability7,
            (SELECT code FROM former_trainee_disabilities WHERE trainee_key = t.id AND position = 8) AS disability8,
            (SELECT code FROM former_trainee_disabilities WHERE trainee_key = t.id AND position = 9) AS disability9,
            t.training_route AS training_route,
            t.course_subject_1 AS course_subject_1,
            t.course_subject_2 AS course_subject_2,
            t.course_subject_3 AS course_subject_3,
            t.course_age_range AS course_age_range,
            t.course_year AS course_year,
            t.study_mode AS study_mode,
            t.itt_aim AS itt_aim,
            t.itt_qualification_aim AS itt_qualification_aim,
            t.iqts_country AS iqts_country,
            t.itt_start_date AS itt_start_date,
            t.itt_end_date AS itt_end_date,
            t.trainee_start_date AS trainee_start_date,
            t.pg_apprenticeship_start_date AS pg_apprenticeship_start_date,
            t.training_initiative AS training_initiative,
            t.additional_training_initiative AS additional_training_initiative,
            t.fund_code AS fund_code,
            t.funding_method AS funding_method,
            t.employing_school_urn AS employing_school_urn,
            t.training_partner_urn AS training_partner_urn,
            t.training_partner_ukprn AS training_partner_ukprn,
            t.trainee_id AS trainee_id,
            t.trn AS trn,
            provider.ukprn AS ukprn,
            t.state AS state,
            t.defer_date AS defer_date,
            t.defer_reason AS defer_reason,
            standing.withdrawal_date AS withdrawal_date,
            standing."trigger" AS withdrawal_trigger,
            standing.future_interest AS withdrawal_future_interest,
            CASE WHEN standing.id IS NOT NULL THEN to_json(CASE WHEN standing.reasons = '' THEN ARRAY[]::text[] ELSE string_to_array(standing.reasons, ' ') END) END AS withdrawal_reasons,
            standing.another_reason AS withdrawal_another_reason,
            standing.safeguarding_concern_reasons AS withdrawal_safeguarding_concern_reasons,
            t.outcome_date AS outcome_date,
            t.reinstate_date AS reinstate_date,
            to_char(t.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
            to_char(t.updated_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at,
            to_char(t.submitted_for_trn_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS submitted_for_trn_at,
            to_char(t.recommended_for_award_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS recommended_for_award_at,
            to_char(t.awarded_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS awarded_at,
            to_char(t.discarded_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS discarded_at,
            to_char(t.slug_sent_to_registry_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS slug_sent_to_registry_at,
            t.record_source AS record_source,
            t.commencement_status AS commencement_status,
            t.imported_facts::json -> 'additional_ethnic_background' AS additional_ethnic_background,
            t.imported_facts::json -> 'course_min_age' AS course_min_age,
            t.imported_facts::json -> 'course_max_age' AS course_max_age,
            t.imported_facts::json -> 'course_title' AS course_title,
            t.imported_facts::json -> 'course_uuid' AS course_uuid,
            t.imported_facts::json -> 'ebacc' AS ebacc,
            t.imported_facts::json -> 'region' AS region,
            to_char(to_timestamp((t.imported_facts::json ->> 'agency_updated_at')::numeric / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS agency_updated_at,
            t.imported_facts::json -> 'created_from_legacy' AS created_from_legacy,
            t.imported_facts::json -> 'created_from_agency' AS created_from_agency,
            t.imported_facts::json -> 'additional_legacy_data' AS additional_legacy_data,
            t.imported_facts::json -> 'agency_editable' AS agency_editable,
            t.imported_facts::json -> 'placement_detail' AS placement_detail,
            (SELECT json_agg(row_to_json(one)) FROM (
                SELECT
                    previous_state AS previous_state,
                    to_char(created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
                    to_char(undone_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS undone_at,
                    CASE WHEN undone_at IS NOT NULL THEN withdrawal_date END AS withdrawal_date,
                    CASE WHEN undone_at IS NOT NULL THEN "trigger" END AS withdrawal_trigger,
                    CASE WHEN undone_at IS NOT NULL THEN future_interest END AS withdrawal_future_interest,
                    CASE WHEN undone_at IS NOT NULL THEN to_json(CASE WHEN reasons = '' THEN ARRAY[]::text[] ELSE string_to_array(reasons, ' ') END) END AS withdrawal_reasons,
                    CASE WHEN undone_at IS NOT NULL THEN another_reason END AS withdrawal_another_reason,
                    CASE WHEN undone_at IS NOT NULL THEN safeguarding_concern_reasons END AS withdrawal_safeguarding_concern_reasons
                FROM former_withdrawals WHERE trainee_key = t.id
                ORDER BY id
            ) AS one) AS withdrawals,
            (SELECT json_agg(row_to_json(one)) FROM (
                SELECT
                    p.urn AS urn,
                    CASE WHEN s.id IS NULL THEN p.name ELSE s.name END AS name,
                    CASE WHEN s.id IS NULL THEN p.postcode ELSE s.postcode END AS postcode,
                    p.placement_id AS placement_id,
                    s.id AS school_id,
                    to_char(p.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
                    to_char(p.updated_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at
                FROM former_placements p LEFT JOIN schools s ON s.id = p.school_id WHERE p.trainee_key = t.id
                ORDER BY p.created_at, p.id
            ) AS one) AS placements,
            (SELECT json_agg(row_to_json(one)) FROM (
                SELECT
                    uk_degree AS uk_degree,
                    non_uk_degree AS non_uk_degree,
                    subject AS subject,
                    institution AS institution,
                    graduation_year AS graduation_year,
                    grade AS grade,
                    other_grade AS other_grade,
                    country AS country,
                    degree_id AS degree_id,
                    to_char(created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
                    to_char(updated_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at
                FROM former_degrees WHERE trainee_key = t.id
                ORDER BY former_degrees.graduation_year IS NOT NULL, former_degrees.graduation_year, former_degrees.created_at, id
            ) AS one) AS degrees
        FROM trainees t
        JOIN providers provider ON provider.id = t.provider_id
        LEFT JOIN former_withdrawals standing ON standing.id = (
            SELECT max(id) FROM former_withdrawals WHERE trainee_key = t.id AND undone_at IS NULL
        )
        WHERE t.id = wanted.id
    ) AS fields ON true
) AS documents
WHERE documents.trainee_key = trainees.id;

INSERT INTO placement_schools (school_id, trainee_key)
    SELECT DISTINCT school_id, trainee_key FROM former_placements
    WHERE school_id IS NOT NULL AND trainee_key BETWEEN :first AND :last
    ON CONFLICT DO NOTHING;
