//! Runs the conformance tests of all versions for this version.

conformance::conformance_tests!(api_v2026_1::V2026_1);
