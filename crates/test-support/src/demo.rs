//! The lines that `trainee-register serve --demo` prints.

use std::io::BufRead;

/// Addresses and secrets of a demo.
#[derive(Debug, Default)]
pub struct Demo {
    /// The site of the API, such as `http://127.0.0.1:8080`.
    pub origin: String,
    /// The link that signs a user of the demo provider in. Empty where no settings are served.
    pub settings_link: String,
    /// The link that signs an operator in. Empty where no operators' pages are served.
    pub operator_link: String,
    /// The token of the demo provider.
    pub token: String,
}

impl Demo {
    /// Reads the lines of a server up to the last one.
    ///
    /// # Panics
    ///
    /// If the server ends before.
    #[must_use]
    pub fn read(stdout: &mut impl BufRead) -> Self {
        let mut demo = Self::default();
        loop {
            let mut line = String::new();
            let length = stdout
                .read_line(&mut line)
                .unwrap_or_else(|error| panic!("the output of the server cannot be read: {error}"));
            assert_ne!(length, 0, "the server has ended");
            let mut words = line.split_whitespace();
            let (Some(name), Some(text)) = (words.next(), words.next()) else {
                continue;
            };
            match name {
                "Documentation" => demo.origin = text.trim_end_matches("/docs").to_owned(),
                "Settings" => demo.settings_link = text.to_owned(),
                "Operators" => demo.operator_link = text.to_owned(),
                "Token" => demo.token = text.to_owned(),
                "Move" => return demo,
                _ => {}
            }
        }
    }
}
