//! The clock of the machine jumps, with requests during the jump; what becomes of later ones.

use std::thread;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use domain::TraineeField as F;

use super::support::register::BEGINNING;
use super::support::versions::newest;
use super::support::{Body, Register, Shown};

/// Requires that a date is that of the clock, or up to a second ahead of it.
#[track_caller]
fn require_near(shown: &Shown, now: DateTime<Utc>) {
    let date: DateTime<Utc> = shown
        .value(F::updated_at)
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let lead = date - now;
    assert!(
        TimeDelta::zero() <= lead && lead <= TimeDelta::seconds(1),
        "{date} at {now}"
    );
}

#[test]
fn clock_jump_leaves_later_writes_unaffected() {
    let beginning: DateTime<Utc> = BEGINNING.parse().unwrap();
    let lengths = [
        TimeDelta::hours(2),
        TimeDelta::days(3),
        TimeDelta::days(365),
    ];
    for (jump, writes) in lengths
        .into_iter()
        .flat_map(|one| [one, -one])
        .flat_map(|one| [(one, false), (one, true)])
    {
        let register = Register::start();
        let api = register.api(newest());
        let set = |moment: DateTime<Utc>| register.clock.set(&moment.to_rfc3339());
        let name = |name: &str| Body::new(newest()).with(F::first_names, name);
        let known = api.create(api.example());

        set(beginning + jump);
        let is_valid = jump < TimeDelta::days(180);
        assert_eq!(
            api.get(&known.path()).status,
            if is_valid { 200 } else { 401 }
        );
        // Neither of these changes anything.
        let refused = api.send(
            "PATCH",
            &known.path(),
            Body::new(newest()).with(F::email, "none"),
        );
        assert_eq!(
            refused.status,
            if is_valid { 422 } else { 401 },
            "{jump}: {:#}",
            refused.body
        );
        api.request("PATCH", &known.path())
            .header("Prefer", "validate-only")
            .json(name("Tried"))
            .send();
        if writes {
            let status = api.send("PATCH", &known.path(), name("During")).status;
            assert_eq!(status, if is_valid { 200 } else { 401 }, "{jump}");
        }

        let now = beginning + TimeDelta::seconds(1);
        set(now);
        let later = api.create(
            api.example()
                .with(F::last_name, "Later")
                .with(F::email, "later@example.com"),
        );
        require_near(&later, now);
        let before = api.read(known.id());
        let after = api.update(known.id(), name("After"));
        let date = |shown: &Shown| {
            shown
                .value(F::updated_at)
                .as_str()
                .unwrap()
                .parse::<DateTime<Utc>>()
                .unwrap()
        };
        // A record that was changed under a clock far ahead follows the present clock too.
        let was_ahead = writes && is_valid && jump > TimeDelta::zero();
        assert_eq!(date(&after) > date(&before), !was_ahead, "{jump}");
        require_near(&after, now);
        require_near(&api.update(later.id(), name("Again")), now);
        // A client that follows the changes is told of all of them, on PostgreSQL once no other
        // test's transaction is older.
        let deadline = Instant::now() + Duration::from_secs(20);
        while api.get("/changes").is(200).data().as_array().unwrap().len() < 2 {
            assert!(Instant::now() < deadline, "{jump}: changes are missing");
            thread::sleep(Duration::from_millis(20));
        }
    }
}
