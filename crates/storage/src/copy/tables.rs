//! The tables that are copied, and how their rows are read and written.
//!
//! A table of the schema is copied, derived, or holds locks: a test compares the lists with the database's own.

use chrono::NaiveDateTime;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::connection::{DatabaseConnection, with_inner};
use crate::schema::*;

/// Tables that triggers of the database fill from the copied ones, in the target as anywhere else.
pub(crate) const DERIVED: &[&str] = &["trainee_counts", "trainee_change_counts"];

/// Tables whose rows are only locked (`connection/locks.rs`), which are not copied.
#[cfg(test)]
pub(crate) const LOCKS: &[&str] = &["lock_stripes", "idempotency_locks"];

/// The table of what is true of the register as a whole.
pub(crate) const SETTINGS: &str = <RegisterSettingRow as Copied>::TABLE;

/// The row type of a table that is copied.
pub(crate) trait Copied: Sized + PartialEq {
    /// The table's name.
    const TABLE: &'static str;
    /// The table's columns.
    const COLUMNS: &'static [&'static str];
    /// The primary key.
    type Key: Ord;

    /// The row's key.
    fn key(&self) -> Self::Key;

    /// The row without what means something in its own database only.
    #[must_use]
    fn into_copied(self) -> Self {
        self
    }

    /// The key, for a message.
    fn shown(key: &Self::Key) -> String;

    /// The rows behind a key, in the order of the keys.
    fn page(connection: &mut DatabaseConnection, after: Option<&Self::Key>, limit: i64) -> QueryResult<Vec<Self>>;

    /// The row with the greatest key.
    fn last(connection: &mut DatabaseConnection) -> QueryResult<Option<Self>>;

    /// The row with that key.
    fn find(connection: &mut DatabaseConnection, key: &Self::Key) -> QueryResult<Option<Self>>;

    /// Adds rows.
    fn insert(connection: &mut DatabaseConnection, rows: &[Self]) -> QueryResult<()>;
}

/// Something that is done with each copied table.
pub(crate) trait Visitor {
    /// Why it could not be done.
    type Error;

    /// Does it with one table.
    fn visit<R: Copied>(&mut self) -> Result<(), Self::Error>;
}

macro_rules! copied {
    ($($row:ident,)+) => {
        /// Visits all copied tables; each stands behind those that it refers to.
        pub(crate) fn visit_all<V: Visitor>(visitor: &mut V) -> Result<(), V::Error> {
            $(visitor.visit::<$row>()?;)+
            Ok(())
        }

        /// The names of all copied tables, in the same order.
        pub(crate) fn copied() -> impl Iterator<Item = &'static str> {
            [$(<$row as Copied>::TABLE,)+].into_iter()
        }
    };
}
copied! {
    ProviderRow,
    TokenRow,
    SchoolRow,
    TrainingPartnerRow,
    TraineeRow,
    PlacementSchoolRow,
    ChangeRow,
    ReplyRow,
    ErasureRow,
    UserRow,
    InvitationRow,
    SignInSessionRow,
    SignInAttemptRow,
    SignInChoiceRow,
    ActivityRow,
    ImportRow,
    UsageRow,
    ShadowCheckRow,
    ShadowProblemRow,
    RequestLogRow,
    RegisterSettingRow,
}

/// What is the same for all tables. PostgreSQL takes many rows in one statement; on SQLite, where nothing has a way to go,
/// diesel keeps one prepared statement and runs it for each row.
macro_rules! common {
    ($table:ident, $row:ident) => {
        const TABLE: &'static str = stringify!($table);
        const COLUMNS: &'static [&'static str] = $row::COLUMNS;

        fn insert(connection: &mut DatabaseConnection, rows: &[Self]) -> QueryResult<()> {
            match connection {
                DatabaseConnection::Postgres(inner) => {
                    diesel::insert_into($table::table).values(rows).execute(inner)?;
                }
                DatabaseConnection::Sqlite(inner) => {
                    for row in rows {
                        diesel::insert_into($table::table).values(row).execute(inner)?;
                    }
                }
            }
            Ok(())
        }
    };
}

