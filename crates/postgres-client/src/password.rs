//! Passwords outside the address: in `PGPASSWORD`, or in a password file in the format of libpq.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The connection that needs a password.
pub(crate) struct Wanted<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) database: &'a str,
    pub(crate) user: &'a str,
}

/// The password in `PGPASSWORD`, otherwise that of the password file: `file`, `PGPASSFILE` or
/// `~/.pgpass`. `None` if there is none, or if the file cannot be read.
pub(crate) fn find(file: Option<&Path>, wanted: &Wanted<'_>) -> Option<String> {
    if let Ok(password) = env::var("PGPASSWORD") {
        return Some(password);
    }
    let path = file
        .map(Path::to_owned)
        .or_else(|| env::var_os("PGPASSFILE").map(PathBuf::from))
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".pgpass")))?;
    find_in(&fs::read_to_string(path).ok()?, wanted)
}

/// The password of the first matching line `host:port:database:user:password`. `*` matches any
/// value; a backslash escapes a colon or a backslash.
fn find_in(lines: &str, wanted: &Wanted<'_>) -> Option<String> {
    let port = wanted.port.to_string();
    let values = [wanted.host, &port, wanted.database, wanted.user];
    lines
        .lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| {
            let fields = fields(line);
            let (password, patterns) = fields.split_last()?;
            let matches = |(pattern, value): (&String, &&str)| pattern == "*" || pattern == value;
            let is_match =
                patterns.len() == values.len() && patterns.iter().zip(&values).all(matches);
            is_match.then(|| password.clone())
        })
}

/// The unescaped fields of a line.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let last = fields.last_mut();
        match (character, last) {
            (':', _) => fields.push(String::new()),
            ('\\', Some(last)) => last.extend(characters.next()),
            (character, Some(last)) => last.push(character),
            (_, None) => {}
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_matching_line_has_the_password() {
        let lines = "# a comment:*:*:*:no\nother:5432:db:me:no\nhost:*:db:me:with\\:colon\\\\\n*:*:*:*:last";
        let wanted = |host, port, user| Wanted {
            host,
            port,
            database: "db",
            user,
        };
        assert_eq!(
            find_in(lines, &wanted("host", 5433, "me")).unwrap(),
            "with:colon\\"
        );
        assert_eq!(
            find_in(lines, &wanted("host", 5433, "you")).unwrap(),
            "last"
        );
        assert_eq!(
            find_in("host:5432:db:me:x", &wanted("host", 5433, "me")),
            None
        );
        assert_eq!(find_in("too:short", &wanted("host", 5433, "me")), None);
    }
}
