//! The recorded addresses of a register's pages, for commands and mails with a link.

use crate::base::register_setting::{read, write};
use crate::error::StorageError;
use crate::session::Session;

/// The name of the setting with the address of the settings.
const SETTINGS: &str = "served_settings";
/// The name of the setting with the address of the operators' pages.
const OPERATOR_PAGES: &str = "served_operator_pages";

/// The name of the setting that says whether the server sends mails.
const SENDS_MAIL: &str = "served_mail";
/// The value of [`SENDS_MAIL`] for a server that sends mails.
const YES: &str = "yes";

/// Addresses of pages: scheme, host and port, such as `https://register.example`. `None` for pages
/// that are not served.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServedAddresses {
    /// The settings of organisations.
    pub settings: Option<String>,
    /// The pages of operators.
    pub operator_pages: Option<String>,
    /// Whether the server sends mails.
    pub sends_mail: bool,
}

impl Session<'_> {
    /// The addresses that the last server recorded; `None` if no server has recorded any.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn served_addresses(&mut self) -> Result<Option<ServedAddresses>, StorageError> {
        let Some(settings) = read(self.connection, SETTINGS)? else {
            return Ok(None);
        };
        let operator_pages = read(self.connection, OPERATOR_PAGES)?.unwrap_or_default();
        let sends_mail = read(self.connection, SENDS_MAIL)?.is_some_and(|value| value == YES);
        // An empty text stands for pages that are not served.
        let served = |address: String| Some(address).filter(|address| !address.is_empty());
        Ok(Some(ServedAddresses {
            settings: served(settings),
            operator_pages: served(operator_pages),
            sends_mail,
        }))
    }

    /// Records the addresses, and replaces earlier ones. Pages that are not served are stored as an
    /// empty text.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn record_served_addresses(
        &mut self,
        served: &ServedAddresses,
    ) -> Result<(), StorageError> {
        let text = |address: &Option<String>| address.clone().unwrap_or_default();
        write(self.connection, SETTINGS, &text(&served.settings))?;
        write(
            self.connection,
            OPERATOR_PAGES,
            &text(&served.operator_pages),
        )?;
        let sends_mail = if served.sends_mail { YES } else { "" };
        write(self.connection, SENDS_MAIL, sends_mail)
    }
}