macro_rules! keyed_by_id {
    ($($table:ident: $row:ident $(without $field:ident)?,)+) => {
        $(
            impl Copied for $row {
                type Key = i64;

                $(
                    fn into_copied(self) -> Self {
                        Self { $field: 0, ..self }
                    }
                )?

                common!($table, $row);

                fn key(&self) -> i64 {
                    self.id
                }

                fn shown(key: &i64) -> String {
                    key.to_string()
                }

                fn page(
                    connection: &mut DatabaseConnection,
                    after: Option<&i64>,
                    limit: i64,
                ) -> QueryResult<Vec<Self>> {
                    let query = $table::table
                        .filter($table::id.gt(after.copied().unwrap_or(i64::MIN)))
                        .order($table::id)
                        .limit(limit);
                    let rows = with_inner!(connection, |inner| query.load::<Self>(inner))?;
                    Ok(rows.into_iter().map(Self::into_copied).collect())
                }

                fn last(connection: &mut DatabaseConnection) -> QueryResult<Option<Self>> {
                    let query = $table::table.order($table::id.desc());
                    Ok(with_inner!(connection, |inner| query.first::<Self>(inner)).optional()?.map(Self::into_copied))
                }

                fn find(connection: &mut DatabaseConnection, key: &i64) -> QueryResult<Option<Self>> {
                    let query = $table::table.find(*key);
                    Ok(with_inner!(connection, |inner| query.first::<Self>(inner)).optional()?.map(Self::into_copied))
                }
            }
        )+
    };
}
keyed_by_id! {
    providers: ProviderRow,
    tokens: TokenRow,
    schools: SchoolRow,
    training_partners: TrainingPartnerRow,
    trainees: TraineeRow without changed_in,
    changes: ChangeRow,
    erasures: ErasureRow,
    users: UserRow,
    invitations: InvitationRow,
    sign_in_sessions: SignInSessionRow,
    sign_in_attempts: SignInAttemptRow,
    sign_in_choices: SignInChoiceRow,
    activity_log: ActivityRow,
    imports: ImportRow,
    usage_by_day: UsageRow,
    shadow_checks: ShadowCheckRow,
    shadow_problems: ShadowProblemRow,
}

impl Copied for PlacementSchoolRow {
    type Key = (i64, i64);

    common!(placement_schools, PlacementSchoolRow);

    fn key(&self) -> Self::Key {
        (self.school_id, self.trainee_key)
    }

    fn shown(key: &Self::Key) -> String {
        format!("{}/{}", key.0, key.1)
    }

    fn page(connection: &mut DatabaseConnection, after: Option<&Self::Key>, limit: i64) -> QueryResult<Vec<Self>> {
        use placement_schools::{school_id, table, trainee_key};
        let (school, trainee) = after.copied().unwrap_or((i64::MIN, i64::MIN));
        table
            .filter(school_id.ge(school))
            .filter(school_id.gt(school).or(trainee_key.gt(trainee)))
            .order((school_id, trainee_key))
            .limit(limit)
            .load(connection)
    }

    fn last(connection: &mut DatabaseConnection) -> QueryResult<Option<Self>> {
        use placement_schools::{school_id, table, trainee_key};
        table.order((school_id.desc(), trainee_key.desc())).first(connection).optional()
    }

    fn find(connection: &mut DatabaseConnection, key: &Self::Key) -> QueryResult<Option<Self>> {
        placement_schools::table.find(*key).first(connection).optional()
    }
}

impl Copied for ReplyRow {
    /// The provider, and the key that the provider chose.
    type Key = (i64, String);

    common!(replies, ReplyRow);

    fn key(&self) -> Self::Key {
        (self.provider_id, self.idempotency_key.clone())
    }

    /// What the provider chose is not shown: nobody knows what it says.
    fn shown(key: &Self::Key) -> String {
        format!("{}/...", key.0)
    }

