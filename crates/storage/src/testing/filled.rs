//! Databases on SQLite or PostgreSQL, empty or with rows in every table.

use std::fmt::Write as _;

use database::catalog;
use database::connection::{Connections, DatabaseConnection};
use diesel::connection::SimpleConnection as _;
use test_support::{Database, Kind};

use crate::maintenance::copy::tables;
use crate::maintenance::migrations::bring_up_to_date;

/// Opens a connection.
pub(crate) fn connect(url: &str) -> DatabaseConnection {
    Connections::from_url(url).unwrap().establish().unwrap()
}

/// A database whose schema is up to date.
pub(crate) fn empty(kind: Kind) -> Database {
    let database = Database::fresh_on(kind);
    bring_up_to_date(&mut connect(database.url())).unwrap();
    database
}

/// A database with rows in every table and `trainees` trainees. Keys have gaps, and the sequences
/// are past the highest keys.
pub(crate) fn filled(kind: Kind, trainees: usize) -> Database {
    let database = empty(kind);
    let mut connection = connect(database.url());
    let mut sql = String::from(
        "INSERT INTO providers (ukprn, name, created_at, closed_at) VALUES
            ('10000001', 'Ashdown University', '2026-01-05 09:00:00', NULL),
            ('10000002', 'Zoë''s', '2026-01-05 09:00:00.123', '2026-02-01 00:00:00.1');
         INSERT INTO provider_positions (provider_id, position, changed_at) VALUES
            (1, 3, '2026-01-05 09:00:00.123'), (2, 0, NULL);
         INSERT INTO tokens (provider_id, name, digest, created_by, created_at, expires_on) VALUES
            (1, 'Records', 'd1', 'operator', '2026-01-05 09:00:00', '2026-07-05');
         INSERT INTO schools (urn, name, postcode, open) VALUES
            ('100000', 'Ash', 'ZZ1 1AA', TRUE), ('100001', 'Beech', NULL, FALSE);
         INSERT INTO training_partners (urn, ukprn, name) VALUES (NULL, '10000003', 'Cedar');",
    );
    for trainee in 1..=trainees {
        let provider = 1 + trainee % 2;
        write!(
            sql,
            "INSERT INTO trainees (id, provider_id, trainee_id, revision, academic_cycle, last_name_folded,
                first_names_folded, email_folded, date_of_birth, state, created_at, updated_at, record)
             VALUES ({trainee}, {provider}, 't{trainee}', 1, 2026, 'example', '', '', '1999-04-12',
                'submitted_for_trn', '2026-03-02 12:00:00', '2026-03-02 12:00:00.{trainee:03}',
                '{{\"last_name\":\"Example\",\"date_of_birth\":\"1999-04-12\",\"trainee_id\":\"t{trainee}\",\"ukprn\":\"1000000{provider}\",\"state\":\"submitted_for_trn\",\"created_at\":\"2026-03-02T12:00:00.000Z\",\"updated_at\":\"2026-03-02T12:00:00.{trainee:03}Z\"}}');",
            trainee = trainee * 2,
        )
        .unwrap();
    }
    sql.push_str(
        "INSERT INTO placement_schools (school_id, trainee_key) VALUES (1, 2), (2, 2), (1, 4);
         INSERT INTO changes (trainee_key, changed_at, token_id, operation, fields, changed_by) VALUES
            (2, '2026-03-02 12:00:00', 1, 'update', '{}', NULL),
            (2, '2026-03-02 12:00:00', NULL, 'registry award', '{}', 'A. Operator');
         INSERT INTO replies (provider_id, idempotency_key, request_digest, status, headers, body, created_at) VALUES
            (1, 'b', 'x', 201, '[]', '{}', '2026-03-02 12:00:00'),
            (1, 'B', 'x', 201, '[]', '{}', '2026-03-02 12:00:00'),
            (2, 'é', 'x', 201, '[]', '{}', '2026-03-02 12:00:00'),
            (2, 'f', 'x', 201, '[]', '{}', '2026-03-02 12:00:00');
         INSERT INTO erasures (provider_id, trainee_id, erased_at, erased_by, ground, entries) VALUES
            (1, 'e1', '2026-03-02 12:00:00.25', 'A. Operator', 'request of 1 March', 2),
            (2, 'e2', '2026-03-02 12:00:00', 'Zoë', 'court order', 0);
         INSERT INTO users (provider_id, role, email, created_at, created_by, removed_at, removed_by) VALUES
            (1, 'admin', 'a@example.com', '2026-03-02 12:00:00', 'operator', NULL, NULL),
            (NULL, 'operator', 'zoe@example.com', '2026-03-02 12:00:00', 'Zoë', '2026-03-03 12:00:00', 'user 1');
         INSERT INTO invitations (digest, provider_id, role, email, created_at, created_by, expires_at) VALUES
            ('d1', 2, 'viewer', 'b@example.com', '2026-03-02 12:00:00', 'user 1', '2026-03-02 12:15:00');
         INSERT INTO mails (kind, email, request_id, address, created_at, due_at, expires_at, attempts) VALUES
            ('sign_in', 'a@example.com', 'r1', '192.0.2.1', '2026-03-02 12:00:00', '2026-03-02 12:00:10',
             '2026-03-02 12:15:00', 1);
         INSERT INTO token_reminders (token_id, days_left, queued_at) VALUES (1, 30, '2026-03-02 12:00:00');
         INSERT INTO sign_in_sessions (digest, user_id, created_at, last_seen_at) VALUES
            ('d1', 1, '2026-03-02 12:00:00', '2026-03-02 12:00:00.5');
         INSERT INTO sign_in_attempts (digest, browser_digest, nonce, code_verifier, expires_at) VALUES
            ('d1', 'd2', 'n', 'v', '2026-03-02 12:10:00');
         INSERT INTO sign_in_choices (digest, browser_digest, issuer, subject, email, ukprns, role, is_operator,
            expires_at) VALUES
            ('d1', 'd2', 'https://id.example', 's', NULL, '', 'viewer', TRUE, '2026-03-02 12:10:00');
         INSERT INTO activity_log (acted_at, user_id, acted_by, provider_id, action, subject, detail, address) VALUES
            ('2026-03-02 12:00:00', 1, NULL, 1, 'token_revoked', 'token 1', '', '192.0.2.1'),
            ('2026-03-02 12:00:00', NULL, 'operator', NULL, 'user_invited', 'invitation 1', 'operator', NULL);
         INSERT INTO imports (imported_at, kind, operation, user_id, imported_by, added, changed, unchanged, refused,
            refused_rows, stopped_at_line) VALUES
            ('2026-03-02 12:00:00', 'schools', 'school import', NULL, 'Zoë', 2, 1, 0, 1, '[[3,\"URN must be 6 digits\"]]',
             NULL),
            ('2026-03-02 12:00:00', 'trainees', 'registry award', 1, NULL, 0, 1, 0, 0, '[]', 3);
         INSERT INTO request_totals (day, token_id, version, endpoint, status, kind, detail, requests, first_at,
            first_request_id, last_at, last_request_id) VALUES
            ('2026-03-02', 1, 'v1', 'GET /info', 200, 'request', '', 2, '2026-03-02 12:00:00', 'a',
             '2026-03-02 12:00:00.5', 'b'),
            ('2026-03-03', 1, 'v1', '', 422, 'check', 'v2', 2, '2026-03-03 12:00:00', '', '2026-03-03 12:00:00', '');
         DELETE FROM request_totals WHERE day = '2026-03-03';
         INSERT INTO requests (provider_id, answered_at, token_id, version, endpoint, status, result, refused, request_id,
            in_batch, item, record_key, names, problems, problems_left_out, newest_problems) VALUES
            (1, '2026-03-02 12:00:00.250', 1, 'v1', 'POST /trainees', 422, 'refused', TRUE, 'a', FALSE, NULL, 'k', NULL,
             '[[\"blank\",\"email\",\"cannot be blank\"]]', 0, NULL),
            (1, '2026-03-02 12:00:00', 1, 'v1', 'POST /trainees/batch', 422, 'refused', TRUE, 'b', TRUE, 3, NULL, NULL, NULL, 7,
             NULL),
            (1, '2026-03-02 12:00:00', 1, 'v1', 'POST /trainees', 201, 'registered', FALSE, 'c', FALSE, NULL, NULL, '[\"ukprn\"]',
             NULL, 0, '[]');
         INSERT INTO register_settings (name, value) VALUES ('environment', 'production');",
    );
    connection.batch_execute("BEGIN").unwrap();
    connection.batch_execute(&sql).unwrap();
    if let DatabaseConnection::Postgres(inner) = &mut connection {
        inner
            .batch_execute("SELECT setval(pg_get_serial_sequence('trainees', 'id'), (SELECT max(id) FROM trainees))")
            .unwrap();
    }
    connection.batch_execute("COMMIT").unwrap();
    let counts = counts(&mut connection);
    assert!(
        counts.iter().all(|(_, rows)| *rows > 0),
        "a table has no rows: {counts:?}"
    );
    database
}

/// The number of rows of each copied table that exists in the database.
pub(crate) fn counts(connection: &mut DatabaseConnection) -> Vec<(&'static str, i64)> {
    let existing = catalog::tables(connection).unwrap();
    tables::copied()
        .filter(|table| existing.iter().any(|name| name == table))
        .map(|table| (table, catalog::count(connection, table).unwrap()))
        .collect()
}
