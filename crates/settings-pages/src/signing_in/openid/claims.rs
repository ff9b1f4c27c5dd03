//! The claims of an issuer about a user: organisations and roles.

use std::fmt;
use std::str::FromStr;

use domain::values::text::is_blank;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use storage::accounts::users::UserRole;

const UKPRN_DIGITS: usize = 8;
/// Read from a claim.
const MAX_ORGANISATIONS: usize = 100;

/// The name of a claim. A name that begins with a slash is a JSON pointer into the claims (RFC
/// 6901), such as `/organisation/ukprn`.
#[derive(Debug, Clone)]
pub struct ClaimName(String);

/// Defined by OpenID Connect Core 1.0, sections 2 and 5.1. `openidconnect` reads these claims
/// itself, so they are not among [`OtherClaims`].
const DEFINED: [&str; 29] = [
    "iss",
    "sub",
    "aud",
    "exp",
    "iat",
    "auth_time",
    "nonce",
    "acr",
    "amr",
    "azp",
    "at_hash",
    "c_hash",
    "name",
    "given_name",
    "family_name",
    "middle_name",
    "nickname",
    "preferred_username",
    "profile",
    "picture",
    "website",
    "email",
    "email_verified",
    "gender",
    "birthdate",
    "zoneinfo",
    "locale",
    "phone_number",
    "address",
];

/// The claim has a defined meaning, so it cannot contain an organisation or a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("OpenID Connect defines this claim for another purpose")]
pub struct DefinedClaim;

impl FromStr for ClaimName {
    type Err = DefinedClaim;

    fn from_str(name: &str) -> Result<Self, DefinedClaim> {
        if DEFINED.contains(&name) {
            Err(DefinedClaim)
        } else {
            Ok(Self(name.to_owned()))
        }
    }
}

impl fmt::Display for ClaimName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct OtherClaims {
    #[serde(flatten)]
    claims: Map<String, Value>,
}

impl openidconnect::AdditionalClaims for OtherClaims {}

impl OtherClaims {
    /// Whether the claim is present and not `null`.
    pub(super) fn has(&self, name: &ClaimName) -> bool {
        self.find(name).is_some_and(|value| !value.is_null())
    }

    /// Finds a claim, or the value in it that the JSON pointer leads to.
    fn find(&self, ClaimName(name): &ClaimName) -> Option<&Value> {
        let Some(path) = name.strip_prefix('/') else {
            return self.claims.get(name);
        };
        let (first, rest) = match path.split_once('/') {
            Some((first, rest)) => (first, Some(rest)),
            None => (path, None),
        };
        // JSON pointers escape `/` and `~`.
        let claim = first.replace("~1", "/").replace("~0", "~");
        let value = self.claims.get(&claim)?;
        match rest {
            Some(rest) => value.pointer(&format!("/{rest}")),
            None => Some(value),
        }
    }

    /// Reads a claim, or the values of an array, as texts. Blank values and other types than texts
    /// and numbers are left out.
    fn read_texts(&self, name: Option<&ClaimName>) -> Vec<String> {
        let mut texts: Vec<String> = match name.and_then(|name| self.find(name)) {
            Some(Value::Array(values)) => values.iter().filter_map(read_text).collect(),
            Some(value) => read_text(value).into_iter().collect(),
            None => Vec::new(),
        };
        texts.retain(|text| !is_blank(text));
        texts
    }
}

fn read_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Reads a claim of the ID token, or of the user info if the token lacks it.
fn read_from_either(
    name: Option<&ClaimName>,
    token: &OtherClaims,
    user_info: Option<&OtherClaims>,
) -> Vec<String> {
    let is_in_token = name.is_some_and(|name| token.has(name));
    let source = user_info.filter(|_| !is_in_token).unwrap_or(token);
    source.read_texts(name)
}

#[derive(Debug, Clone)]
pub struct ClaimNames {
    /// With one or several UKPRNs.
    pub provider: Option<ClaimName>,
    /// With one or several roles.
    pub role: Option<ClaimName>,
    /// The role of admins of an organisation.
    pub admin: String,
    /// The role of operators of the service.
    pub operator: Option<String>,
}

/// What the claims permit a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claimed {
    pub(super) ukprns: Vec<String>,
    pub(super) role: UserRole,
    pub(super) is_operator: bool,
}

impl ClaimNames {
    pub(super) fn iter(&self) -> impl Iterator<Item = &ClaimName> {
        self.provider.iter().chain(&self.role)
    }