    fn page(connection: &mut DatabaseConnection, after: Option<&Self::Key>, limit: i64) -> QueryResult<Vec<Self>> {
        use replies::{provider_id, table};
        let (provider, key) = after.cloned().unwrap_or((i64::MIN, String::new()));
        let chosen = bytewise(connection);
        table
            .filter(provider_id.ge(provider))
            .filter(provider_id.gt(provider).or(sql::<Text>(chosen).gt(key)))
            .order((provider_id, sql::<Text>(chosen)))
            .limit(limit)
            .load(connection)
    }

    fn last(connection: &mut DatabaseConnection) -> QueryResult<Option<Self>> {
        use replies::{provider_id, table};
        let chosen = bytewise(connection);
        table.order((provider_id.desc(), sql::<Text>(chosen).desc())).first(connection).optional()
    }

    fn find(connection: &mut DatabaseConnection, key: &Self::Key) -> QueryResult<Option<Self>> {
        replies::table.find((key.0, key.1.as_str())).first(connection).optional()
    }
}

impl Copied for RequestLogRow {
    /// The provider, whether the request was accepted, when it was answered, and the number.
    type Key = (i64, bool, NaiveDateTime, i64);

    common!(request_log, RequestLogRow);

    fn key(&self) -> Self::Key {
        (self.provider_id, self.accepted, self.answered_at, self.id)
    }

    fn shown(key: &Self::Key) -> String {
        format!("{}/{}", key.0, key.3)
    }

    fn page(connection: &mut DatabaseConnection, after: Option<&Self::Key>, limit: i64) -> QueryResult<Vec<Self>> {
        use request_log::{accepted, answered_at, id, provider_id, table};
        let (provider, was_accepted, at, number) =
            after.copied().unwrap_or((i64::MIN, false, NaiveDateTime::default(), i64::MIN));
        let later = answered_at.gt(at).or(answered_at.eq(at).and(id.gt(number)));
        let behind = accepted.gt(was_accepted).or(accepted.eq(was_accepted).and(later));
        table
            .filter(provider_id.ge(provider))
            .filter(provider_id.gt(provider).or(behind))
            .order((provider_id, accepted, answered_at, id))
            .limit(limit)
            .load(connection)
    }

    fn last(connection: &mut DatabaseConnection) -> QueryResult<Option<Self>> {
        use request_log::{accepted, answered_at, id, provider_id, table};
        table.order((provider_id.desc(), accepted.desc(), answered_at.desc(), id.desc())).first(connection).optional()
    }

    fn find(connection: &mut DatabaseConnection, key: &Self::Key) -> QueryResult<Option<Self>> {
        request_log::table.find(*key).first(connection).optional()
    }
}

impl Copied for RegisterSettingRow {
    type Key = String;

    common!(register_settings, RegisterSettingRow);

    fn key(&self) -> String {
        self.name.clone()
    }

    fn shown(key: &String) -> String {
        key.clone()
    }

    fn page(connection: &mut DatabaseConnection, after: Option<&String>, limit: i64) -> QueryResult<Vec<Self>> {
        let name = connection.either("name COLLATE \"C\"", "name COLLATE BINARY");
        register_settings::table
            .filter(sql::<Text>(name).gt(after.cloned().unwrap_or_default()))
            .order(sql::<Text>(name))
            .limit(limit)
            .load(connection)
    }

    fn last(connection: &mut DatabaseConnection) -> QueryResult<Option<Self>> {
        let name = connection.either("name COLLATE \"C\"", "name COLLATE BINARY");
        register_settings::table.order(sql::<Text>(name).desc()).first(connection).optional()
    }

    fn find(connection: &mut DatabaseConnection, key: &String) -> QueryResult<Option<Self>> {
        register_settings::table.find(key.as_str()).first(connection).optional()
    }
}

/// The chosen key in the order of its bytes, which is the same in both databases.
fn bytewise(connection: &mut DatabaseConnection) -> &'static str {
    connection.either("idempotency_key COLLATE \"C\"", "idempotency_key COLLATE BINARY")
}
