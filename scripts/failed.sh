# Functions that let all tests run although some fail, and list the failures at the end. Source this file from the top
# folder.

# Begins the list, unless a calling script has begun it. In that case, the calling script prints the list and fails.
lists_failed=
if [ -z "${TEST_FAILED_FILE:-}" ]; then
    TEST_FAILED_FILE=$(mktemp)
    export TEST_FAILED_FILE
    lists_failed=yes
fi

# collect_failed COMMAND...: runs a command of cargo test. If it fails, notes its failed tests, or the command if it ended
# without running tests, and goes on.
collect_failed() {
    local output status=0 failed
    output=$(mktemp)
    "$@" 2>&1 | tee "$output" || status=${PIPESTATUS[0]}
    if [ "$status" -ne 0 ]; then
        # Each test program ends with the names of its failed tests, between the last "failures:" and the result.
        failed=$(awk '/^failures:$/ { names = ""; next } /^test result: FAILED/ { printf "%s", names; names = "" }
            /^    [^ ]+$/ { names = names $1 "\n" }' "$output")
        printf '%s\n' "${failed:-$*}" | sed "s/\$/ (${TEST_DATABASE:-no database}${TEST_POSTGRES:+, $TEST_POSTGRES})/" >> "$TEST_FAILED_FILE"
    fi
    rm -f "$output"
}

# finish_tests STATUS: prints the failed and the skipped tests, and exits. Each script calls this function at its exit. Fails
# if a test has failed, unless the calling script prints the list.
finish_tests() {
    local status=$1 count
    if [ -n "$lists_failed" ]; then
        count=$(sort -u "$TEST_FAILED_FILE" | wc -l)
        if [ "$count" -gt 0 ]; then
            echo "failed: $count"
            sort -u "$TEST_FAILED_FILE" | sed 's/^/    /'
            [ "$status" -ne 0 ] || status=1
        fi
        rm -f "$TEST_FAILED_FILE"
    fi
    summarise_skipped
    exit "$status"
}
