//! Reads the values of options, and says in words of the command line what is wrong with one.

use openidconnect::url::Url;

/// The address of a site, to which the path of a page is appended.
pub(super) fn site(text: &str) -> Result<String, String> {
    let url = Url::parse(text).ok().filter(|url| {
        ["http", "https"].contains(&url.scheme())
            && url.has_host()
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    });
    let site = url.map(|url| url.origin().ascii_serialization());
    site.ok_or_else(|| "must be a scheme and a host, with a port at most, such as https://register.example".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn site_is_a_scheme_and_a_host_with_a_port_at_most() {
        for (text, expected) in [
            ("https://register.example", "https://register.example"),
            ("https://register.example/", "https://register.example"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://[::1]:8080/", "http://[::1]:8080"),
        ] {
            assert_eq!(site(text).as_deref(), Ok(expected));
        }
        for text in [
            "",
            "register.example",
            "register.example:8443",
            "ftp://register.example",
            "https://",
            "https://register.example/settings",
            "https://register.example/?y=z",
            "https://register.example#settings",
            "https://me:secret@register.example",
        ] {
            assert!(site(text).is_err(), "{text}");
        }
    }
}
