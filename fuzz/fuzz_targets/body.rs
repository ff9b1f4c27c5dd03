//! Bodies of requests in one version: the one at the place `FUZZ_VERSION` of the list, counted
//! from 0.

#![no_main]

use std::sync::LazyLock;

use adapter_kit::date;
use conformance::{Bodies, Sample};
use libfuzzer_sys::fuzz_target;

static SAMPLE: LazyLock<Sample> =
    LazyLock::new(|| Bodies::sample(date(2026, 10, 5)).expect("generated trainees can be held"));

static BODIES: LazyLock<Bodies<'static>> = LazyLock::new(|| {
    let place = std::env::var("FUZZ_VERSION").expect("FUZZ_VERSION is set");
    let place: usize = place.parse().expect("FUZZ_VERSION is a number");
    let served = versions::all()
        .iter()
        .nth(place)
        .expect("there is such a version");
    Bodies::new(versions::all(), served, &SAMPLE)
});

fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = BODIES.check(bytes) {
        panic!("{broken}");
    }
});
