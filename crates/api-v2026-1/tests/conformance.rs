//! What must hold for every version holds for this one.

conformance::conformance_tests!(api_v2026_1::V2026_1);
