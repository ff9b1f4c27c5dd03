//! What must hold for every version holds for this one.

adapter_kit::laws_hold_for!(api_v2026_0::V2026_0);
