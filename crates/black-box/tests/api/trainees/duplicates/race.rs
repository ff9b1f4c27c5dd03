//! Concurrent registrations of one person.

use std::sync::Barrier;
use std::thread;

use domain::TraineeField as F;
use serde_json::Value;
use versions::SERVED;

use crate::api::support::Register;

const ROUNDS: usize = 20;
const CLIENTS: usize = 50;

#[test]
fn one_of_fifty_identical_requests_succeeds() {
    let register = Register::start();
    let together = Barrier::new(CLIENTS);
    let answers: Vec<Vec<(u16, Value)>> = thread::scope(|scope| {
        let client = || {
            let mut answers = Vec::new();
            for round in 0..ROUNDS {
                let api = register.api(SERVED[round % SERVED.len()]);
                let body = api.example().with(F::last_name, format!("Round {round}"));
                together.wait();
                let response = loop {
                    let response = api.request("POST", "/trainees").json(body.clone()).send();
                    // On a busy machine some may have to be sent again.
                    if response.status != 503 {
                        break response;
                    }
                };
                answers.push((response.status, response.body["data"].clone()));
            }
            answers
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    for round in 0..ROUNDS {
        let of_round: Vec<&(u16, Value)> =
            answers.iter().map(|of_client| &of_client[round]).collect();
        let created: Vec<&Value> = of_round
            .iter()
            .filter(|(status, _)| *status == 201)
            .map(|(_, data)| data)
            .collect();
        assert_eq!(created.len(), 1, "round {round}");
        let refused: Vec<&Value> = of_round
            .iter()
            .filter(|(status, _)| *status == 409)
            .map(|(_, data)| data)
            .collect();
        assert_eq!(refused.len(), CLIENTS - 1, "round {round}");
        for existing in refused {
            assert_eq!(
                *existing,
                Value::from(vec![created[0].clone()]),
                "round {round}"
            );
        }
    }
}
