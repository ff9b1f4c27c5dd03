# Functions that report tests skipped because a program is missing. The script or the test
# (crates/test-support/src/tools.rs) writes one line per skipped test to a file. Source this file from the top folder.

# Begins the report, unless a calling script has begun it. In that case, the calling script prints the summary.
summarises=
if [ -z "${TEST_SKIPPED_FILE:-}" ]; then
    TEST_SKIPPED_FILE=$(mktemp)
    export TEST_SKIPPED_FILE
    summarises=yes
fi

# Prints the summary. Each script calls this function at its exit.
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

# skip WHAT NEEDS: like report_skipped, but fails in CI.
skip() {
    [ "${CI:-}" != true ] || { echo "$1 needs $2" >&2; exit 1; }
    report_skipped "$1" "$2"
}
