# What scripts that run tests share: the report of tests that are skipped because a program is missing. Each is one line in a
# file, written by the script or by a test (crates/test-support/src/tools.rs). Sourced from the top folder.

# Begins the report, unless a script that runs this one has begun it. Then that script prints the summary.
summarises=
if [ -z "${TEST_SKIPPED_FILE:-}" ]; then
    TEST_SKIPPED_FILE=$(mktemp)
    export TEST_SKIPPED_FILE
    summarises=yes
fi

# Prints the summary. Each script calls it as it exits.
summarise_skipped() {
    [ -n "$summarises" ] || return 0
    local count
    count=$(sort -u "$TEST_SKIPPED_FILE" | wc -l)
    echo "skipped: $count"
    sort -u "$TEST_SKIPPED_FILE" | sed 's/^/    /'
    rm -f "$TEST_SKIPPED_FILE"
}

# report_skipped WHAT NEEDS
report_skipped() {
    echo "skipped: $1 needs $2" >&2
    echo "$1 needs $2" >> "$TEST_SKIPPED_FILE"
}

# skip WHAT NEEDS: the same for what continuous integration must not skip.
skip() {
    [ "${CI:-}" != true ] || { echo "$1 needs $2" >&2; exit 1; }
    report_skipped "$1" "$2"
}
