//! What is shown of a statement: its text without any value, and a few words for it.

/// The longest text that is shown, in bytes.
const MAX_SHAPE_BYTES: usize = 2_000;

/// A statement with `?` in place of every literal, shortened when it is long. Values that are bound are placeholders already.
/// Text whose literals cannot be told apart for certain is not shown at all.
#[must_use]
pub fn shape(sql: &str) -> String {
    // Escapes within literals, literals of PostgreSQL between dollars, and comments, in which quotes mean nothing.
    let opens_dollars = |(dollar, next): (u8, u8)| dollar == b'$' && !next.is_ascii_digit();
    let mut pairs = sql.bytes().zip(sql.bytes().skip(1).chain([b'0']));
    if ["\\", "--", "/*"].iter().any(|part| sql.contains(part)) || pairs.any(opens_dollars) {
        return String::new();
    }
    let mut shape = String::with_capacity(sql.len().min(MAX_SHAPE_BYTES));
    let mut rest = sql.chars().peekable();
    let mut previous = ' ';
    while let Some(next) = rest.next() {
        if shape.len() >= MAX_SHAPE_BYTES {
            shape.push('…');
            break;
        }
        let is_in_word = previous.is_alphanumeric() || matches!(previous, '_' | '$');
        previous = next;
        match next {
            // Two quotes are one within the literal: it is taken for two literals side by side.
            '\'' => {
                rest.by_ref().find(|end| *end == '\'');
                shape.push('?');
            }
            '0'..='9' if !is_in_word => {
                while rest.next_if(|next| next.is_alphanumeric() || *next == '.').is_some() {}
                shape.push('?');
            }
            '"' | '`' => {
                shape.push(next);
                shape.extend(std::iter::from_fn(|| rest.next_if(|end| *end != next)));
                shape.extend(rest.next());
            }
            _ => shape.push(next),
        }
    }
    shape
}

/// The operation of a statement and the table that it is about, such as `SELECT trainees`. Of several in a common table
/// expression, the first.
#[must_use]
pub fn summary(sql: &str) -> String {
    let mut words = sql.split_whitespace();
    let operation = match words.next() {
        Some(first) if first.eq_ignore_ascii_case("WITH") => words.find_map(|word| word.strip_prefix('(')),
        first => first,
    };
    let Some(operation) = operation.filter(|word| word.bytes().all(|byte| byte.is_ascii_alphabetic())) else {
        return "SQL".to_owned();
    };
    let operation = operation.to_ascii_uppercase();
    let table = match operation.as_str() {
        "SELECT" | "DELETE" => words.by_ref().skip_while(|word| !word.eq_ignore_ascii_case("FROM")).nth(1),
        "INSERT" => words.by_ref().skip_while(|word| !word.eq_ignore_ascii_case("INTO")).nth(1),
        "UPDATE" => words.next(),
        _ => None,
    };
    let name = table.map(|table| table.trim_matches(['"', '`', '(', ')', ',', ';'])).filter(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    });
    name.map_or(operation.clone(), |name| format!("{operation} {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_no_literal_and_keeps_names_and_placeholders() {
        let cases = [
            (
                r#"SELECT "t"."a1" FROM "t" WHERE "b" = $1 LIMIT 20"#,
                r#"SELECT "t"."a1" FROM "t" WHERE "b" = $1 LIMIT ?"#,
            ),
            ("UPDATE t2 SET name = 'O''Neil', n = -1.5e3 WHERE id=?", "UPDATE t2 SET name = ??, n = -? WHERE id=?"),
            ("SELECT x'00ff', 'never closed", "SELECT x?, ?"),
            (r#"SELECT 'a\'b'"#, ""),
            ("SELECT $$secret$$", ""),
            ("SELECT $tag$secret$tag$", ""),
            ("SELECT 1 -- don't show 'secret'", ""),
            ("SELECT /* don't */ 'secret'", ""),
        ];
        for (sql, expected) in cases {
            assert_eq!(shape(sql), expected);
        }
        let long = shape(&format!("SELECT {}", "column, ".repeat(1_000)));
        assert!(long.len() < MAX_SHAPE_BYTES + 10 && long.ends_with('…'));
    }

    #[test]
    fn a_summary_names_the_operation_and_the_table() {
        let cases = [
            (r#"SELECT "a" FROM "trainees" WHERE 1"#, "SELECT trainees"),
            (r#"INSERT INTO "changes" ("a") VALUES (?)"#, "INSERT changes"),
            (r#"UPDATE "trainees" SET "a" = ?"#, "UPDATE trainees"),
            (r#"DELETE  FROM "replies""#, "DELETE replies"),
            ("SELECT `a` FROM (`trainees` INNER JOIN `b`)", "SELECT trainees"),
            ("SELECT 1 FROM (SELECT 2)", "SELECT"),
            (
                r#"WITH "b" AS (INSERT INTO "trainees" VALUES ($1)) INSERT INTO "changes" VALUES ($2)"#,
                "INSERT trainees",
            ),
            ("WITH nothing", "SQL"),
            ("commit", "COMMIT"),
            ("", "SQL"),
            ("'O Neil'", "SQL"),
        ];
        for (sql, expected) in cases {
            assert_eq!(summary(sql), expected);
        }
    }
}
