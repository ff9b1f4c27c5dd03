//! The commands by which PostgreSQL's own tools do what this program does for SQLite.

use std::path::Path;

use postgres_client::Address;

/// The command that writes a backup.
pub(super) fn dump(url: &str, file: &Path) -> String {
    format!("pg_dump --format=custom --file={} {}", quoted(&file.to_string_lossy()), quoted(&without_password(url)))
}

/// The commands that read a backup: of the form that [`dump`] writes, or of plain SQL.
///
/// The database is made anew. `pg_restore --clean` cannot take its place: it drops the constraints of partitions, which
/// PostgreSQL refuses.
pub(super) fn restore(url: &str, file: &Path) -> String {
    let address: Option<Address> = url.parse().ok();
    let named = |name: Option<&str>| name.map(quoted);
    let name = named(address.as_ref().and_then(Address::database)).unwrap_or_else(|| "DATABASE".to_owned());
    let owner = named(address.as_ref().and_then(Address::user));
    let owner = owner.map(|user| format!(" --owner={user}")).unwrap_or_default();
    let without_password = without_password(url);
    let (database, maintenance) = (quoted(&without_password), quoted(&of_maintenance(&without_password)));
    let file = quoted(&file.to_string_lossy());
    // The first one drops nothing when the backup cannot be read.
    format!(
        "pg_restore --list {file} > /dev/null \
         && dropdb --if-exists --maintenance-db={maintenance} {name} \
         && createdb --maintenance-db={maintenance}{owner} --encoding=UTF8 --template=template0 {name} \
         && pg_restore --no-owner --single-transaction --dbname={database} {file} \
         (for a file of SQL leave out the first command, and the last one is \
         psql --single-transaction --set=ON_ERROR_STOP=1 --file={file} {database})"
    )
}

/// The address of the database to which one connects to make and drop others.
fn of_maintenance(url: &str) -> String {
    let (main, query) = url.split_once('?').map_or((url, ""), |(main, query)| (main, query));
    let (scheme, rest) = main.split_once("://").unwrap_or(("postgres", main));
    let host = rest.split_once('/').map_or(rest, |(host, _)| host);
    let parameters: Vec<_> = query.split('&').filter(|part| !part.is_empty() && !part.starts_with("dbname=")).collect();
    let parameters = if parameters.is_empty() { String::new() } else { format!("?{}", parameters.join("&")) };
    format!("{scheme}://{host}/postgres{parameters}")
}

/// The address without what nobody may see: the tools ask for the password, or take it from `PGPASSWORD` or `~/.pgpass`.
fn without_password(url: &str) -> String {
    let (main, query) = url.split_once('?').map_or((url, None), |(main, query)| (main, Some(query)));
    let main = match (main.split_once("://"), main.rsplit_once('@')) {
        (Some((scheme, _)), Some((before, host))) => {
            let user = before.get(scheme.len() + 3..).unwrap_or_default();
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{host}")
        }
        _ => main.to_owned(),
    };
    let harmless = |part: &&str| !part.split('=').next().unwrap_or_default().to_lowercase().contains("password");
    let query: Vec<&str> = query.into_iter().flat_map(|query| query.split('&')).filter(harmless).collect();
    if query.is_empty() { main } else { format!("{main}?{}", query.join("&")) }
}

/// The text as one word of a shell's line.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_left_out_of_an_address_wherever_it_stands() {
        for (url, shown) in [
            ("postgres://me:secret@host/db", "postgres://me@host/db"),
            ("postgres://me:se/c@ret@host:5433/db?sslmode=require", "postgres://me@host:5433/db?sslmode=require"),
            ("postgresql://host/db?user=me&password=secret", "postgresql://host/db?user=me"),
            ("postgres:///db?host=/run&sslpassword=secret&port=1", "postgres:///db?host=/run&port=1"),
            ("postgres://me@host/db", "postgres://me@host/db"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }

    #[test]
    fn databases_are_made_and_dropped_from_another_database_of_the_same_server() {
        for (url, expected) in [
            ("postgres://me@host:5433/db", "postgres://me@host:5433/postgres"),
            ("postgres://host", "postgres://host/postgres"),
            ("postgres:///db?host=/run&port=1", "postgres:///postgres?host=/run&port=1"),
            ("postgres://one,two?dbname=db", "postgres://one,two/postgres"),
        ] {
            assert_eq!(of_maintenance(url), expected);
        }
        let command = restore("postgres://it%27s@host/my%20db", Path::new("x.dump"));
        assert!(command.contains(" --owner='it'\\''s' ") && command.contains(" 'my db' && "), "{command}");
    }

    #[test]
    fn a_file_of_any_name_is_one_word_of_the_command() {
        let command = dump("postgres://me:secret@host/db", Path::new("/var/it's here"));
        assert_eq!(command, "pg_dump --format=custom --file='/var/it'\\''s here' 'postgres://me@host/db'");
    }
}