    /// Reads the permissions from the claims of the ID token, or else of the user info, `more`.
    pub(super) fn read(&self, claims: &OtherClaims, more: Option<&OtherClaims>) -> Claimed {
        let roles = read_from_either(self.role.as_ref(), claims, more);
        let mut ukprns = read_from_either(self.provider.as_ref(), claims, more);
        ukprns.retain(|ukprn| {
            ukprn.len() == UKPRN_DIGITS && ukprn.bytes().all(|byte| byte.is_ascii_digit())
        });
        ukprns.truncate(MAX_ORGANISATIONS);
        Claimed {
            ukprns,
            role: if roles.contains(&self.admin) {
                UserRole::Admin
            } else {
                UserRole::Viewer
            },
            is_operator: self
                .operator
                .as_ref()
                .is_some_and(|operator| roles.contains(operator)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(provider: &str, role: &str, claims: Value) -> Claimed {
        let name = |name: &str| Some(name.parse().unwrap()).filter(|_| !name.is_empty());
        let admin = "manager".to_owned();
        let operator = Some("staff".to_owned());
        let names = ClaimNames {
            provider: name(provider),
            role: name(role),
            admin,
            operator,
        };
        names.read(&serde_json::from_value(claims).unwrap(), None)
    }

    /// Names of a claim, the claims of a person, and the numbers that are read.
    const NUMBERS: &str = r#"
ukprn | {"ukprn": "10012345"} | 10012345
ukprn | {"ukprn": 10012345} | 10012345
u | {"u": ["10012345", " 10067890 ", null, {}]} | 10012345 10067890
/organisation/ukprn | {"organisation": {"ukprn": "10012345"}} | 10012345
/https:~1~1a.example~1u | {"https://a.example/u": "10012345"} | 10012345
https://a.example/u | {"https://a.example/u": "10012345"} | 10012345
ukprn | {} | none
ukprn | {"ukprn": null} | none
ukprn | {"ukprn": true} | none
ukprn | {"ukprn": {"a": 1}} | none
ukprn | {"ukprn": ["", "1001234", "100123456", "1001234a"]} | none
ukprn | {"ukprn": ["10012345,10067890", "%", "-0012345"]} | none
"#;

    #[test]
    fn claim_with_one_or_several_numbers_is_read() {
        for line in NUMBERS.trim().lines() {
            let [name, claims, expected] = line.split(" | ").collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let found = read(name, "", serde_json::from_str(claims).unwrap()).ukprns;
            let expected = expected.split(' ').filter(|number| *number != "none");
            assert_eq!(found, expected.collect::<Vec<_>>(), "{line}");
        }
        let many = read("ukprn", "", json!({ "ukprn": vec!["10012345"; 200] }));
        assert_eq!(many.ukprns.len(), MAX_ORGANISATIONS);
        let unnamed = read("", "", json!({ "": "10012345", "ukprn": "10012345" }));
        assert!(unnamed.ukprns.is_empty());
    }

    #[test]
    fn claims_missing_in_id_token_are_read_from_user_info() {
        let names = ClaimNames {
            provider: Some("/organisation/ukprn".parse().unwrap()),
            role: Some("role".parse().unwrap()),
            admin: "manager".to_owned(),
            operator: None,
        };
        let claims = |value| serde_json::from_value::<OtherClaims>(value).unwrap();
        let token = claims(json!({ "organisation": { "id": 1 }, "role": null }));
        let more =
            claims(json!({ "organisation": { "id": 1, "ukprn": "10012345" }, "role": "manager" }));
        let claimed = names.read(&token, Some(&more));
        assert_eq!(
            (claimed.ukprns, claimed.role),
            (vec!["10012345".to_owned()], UserRole::Admin)
        );
        // Claims of the ID token have precedence.
        let token = claims(json!({ "organisation": { "ukprn": "10067890" }, "role": "reader" }));
        let claimed = names.read(&token, Some(&more));
        assert_eq!(
            (claimed.ukprns, claimed.role),
            (vec!["10067890".to_owned()], UserRole::Viewer)
        );
    }

    #[test]
    fn empty_role_gives_no_permission() {
        let names = ClaimNames {
            provider: None,
            role: Some("role".parse().unwrap()),
            admin: String::new(),
            operator: Some(String::new()),
        };
        for role in [json!(""), json!(" "), json!([""]), json!([" ", ""])] {
            let claimed = names.read(
                &serde_json::from_value(json!({ "role": role })).unwrap(),
                None,
            );
            assert_eq!(
                (claimed.role, claimed.is_operator),
                (UserRole::Viewer, false),
                "{role}"
            );
        }
    }

    #[test]
    fn claim_defined_by_standard_is_rejected() {
        for name in ["email", "sub", "profile", "acr"] {
            assert!(name.parse::<ClaimName>().is_err(), "{name}");
        }
        for name in ["ukprn", "/email/x", "role", "groups"] {
            assert!(name.parse::<ClaimName>().is_ok(), "{name}");
        }
    }

    #[test]
    fn role_must_match_exactly() {
        let claimed = |role| {
            let claimed = read("", "role", json!({ "role": role }));
            (claimed.role, claimed.is_operator)
        };
        assert_eq!(claimed(json!("manager")), (UserRole::Admin, false));
        assert_eq!(
            claimed(json!(["staff", "manager"])),
            (UserRole::Admin, true)
        );
        assert_eq!(claimed(json!("staff")), (UserRole::Viewer, true));
        for other in [
            json!(null),
            json!("Manager"),
            json!("staff manager"),
            json!(true),
            json!({ "staff": true }),
        ] {
            assert_eq!(claimed(other.clone()), (UserRole::Viewer, false), "{other}");
        }
        assert!(!read("", "", json!({ "role": "staff" })).is_operator);
    }
}
