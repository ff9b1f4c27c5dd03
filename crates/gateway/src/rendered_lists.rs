//! The code lists as JSON for replies.
//!
//! The lists are large and do not change while the program runs. Each list is written at its first
//! request and kept, so that further requests for the list cost little.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use adapter_kit::reference::{self, AllLists, OneList};
use adapter_kit::{ApiVersion, Versions, Wire};
use domain::Lists;
use http_kit::responses::shared_content::SharedContent;
use serde::Serialize;

use crate::error::ApiError;

/// The code lists of a register, as JSON. Cheap to clone; all clones share the written lists.
#[derive(Debug, Clone)]
pub struct RenderedLists {
    lists: &'static Lists,
    /// The written lists, for each form of codes that a version has.
    kept: Arc<Vec<Kept>>,
}

/// The written lists in one form of codes.
#[derive(Debug)]
struct Kept {
    wire: &'static Wire,
    all: OnceLock<SharedContent>,
    each: BTreeMap<&'static str, OnceLock<SharedContent>>,
}

impl RenderedLists {
    /// The lists of a register, as these versions write them.
    #[must_use]
    pub fn new(lists: &'static Lists, versions: &Versions) -> Self {
        let mut kept: Vec<Kept> = Vec::new();
        for wire in versions.iter().map(|served| &served.version.wire) {
            // Versions with the same words for codes share the lists.
            if kept.iter().all(|known| known.wire.words != wire.words) {
                let each = reference::names()
                    .map(|name| (name, OnceLock::new()))
                    .collect();
                kept.push(Kept {
                    wire,
                    all: OnceLock::new(),
                    each,
                });
            }
        }
        Self {
            lists,
            kept: Arc::new(kept),
        }
    }

    /// The written lists in the form of a version; `None` for a version that is not served.
    fn kept(&self, version: &ApiVersion) -> Option<&Kept> {
        self.kept
            .iter()
            .find(|kept| kept.wire.words == version.wire.words)
    }

    /// All lists as one JSON document. For a version that is not served, the lists are written at
    /// each call.
    ///
    /// # Errors
    ///
    /// [`ApiError::Unwritable`] when a value cannot be JSON.
    pub fn all(&self, version: &ApiVersion) -> Result<SharedContent, ApiError> {
        let lists = AllLists(self.lists, &version.wire);
        match self.kept(version) {
            Some(kept) => written_once(&kept.all, &lists),
            None => written(&lists),
        }
    }

    /// The list with this name; `None` if there is no such list.
    ///
    /// # Errors
    ///
    /// As [`RenderedLists::all`].
    pub fn named(
        &self,
        version: &ApiVersion,
        name: &str,
    ) -> Result<Option<SharedContent>, ApiError> {
        let Some(list) = OneList::find(name, self.lists, &version.wire) else {
            return Ok(None);
        };
        match self.kept(version).and_then(|kept| kept.each.get(name)) {
            Some(kept) => written_once(kept, &list).map(Some),
            None => written(&list).map(Some),
        }
    }
}

/// The kept JSON of a list, written at the first call.
fn written_once(
    kept: &OnceLock<SharedContent>,
    list: &impl Serialize,
) -> Result<SharedContent, ApiError> {
    match kept.get() {
        Some(written) => Ok(written.clone()),
        None => {
            let written = written(list)?;
            Ok(kept.get_or_init(|| written).clone())
        }
    }
}

/// The list written as JSON.
fn written(list: &impl Serialize) -> Result<SharedContent, ApiError> {
    Ok(SharedContent::new(
        serde_json::to_vec(list).map_err(ApiError::unwritable)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_written_once_for_all_requests() {
        let lists = RenderedLists::new(Lists::embedded(), versions::all());
        let (other, version) = (lists.clone(), versions::all().newest().unwrap().version);
        let all = |lists: &RenderedLists| lists.all(version).unwrap();
        let named = |lists: &RenderedLists, name| lists.named(version, name).unwrap().unwrap();
        let each = reference::names().map(|name| (named(&lists, name), named(&other, name)));
        for (one, again) in [(all(&lists), all(&other))].into_iter().chain(each) {
            assert!(!one.plain().is_empty());
            assert_eq!(one.plain().as_ptr(), again.plain().as_ptr());
            assert_eq!(one.entity_tag(), again.entity_tag());
        }
        assert!(lists.named(version, "shoe_size").unwrap().is_none());
    }
}
