//! What must hold for every version holds for all of them side by side, where each has names that others refuse.

use adapter_kit::date;
use adapter_kit::laws::{self, Sample};
use server::versions;

#[test]
fn the_laws_hold_for_all_versions_side_by_side() {
    let sample = Sample::new(7, 60, date(2026, 10, 5)).unwrap();
    laws::hold(versions::all(), &sample).unwrap();
}
