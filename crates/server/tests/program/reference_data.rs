//! Code lists from files.

use adapter_kit::Wire;
use adapter_kit::reference::AllLists;
use domain::Lists;

use super::support::Workplace;

#[test]
fn exported_reference_data_is_served_unchanged() {
    let place = Workplace::new();
    place.done("reference-data export lists");
    let again = place.run("reference-data export lists");
    again.ends(
        1,
        &[".csv already exists and is not overwritten: choose another folder"],
    );
    let server = place.serve("--reference-data lists");
    let embedded = serde_json::to_value(AllLists(Lists::embedded(), &Wire::COMMON)).unwrap();
    assert_eq!(server.get("/reference-data"), (200, embedded));
    drop(server);

    // A code of the operator's own, in one file beside nothing else.
    std::fs::create_dir(place.path("own")).unwrap();
    let file = "own/training_initiative.csv";
    place.write(file, "code,name\n777,Teach on the Moon\n");
    let server = place.serve("--reference-data own");
    let (_, list) = server.get("/reference-data?field=training_initiative");
    assert_eq!(list["entries"][0]["display_name"], "Teach on the Moon");
    assert_eq!(list["entries"].as_array().unwrap().len(), 1);

    place.write(file, "code,name\n10,Female\n10,Male\n");
    let refused = place.run("serve --listen 127.0.0.1:0 --reference-data own");
    refused.ends(
        1,
        &["training_initiative.csv, line 3: code 10 is there already"],
    );
}

#[test]
fn sandbox_is_filled_from_short_lists() {
    let place = Workplace::new();
    std::fs::create_dir(place.path("lists")).unwrap();
    let reasons = "code,name,trigger,requires_another_reason,requires_safeguarding_concern_reasons\n\
                   left,Left,provider,false,false\nmoved,Moved,trainee,true,false\n";
    place.write("lists/withdrawal_reason.csv", reasons);
    place.write("lists/sex.csv", "code,name\n77,Not asked\n");
    place.done("provider add --ukprn 10000001 --name Ashdown");
    place.done("sandbox seed --provider 10000001 --trainees 200 --reference-data lists");
    place.done("check --reference-data lists");
}
