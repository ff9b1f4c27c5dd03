//! Names, addresses and words of invented people. Nobody of these exists; hosts are those that are
//! kept for examples (RFC 2606).

use unicode_normalization::UnicodeNormalization as _;

use super::random::Random;

#[rustfmt::skip]
const GIVEN: [&str; 48] = [
    "Aaliyah", "Ade", "Aisha", "Alasdair", "Amara", "Anders", "Ángel", "Anne-Marie", "Bronwen", "Callum", "Chloé",
    "Daniel", "D'Arcy", "Dwayne", "Eilidh", "Emily", "Fatima", "Françoise", "George", "Grace", "Hamza", "Harriet",
    "Ines", "Jack", "Jean-Luc", "José", "Khadija", "Łukasz", "Mary-Ann", "Mei", "Mohammed", "Nia", "Noah", "Olivia",
    "Oluwaseun", "Priya", "Rhys", "Ruth", "Siân", "Søren", "Thandiwe", "Tom", "Ursula", "Victor", "Wren", "Yusuf",
    "Zoë", "Νίκος",
];

#[rustfmt::skip]
const FAMILY: [&str; 48] = [
    "Abdi", "Åkesson", "Ashworth", "Baptiste", "Begum", "Brown", "Chaudhry", "Clarke", "D'Souza", "Davies", "Dubois",
    "Edwards", "Eze", "Fernández", "Fitzgerald", "García Márquez", "Green", "Hughes", "Ivanova", "Jackson", "Jones",
    "Kaur", "Khan", "Kowalska", "Lewis", "Li", "MacDonald", "Mbeki", "Mensah", "Müller", "Murphy", "Nguyễn", "Novák",
    "O'Brien", "O'Neill", "Ó Briain", "Okafor", "Patel", "Pritchard", "Roberts", "Smith", "Smith-Jones", "St John",
    "Taylor", "van der Berg", "Williams", "Wójcik", "李",
];

#[rustfmt::skip]
const PLACES: [&str; 16] = [
    "Ashcombe", "Birchwood", "Castle Hill", "Dovecote Lane", "Elmfield", "Fernbank", "Greenhithe Road", "Holy Well",
    "Ivybridge Park", "Kingsmead", "Larkrise", "Mill Lane", "Northgate", "Oakdene", "St Brigid's", "Westbrook",
];

const SORTS_OF_SCHOOL: [&str; 6] =
    ["Academy", "Community College", "High School", "Infant School", "Junior School", "Primary School"];

/// A given name.
pub(super) fn given(random: &Random) -> &'static str {
    random.one_of(GIVEN)
}

/// A family name.
pub(super) fn family(random: &Random) -> &'static str {
    random.one_of(FAMILY)
}

/// The name of a school.
pub(super) fn school(random: &Random) -> String {
    format!("{} {}", random.one_of(PLACES), random.one_of(SORTS_OF_SCHOOL))
}

/// A postcode of a usual form.
pub(super) fn postcode(random: &Random) -> String {
    let space = if random.chance(90) { " " } else { "" };
    let (one, two, three, four) = (random.letter(), random.letter(), random.letter(), random.letter());
    format!("{one}{two}{}{space}{}{three}{four}", random.digits(1), random.digits(1))
}

/// An e-mail address of a person, told from others by a number.
pub(super) fn email(random: &Random, given: &str, family: &str, number: u64) -> String {
    let host = random.one_of(["example.com", "example.org", "example.net"]);
    let (given, family) = (ascii(given), ascii(family));
    let name = [given, family].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
    let name = if name.is_empty() { "trainee".to_owned() } else { name };
    format!("{name}.{number}@{host}")
}

/// The Latin letters of a name without their marks, in lower case.
fn ascii(name: &str) -> String {
    let unmarked = name.nfkd().map(|letter| match letter {
        'Ł' | 'ł' => 'l',
        'Ø' | 'ø' => 'o',
        other => other.to_ascii_lowercase(),
    });
    unmarked.filter(char::is_ascii_alphanumeric).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_made_of_any_name() {
        let random = Random::new(1);
        assert!(email(&random, "Zoë", "O'Neill", 7).starts_with("zoe.oneill.7@example."));
        assert!(email(&random, "Łukasz", "Wójcik", 7).starts_with("lukasz.wojcik.7@example."));
        assert!(email(&random, "Νίκος", "Smith-Jones", 8).starts_with("smithjones.8@example."));
        assert!(email(&random, "Νίκος", "李", 9).starts_with("trainee.9@example."));
    }
}
