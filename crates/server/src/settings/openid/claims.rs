//! What an issuer says of a person beyond who it is: to which organisations they belong, and what they may do there.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use storage::users::UserRole;

/// Digits of a UKPRN.
const UKPRN_DIGITS: usize = 8;
/// The most organisations that are taken from a claim.
const MAX_ORGANISATIONS: usize = 100;

/// The name of a claim; one that begins with a slash is a JSON pointer into the claims (RFC 6901), such as
/// `/organisation/ukprn`.
#[derive(Debug, Clone)]
pub struct ClaimName(String);

impl FromStr for ClaimName {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(Self(name.to_owned()))
    }
}

impl fmt::Display for ClaimName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The claims that OpenID Connect does not define.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct OtherClaims {
    #[serde(flatten)]
    claims: Map<String, Value>,
}

impl openidconnect::AdditionalClaims for OtherClaims {}

impl OtherClaims {
    /// All of these, and those of others that are not among them.
    pub(super) fn or(mut self, others: &Self) -> Self {
        for (name, value) in &others.claims {
            self.claims.entry(name.as_str()).or_insert_with(|| value.clone());
        }
        self
    }

    pub(super) fn has(&self, name: &ClaimName) -> bool {
        self.value(name).is_some()
    }

    fn value(&self, ClaimName(name): &ClaimName) -> Option<&Value> {
        let Some(path) = name.strip_prefix('/') else { return self.claims.get(name) };
        let (first, rest) = path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let value = self.claims.get(&first.replace("~1", "/").replace("~0", "~"))?;
        rest.map_or(Some(value), |rest| value.pointer(&format!("/{rest}")))
    }

    /// What a claim says, as one text or as several.
    fn texts(&self, name: Option<&ClaimName>) -> Vec<String> {
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.trim().to_owned()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        match name.and_then(|name| self.value(name)) {
            Some(Value::Array(values)) => values.iter().filter_map(text).collect(),
            Some(value) => text(value).into_iter().collect(),
            None => Vec::new(),
        }
    }
}

/// Which claims count.
#[derive(Debug, Clone)]
pub struct ClaimNames {
    /// That with the UKPRN of the organisation, or with several.
    pub provider: Option<ClaimName>,
    /// That with the role, or with several.
    pub role: Option<ClaimName>,
    /// The role of the admins of an organisation.
    pub admin: String,
    /// The role of the operators of the service.
    pub operator: Option<String>,
}

/// What the claims let a person do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claimed {
    pub(super) ukprns: Vec<String>,
    pub(super) role: UserRole,
    pub(super) is_operator: bool,
}

impl ClaimNames {
    /// Those that the register is to look for.
    pub(super) fn all(&self) -> impl Iterator<Item = &ClaimName> {
        self.provider.iter().chain(&self.role)
    }

    pub(super) fn read(&self, claims: &OtherClaims) -> Claimed {
        let roles = claims.texts(self.role.as_ref());
        let mut ukprns = claims.texts(self.provider.as_ref());
        ukprns.retain(|ukprn| ukprn.len() == UKPRN_DIGITS && ukprn.bytes().all(|byte| byte.is_ascii_digit()));
        ukprns.truncate(MAX_ORGANISATIONS);
        Claimed {
            ukprns,
            role: if roles.contains(&self.admin) { UserRole::Admin } else { UserRole::Viewer },
            is_operator: self.operator.as_ref().is_some_and(|operator| roles.contains(operator)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(provider: &str, role: &str, claims: Value) -> Claimed {
        let name = |name: &str| Some(name.parse().unwrap()).filter(|_| !name.is_empty());
        let (admin, operator) = ("manager".to_owned(), Some("staff".to_owned()));
        let names = ClaimNames { provider: name(provider), role: name(role), admin, operator };
        names.read(&serde_json::from_value(claims).unwrap())
    }

    #[test]
    fn a_claim_has_one_number_or_several_wherever_it_stands() {
        let ukprns = |provider: &str, claims| read(provider, "", claims).ukprns;
        assert_eq!(ukprns("ukprn", json!({ "ukprn": "10012345" })), ["10012345"]);
        assert_eq!(ukprns("ukprn", json!({ "ukprn": 10_012_345 })), ["10012345"]);
        assert_eq!(ukprns("u", json!({ "u": ["10012345", " 10067890 ", null, {}] })), ["10012345", "10067890"]);
        assert_eq!(ukprns("/organisation/ukprn", json!({ "organisation": { "ukprn": "10012345" } })), ["10012345"]);
        assert_eq!(ukprns("/https:~1~1a.example~1u", json!({ "https://a.example/u": "10012345" })), ["10012345"]);
        assert_eq!(ukprns("https://a.example/u", json!({ "https://a.example/u": "10012345" })), ["10012345"]);
        for claims in [json!({}), json!({ "ukprn": null }), json!({ "ukprn": true }), json!({ "ukprn": { "a": 1 } })] {
            assert!(ukprns("ukprn", claims.clone()).is_empty(), "{claims}");
        }
        for wrong in ["", "1001234", "100123456", "1001234a", "10012345,10067890", "%", "-0012345"] {
            assert!(ukprns("ukprn", json!({ "ukprn": wrong })).is_empty(), "{wrong}");
        }
        assert_eq!(ukprns("ukprn", json!({ "ukprn": vec!["10012345"; 200] })).len(), MAX_ORGANISATIONS);
        assert!(ukprns("", json!({ "": "10012345", "ukprn": "10012345" })).is_empty());
    }

    #[test]
    fn a_role_is_named_as_it_stands() {
        let claimed = |role| {
            let claimed = read("", "role", json!({ "role": role }));
            (claimed.role, claimed.is_operator)
        };
        assert_eq!(claimed(json!("manager")), (UserRole::Admin, false));
        assert_eq!(claimed(json!(["staff", "manager"])), (UserRole::Admin, true));
        assert_eq!(claimed(json!("staff")), (UserRole::Viewer, true));
        for other in [json!(null), json!("Manager"), json!("staff manager"), json!(true), json!({ "staff": true })] {
            assert_eq!(claimed(other.clone()), (UserRole::Viewer, false), "{other}");
        }
        assert!(!read("", "", json!({ "role": "staff" })).is_operator);
    }
}
