-- What is true of the register as a whole: one row for each fact, by its name.
CREATE TABLE register_settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    -- The environment has no row in a register that was made before it was recorded; the program adds the row.
    CHECK (name <> 'environment' OR value IN ('sandbox', 'production'))
);
