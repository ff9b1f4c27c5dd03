//! A register full of invented trainees: everything that can be changed can be sent back whole.

use domain::{State, TraineeField as F};
use versions::SERVED;

use crate::api::support::{Register, Shown};

/// Enough to meet every route in every state.
const TRAINEES: usize = 150;

#[test]
fn seeded_trainee_sent_back_changes_nothing_in_every_version() {
    let register = Register::start();
    register.sow(TRAINEES);
    for version in SERVED {
        let api = register.api(version);
        let cycles = 2020..=2028;
        let mut sent = 0;
        for (cycle, page) in
            cycles.flat_map(|cycle| (1..=TRAINEES / 500 + 1).map(move |page| (cycle, page)))
        {
            let list = api.get(&format!(
                "/trainees?academic_cycle={cycle}&per_page=500&page={page}&sort_order=asc"
            ));
            if list.status == 404 {
                continue;
            }
            for record in list.is(200).data().as_array().unwrap() {
                let id = record["trainee_id"].as_str().unwrap();
                let shown = api.read(id);
                let trainee = domain::Trainee {
                    state: state(&shown),
                    ..domain::Trainee::default()
                };
                if domain::commands::check_gates(&trainee, domain::Action::Update, &version.rules)
                    .is_err()
                {
                    continue;
                }
                let reply = api.send("PUT", &shown.path(), shown.body());
                assert_eq!(
                    reply.status, 200,
                    "{} {:#} {:#}",
                    version.label, shown.data, reply.body
                );
                assert_eq!(
                    reply.warnings(),
                    Vec::<&str>::new(),
                    "{} {:#}",
                    version.label,
                    shown.data
                );
                assert_eq!(*reply.data(), shown.data);
                sent += 1;
            }
        }
        assert!(
            sent >= TRAINEES / 2,
            "{} records in {}",
            sent,
            version.label
        );
    }
}

fn state(shown: &Shown) -> Option<State> {
    shown.value(F::state).as_str().unwrap().parse().ok()
}
