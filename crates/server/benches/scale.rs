//! What a register of 1,000,000 trainees costs against one of 10,000: the real server over each, the same requests to one
//! and the other in turn, in one run; `docs/performance.md` holds the ratios.
//!
//! `cargo bench --package server --bench scale -- SMALL BIG`, with the addresses of two databases of the same kind. An
//! empty one is filled first; one that this benchmark filled before is used as it is. Neither is removed.

use std::error::Error;

mod scale {
    pub(super) mod asking;
    pub(super) mod growing;
    pub(super) mod scenarios;
    pub(super) mod serving;
}
use scale::scenarios::Scenario;
use scale::serving::Served;

/// Trainees in the small register.
const SMALL: usize = 10_000;
/// Trainees in the big one.
const BIG: usize = 1_000_000;
/// How often each request is sent to each register.
const TRIES: usize = 301;

fn main() -> Result<(), Box<dyn Error>> {
    let urls: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let [small, big] = urls.as_slice() else {
        println!("scale: not measured; it needs the addresses of two databases, a small and a big one");
        return Ok(());
    };
    let mut small = Served::over(small, SMALL)?;
    let mut big = Served::over(big, BIG)?;
    println!(
        "| Request | {SMALL} p50 | p95 | {BIG} p50 | p95 | Ratio of p50 | of p95 |\n|---|---|---|---|---|---|---|"
    );
    for scenario in Scenario::ALL {
        let mut times = [Vec::with_capacity(TRIES), Vec::with_capacity(TRIES)];
        for _ in 0..TRIES {
            for (register, times) in [&mut small, &mut big].into_iter().zip(&mut times) {
                times.push(scenario.time(register)?);
            }
        }
        let [small, big] = times.map(|mut times| {
            times.sort_unstable();
            [0.5, 0.95].map(|part| percentile(&times, part))
        });
        println!(
            "| {scenario} | {:.2} ms | {:.2} ms | {:.2} ms | {:.2} ms | {:.2} | {:.2} |",
            small[0],
            small[1],
            big[0],
            big[1],
            big[0] / small[0],
            big[1] / small[1],
        );
    }
    Ok(())
}

/// The time within which that part of the sorted times lies, in milliseconds.
fn percentile(sorted: &[std::time::Duration], part: f64) -> f64 {
    let place = (sorted.len() as f64 * part) as usize;
    sorted.get(place).map_or(f64::NAN, |time| time.as_secs_f64() * 1_000.0)
}
