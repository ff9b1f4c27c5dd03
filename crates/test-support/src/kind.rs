//! The two databases, and which of them the tests of this run are to use.

/// The environment variable that names the database of a run: `sqlite`, which is also meant without
/// it, or `postgres`.
pub const KIND_VARIABLE: &str = "TEST_DATABASE";

/// One of the two databases that the register runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    Sqlite,
    /// A database of a server.
    Postgres,
}

impl Kind {
    /// The kind of database of this run.
    ///
    /// # Panics
    ///
    /// When [`KIND_VARIABLE`] names neither database.
    pub fn from_environment() -> Self {
        Self::from_name(std::env::var(KIND_VARIABLE).ok().as_deref())
    }

    fn from_name(name: Option<&str>) -> Self {
        match name {
            None | Some("sqlite") => Self::Sqlite,
            Some("postgres") => Self::Postgres,
            Some(other) => panic!("{KIND_VARIABLE} must be sqlite or postgres, not {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_is_meant_unless_postgres_is_named() {
        assert_eq!(Kind::from_name(None), Kind::Sqlite);
        assert_eq!(Kind::from_name(Some("sqlite")), Kind::Sqlite);
        assert_eq!(Kind::from_name(Some("postgres")), Kind::Postgres);
    }

    #[test]
    #[should_panic(expected = "TEST_DATABASE must be sqlite or postgres, not \"Postgres\"")]
    fn run_on_any_other_database_is_refused() {
        Kind::from_name(Some("Postgres"));
    }
}
