//! The code lists as they are answered.
//!
//! They are the same for everyone as long as the program runs, and they are large. So each is written when it is first asked
//! for, and kept: whoever fetches them all at once, again and again, keeps the server from little else.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use adapter_kit::reference::{self, AllLists, OneList};
use domain::Lists;
use http_kit::responses::shared_content::SharedContent;
use serde::Serialize;

use crate::error::ApiError;

/// The code lists of a register, as JSON. Cheap to clone; all clones keep the same.
#[derive(Debug, Clone)]
pub struct RenderedLists {
    lists: &'static Lists,
    kept: Arc<Kept>,
}

#[derive(Debug)]
struct Kept {
    all: OnceLock<SharedContent>,
    each: BTreeMap<&'static str, OnceLock<SharedContent>>,
}

impl RenderedLists {
    /// Those of a register with these code lists.
    #[must_use]
    pub fn of(lists: &'static Lists) -> Self {
        let each = reference::names().map(|name| (name, OnceLock::new())).collect();
        Self { lists, kept: Arc::new(Kept { all: OnceLock::new(), each }) }
    }

    /// All lists.
    ///
    /// # Errors
    ///
    /// [`ApiError::Unwritable`] when a value cannot be JSON.
    pub fn all(&self) -> Result<SharedContent, ApiError> {
        written_once(&self.kept.all, &AllLists(self.lists))
    }

    /// The list of a name; nothing when no list has it.
    ///
    /// # Errors
    ///
    /// As [`RenderedLists::all`].
    pub fn named(&self, name: &str) -> Result<Option<SharedContent>, ApiError> {
        let Some(kept) = self.kept.each.get(name) else { return Ok(None) };
        OneList::named(name, self.lists).map(|list| written_once(kept, &list)).transpose()
    }
}

fn written_once(kept: &OnceLock<SharedContent>, list: &impl Serialize) -> Result<SharedContent, ApiError> {
    match kept.get() {
        Some(written) => Ok(written.clone()),
        None => {
            let written = SharedContent::of(serde_json::to_vec(list).map_err(ApiError::unwritable)?);
            Ok(kept.get_or_init(|| written).clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_written_once_for_all_who_ask() {
        let lists = RenderedLists::of(Lists::embedded());
        let other = lists.clone();
        let pairs = [(lists.all().unwrap(), other.all().unwrap())].into_iter();
        let named = |name| (lists.named(name).unwrap().unwrap(), other.named(name).unwrap().unwrap());
        for (one, again) in pairs.chain(reference::names().map(named)) {
            assert!(!one.plain().is_empty());
            assert_eq!(one.plain().as_ptr(), again.plain().as_ptr());
            assert_eq!(one.entity_tag(), again.entity_tag());
        }
        assert!(lists.named("shoe_size").unwrap().is_none());
    }
}
