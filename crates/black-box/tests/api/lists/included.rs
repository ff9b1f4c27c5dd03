//! Nested records in lists, where a client asks for them.

use domain::{Kind, TraineeField as F};

use crate::api::support::every_version;

#[test]
fn nested_records_are_included_on_request() {
    every_version(|api| {
        let created = api.create(api.example());
        let shown = api.get(&format!("/trainees/{}", created.id())).is(200);
        let [placements, degrees] = [F::placements, F::degrees]
            .map(|list| api.version.shapes.trainee.name_of(list).unwrap());
        let both = format!("{placements},{degrees}");
        let always = api.version.shapes.nested_in_lists.shows(Kind::Records);
        for (include, lists) in [
            ("", &[][..]),
            (placements, &[placements]),
            (degrees, &[degrees]),
            (both.as_str(), &[placements, degrees]),
            (
                format!("{degrees} , {placements}").as_str(),
                &[placements, degrees],
            ),
        ] {
            let page = api
                .get(&format!(
                    "/trainees?include={}",
                    include.replace(' ', "%20")
                ))
                .is(200);
            let mut expected = shown.data().clone();
            for list in [placements, degrees] {
                if !always && !lists.contains(&list) {
                    expected.as_object_mut().unwrap().shift_remove(list);
                }
            }
            assert_eq!(page.data()[0], expected, "{include}");
        }
    });
}

#[test]
fn next_page_includes_the_same_records() {
    every_version(|api| {
        for name in ["One", "Two", "Three"] {
            api.create(api.example().with(F::last_name, name));
        }
        let degrees = api.version.shapes.trainee.name_of(F::degrees).unwrap();
        let page = api
            .get(&format!("/trainees?per_page=1&include={degrees}"))
            .is(200);
        let next = page
            .header("link")
            .unwrap()
            .split(['<', '>'])
            .rfind(|part| part.contains("cursor="))
            .unwrap()
            .to_owned();
        let next = next
            .strip_prefix(&format!("/api/{}", api.version.label))
            .unwrap();
        let next = api.get(next).is(200);
        assert!(next.data()[0].get(degrees).is_some(), "{:#}", next.body);
    });
}
