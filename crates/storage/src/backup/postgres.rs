//! The commands by which PostgreSQL's own tools do what this program does for SQLite.

use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use postgres_client::Address;

/// What stands in a URL as a percent and two digits.
const NOT_IN_URL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The command that writes a backup.
pub(super) fn dump(url: &str, file: &Path) -> String {
    format!("pg_dump --format=custom --file={} {}", quoted(&file.to_string_lossy()), quoted(&without_password(url)))
}

/// The commands that read a backup: of the form that [`dump`] writes, or of plain SQL.
///
/// The backup is read into a new database, which takes the name of the present one last: a role may drop a database and yet
/// create none. `pg_restore --clean` cannot take the place of that: it drops the constraints of partitions, which PostgreSQL
/// refuses.
pub(super) fn restore(url: &str, file: &Path) -> String {
    let address: Option<Address> = url.parse().ok();
    let name = address.as_ref().and_then(Address::database).unwrap_or("DATABASE");
    let new = format!("{name}_restored");
    let owner = address.as_ref().and_then(Address::user);
    let owner = owner.map(|user| format!(" --owner={}", quoted(user))).unwrap_or_default();
    let url = without_password(url);
    let maintenance = quoted(&with_database(&url, "postgres"));
    let database = quoted(&with_database(&url, &utf8_percent_encode(&new, NOT_IN_URL).to_string()));
    let rename = quoted(&format!("ALTER DATABASE {} RENAME TO {}", identifier(&new), identifier(name)));
    let (name, new, file) = (quoted(name), quoted(&new), quoted(&file.to_string_lossy()));
    // The first one creates nothing when the backup cannot be read.
    format!(
        "pg_restore --list {file} > /dev/null \
         && createdb --maintenance-db={maintenance}{owner} --encoding=UTF8 --template=template0 {new} \
         && pg_restore --no-owner --single-transaction --dbname={database} {file} \
         && dropdb --if-exists --maintenance-db={maintenance} {name} \
         && psql --no-psqlrc --dbname={maintenance} --command={rename} \
         (for a file of SQL leave out the first command, and the third one is \
         psql --no-psqlrc --single-transaction --set=ON_ERROR_STOP=1 --file={file} {database})"
    )
}

/// The address of another database of the same server.
fn with_database(url: &str, name: &str) -> String {
    let (main, query) = url.split_once('?').map_or((url, ""), |(main, query)| (main, query));
    let (scheme, rest) = main.split_once("://").unwrap_or(("postgres", main));
    let host = rest.split_once('/').map_or(rest, |(host, _)| host);
    let parameters: Vec<_> = query.split('&').filter(|part| !part.is_empty() && !part.starts_with("dbname=")).collect();
    let parameters = if parameters.is_empty() { String::new() } else { format!("?{}", parameters.join("&")) };
    format!("{scheme}://{host}/{name}{parameters}")
}

/// A name as an identifier of SQL.
fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
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
    fn databases_are_created_and_dropped_from_another_database_of_the_same_server() {
        for (url, expected) in [
            ("postgres://me@host:5433/db", "postgres://me@host:5433/postgres"),
            ("postgres://host", "postgres://host/postgres"),
            ("postgres:///db?host=/run&port=1", "postgres:///postgres?host=/run&port=1"),
            ("postgres://one,two?dbname=db", "postgres://one,two/postgres"),
        ] {
            assert_eq!(with_database(url, "postgres"), expected);
        }
        let command = restore("postgres://it%27s@host/my%20db", Path::new("x.dump"));
        for part in [
            " --owner='it'\\''s' --encoding=UTF8 --template=template0 'my db_restored' && ",
            " --dbname='postgres://it%27s@host/my%20db_restored' 'x.dump' && ",
            "/postgres' 'my db' && ",
            " --command='ALTER DATABASE \"my db_restored\" RENAME TO \"my db\"' ",
        ] {
            assert!(command.contains(part), "{part} in {command}");
        }
    }

    #[test]
    fn a_file_of_any_name_is_one_word_of_the_command() {
        let command = dump("postgres://me:secret@host/db", Path::new("/var/it's here"));
        assert_eq!(command, "pg_dump --format=custom --file='/var/it'\\''s here' 'postgres://me@host/db'");
    }
}
