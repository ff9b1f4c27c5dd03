//! Search for trainees by the provider's own key, identifier, TRN or name.

use database::connection::Backend;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable, Text};
use domain::duplicate::DuplicateKey;
use domain::{RecordField as _, Trainee, TraineeField};

use super::documents::load_by_keys;
use super::{TraineeDocument, visible};
use crate::error::StorageError;
use crate::schema::trainees;
use crate::session::ProviderSession;

/// Escapes wildcards in a LIKE pattern.
const ESCAPE: char = '\\';

/// A condition on trainees.
type Condition = Box<dyn BoxableExpression<trainees::table, Backend, SqlType = Nullable<Bool>>>;

impl ProviderSession<'_> {
    /// Up to `limit` visible trainees that a text describes, the latest change first. The text is
    /// the provider's own key, the identifier, the TRN, or parts of the names in any order and
    /// case.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn search_trainees(
        &mut self,
        text: &str,
        limit: i64,
    ) -> Result<Vec<TraineeDocument>, StorageError> {
        let provider = self.provider().id;
        let found = trainees::table
            .filter(visible(provider))
            .filter(matches_text(text))
            .order((trainees::updated_at.desc(), trainees::id.desc()))
            .limit(limit)
            .select(trainees::id);
        let keys = found.load::<i64>(self.connection)?;
        let mut rows = load_by_keys(self.connection, provider, &keys)?;
        rows.sort_by_key(|(key, ..)| keys.iter().position(|found| found == key));
        let documents = rows.into_iter();
        Ok(documents
            .map(|(key, _, _, record)| TraineeDocument { key, record })
            .collect())
    }
}

fn matches_text(text: &str) -> Condition {
    let own_key = TraineeField::provider_trainee_id.info().name;
    let is_named: Condition = Box::new(
        sql::<Nullable<Text>>("record ->> ")
            .bind::<Text, _>(own_key)
            .eq(text.to_owned())
            .or(trainees::trn.eq(text.to_owned()))
            .or(trainees::trainee_id.eq(text.to_owned()).nullable()),
    );
    let words = text.split_whitespace().map(has_name_part);
    match words.reduce(|all, word| Box::new(all.and(word))) {
        Some(has_names) => Box::new(is_named.or(has_names)),
        None => is_named,
    }
}

/// Whether the first names or the last name contain a word.
fn has_name_part(word: &str) -> Condition {
    // The columns hold the forms that find duplicates.
    let named = Trainee {
        first_names: Some(word.to_owned()),
        last_name: Some(word.to_owned()),
        ..Trainee::default()
    };
    let key = DuplicateKey::from_trainee(&named, chrono::NaiveDate::default());
    let in_last_name = trainees::last_name_folded
        .like(pattern(&key.last_name))
        .escape(ESCAPE);
    // A word of punctuation alone is in every text.
    if key.first_names.is_empty() {
        return Box::new(in_last_name.nullable());
    }
    let in_first_names = trainees::first_names_folded
        .like(pattern(&key.first_names))
        .escape(ESCAPE);
    Box::new(in_last_name.or(in_first_names).nullable())
}

/// A LIKE pattern for texts that contain a part.
fn pattern(part: &str) -> String {
    let mut pattern = String::from("%");
    for character in part.chars() {
        if ['%', '_', ESCAPE].contains(&character) {
            pattern.push(ESCAPE);
        }
        pattern.push(character);
    }
    pattern + "%"
}

#[cfg(test)]
mod tests {
    use domain::{State, Stored};
    use stored_document::Nested;

    use super::*;
    use crate::base::cause::Cause;
    use crate::testing::{OTHER, Register, UKPRN};

    fn add(register: &Register, ukprn: &'static str, id: &'static str, names: [&str; 2]) {
        let [first_names, last_name] = names.map(|name| Some(name.to_owned()));
        let state = match id {
            "draft" => State::Draft,
            _ => State::TrnReceived,
        };
        let trainee = Trainee {
            trainee_id: Some(id.to_owned()),
            provider_trainee_id: Some(format!("own-{id}")),
            trn: (id == "one").then(|| "1234567".to_owned()),
            first_names,
            last_name,
            state: Some(state),
            ..Trainee::default()
        };
        register.insert(ukprn, trainee);
    }

    #[test]
    fn trainees_are_found_by_keys_and_names() {
        let register = Register::with_two_providers();
        add(&register, UKPRN, "one", ["Zoë Ann", "O’Neill"]);
        add(&register, UKPRN, "two", ["Ayo", "Bell_o"]);
        add(&register, UKPRN, "draft", ["Ayo", "Bell_o"]);
        add(&register, OTHER, "theirs", ["Zoë Ann", "O’Neill"]);
        let found = |text: &str, limit| {
            let text = text.to_owned();
            let ids = register
                .read(move |session| {
                    let mut own = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
                    let found = own.search_trainees(&text, limit)?;
                    let ids = found.iter().map(|document| {
                        let read = document.read(Nested::Without)?;
                        let read: &dyn Stored<Trainee> = &read;
                        Ok(read.get::<String>(TraineeField::trainee_id).unwrap())
                    });
                    ids.collect::<Result<Vec<_>, StorageError>>()
                })
                .unwrap();
            ids.join(" ")
        };
        for text in ["own-one", "one", "1234567", "neill zoe", "ANN", "o'neill"] {
            assert_eq!(found(text, 9), "one", "{text}");
        }
        assert_eq!(found("own-two", 9), "two");
        assert_eq!(found("l_o ayo", 9), "two");
        assert_eq!(found("o", 9), "two one");
        assert_eq!(found("o", 1), "two");
        for text in ["own", "%", "zoe bell", "own-theirs", "123456"] {
            assert_eq!(found(text, 9), "", "{text}");
        }
    }
}
