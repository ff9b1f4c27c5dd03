//! How the rows of an uploaded file find their trainees, and what two uploads of one file do.

use domain::TraineeField as F;

use super::browser::Browser;
use super::upload_rows::{cells, checked, count, file, newest, sent, trainee};
use crate::api::support::Register;

const CHANGED: &str = "Not sent, because changed after the check";

#[test]
fn rows_about_same_trainee_are_refused_and_name_each_other() {
    let register = Register::start();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    let id = api.create(trainee(&api, 1)).id().to_owned();
    let rows = format!(
        "trainee_id,provider_trainee_id,first_names\n\
         ,26-0001,Ines\n\
         ,26-0002,Olga\n\
         {id},26-0009,Lena\n\
         ,26-0002,Rosa\n\
         ,26-0003,Nina\n"
    );
    let (_, page) = checked(&editor, rows.as_bytes());
    let rows = page.text.split("<h2 id=\"rows\">").nth(1).unwrap();
    for (line, times) in [(2, 1), (3, 1), (4, 1), (5, 1), (6, 0)] {
        let words = format!("Line {line} is about the same trainee; remove one of the rows.");
        let shown = rows.matches(&words).count();
        assert_eq!(shown, times, "{words}: {}", page.text);
    }
}

#[test]
fn spaces_of_key_are_compared_as_stored() {
    let register = Register::start();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    api.create(trainee(&api, 1).with(F::provider_trainee_id, "26 0001"));
    let (_, page) = checked(&editor, b"provider_trainee_id,first_names\n26  0001,Ines\n");
    assert_eq!(count(&page, "Will be changed"), 1, "{}", page.text);
}

#[test]
fn trainee_registered_after_check_is_not_registered_twice() {
    let register = Register::start();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    let rows: Vec<_> = (0..60).map(|number| cells(trainee(&api, number))).collect();
    let (path, page) = checked(&editor, &file(&rows));
    assert_eq!(count(&page, "Will be registered"), 60);
    let other = trainee(&api, 99).with(F::provider_trainee_id, "26-0055");
    api.create(other);
    let report = sent(&editor, &path);
    assert_eq!(count(&report, CHANGED), 1, "{}", report.text);
    assert_eq!(count(&report, "Registered"), 59);
    let list = api.get("/trainees?per_page=500").is(200);
    assert_eq!(list.data().as_array().unwrap().len(), 60);
}

#[test]
fn removed_placement_is_added_by_second_upload_of_file() {
    let register = Register::start();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    let created = api.create(trainee(&api, 1).without(F::placements));
    let path = format!("{}/placements", created.path());
    let placements = || api.get(&path).is(200).data().as_array().unwrap().clone();
    let rows = "provider_trainee_id,placements.1.urn\n26-0001,990001\n";
    for _ in 0..2 {
        let (upload, page) = checked(&editor, rows.as_bytes());
        assert_eq!(count(&page, "Will be changed"), 1, "{}", page.text);
        assert_eq!(count(&sent(&editor, &upload), "Changed"), 1);
        let added = placements();
        assert_eq!(added.len(), 1);
        let id = added[0]["placement_id"].as_str().unwrap();
        let removal = api.request("DELETE", &format!("{path}/{id}"));
        removal.send().is(200);
    }
}
