//! The commands by which PostgreSQL's own tools do what this program does for SQLite.

use std::path::Path;

/// The command that writes a backup.
pub(super) fn dump(url: &str, file: &Path) -> String {
    format!("pg_dump --format=custom --file={} {}", quoted(&file.to_string_lossy()), quoted(&without_password(url)))
}

/// The commands that read a backup: of the form that [`dump`] writes, or of plain SQL.
pub(super) fn restore(url: &str, file: &Path) -> String {
    let (database, file) = (quoted(&without_password(url)), quoted(&file.to_string_lossy()));
    format!(
        "pg_restore --clean --if-exists --no-owner --single-transaction --dbname={database} {file} (or, for a file of SQL, \
         psql --single-transaction --set=ON_ERROR_STOP=1 --file={file} {database})"
    )
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
    fn a_file_of_any_name_is_one_word_of_the_command() {
        let command = dump("postgres://me:secret@host/db", Path::new("/var/it's here"));
        assert_eq!(command, "pg_dump --format=custom --file='/var/it'\\''s here' 'postgres://me@host/db'");
    }
}
