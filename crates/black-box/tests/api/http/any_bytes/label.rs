//! Labels of versions. One that is understood reads as it was written, and stands where its parts
//! say.

use adapter_kit::{Label, Stage};

/// The longest text about a version that there is not, in characters, but for the labels of those
/// that there are.
const LONGEST_REQUESTED: usize = 80;

pub(crate) fn holds(text: &str) {
    if let Ok(label) = text.parse::<Label>() {
        assert_eq!(label.to_string(), text);
        let release = Label {
            stage: Stage::Release,
            ..label
        };
        assert!(label <= release && release.to_string().len() <= text.len());
        let next = Label {
            major: label.major.saturating_add(1),
            ..label
        };
        assert!(release < next || label.major == u16::MAX);
    }
    match versions::all().named(text) {
        Ok(served) => assert_eq!(served.version.label.to_string(), text.trim()),
        Err(unknown) => {
            assert!(unknown.requested.chars().count() <= LONGEST_REQUESTED);
            assert!(
                versions::all()
                    .iter()
                    .all(|served| served.version.label.to_string() != text.trim())
            );
        }
    }
}
