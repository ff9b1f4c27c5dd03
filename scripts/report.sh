# Functions for what a run of tests reports at its end: the seconds of each step, the failed tests, and the tests that were
# skipped because a program is missing. A script that another script calls adds to the report of its caller. Source this file
# from the top folder.

begins_report=
if [ -z "${TEST_REPORT:-}" ]; then
    TEST_REPORT=$(mktemp -d)
    # Tests write to this file as well (crates/test-support/src/tools.rs).
    TEST_SKIPPED_FILE=$TEST_REPORT/skipped
    export TEST_REPORT TEST_SKIPPED_FILE
    touch "$TEST_REPORT"/{steps,failed,skipped}
    begins_report=yes
fi

# processor_seconds PID: the processor time of a process and of all its ended children, in seconds.
processor_seconds() {
    awk -v ticks="$(getconf CLK_TCK)" '{ print int(($14 + $15 + $16 + $17) / ticks) }' "/proc/$1/stat"
}

# step NAME COMMAND...: runs a command and notes its time. Returns its status.
step() {
    # A step in the background runs in a shell of its own.
    local step=$1 shell=$BASHPID began=$SECONDS processor status=0
    shift
    processor=$(processor_seconds "$shell")
    echo "== $step"
    "$@" || status=$?
    printf '%6d s, %6d s of processor time: %s\n' $((SECONDS - began)) $(($(processor_seconds "$shell") - processor)) "$step" >> "$TEST_REPORT/steps"
    return "$status"
}

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
        printf '%s\n' "${failed:-$*}" | sed "s/\$/ (${TEST_DATABASE:-no database}${TEST_POSTGRES:+, $TEST_POSTGRES})/" >> "$TEST_REPORT/failed"
    fi
    rm -f "$output"
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

# list NAME: prints the entries of one kind, each once.
list() {
    echo "$1: $(sort -u "$TEST_REPORT/$1" | wc -l)"
    sort -u "$TEST_REPORT/$1" | sed 's/^/    /'
}

# finish STATUS: prints the report unless a calling script does, and exits. Each script calls this function at its exit. Fails
# if a test has failed.
finish() {
    local status=$1
    if [ -n "$begins_report" ]; then
        cat "$TEST_REPORT/steps"
        if [ -s "$TEST_REPORT/failed" ]; then
            list failed
            [ "$status" -ne 0 ] || status=1
        fi
        list skipped
        rm -rf "$TEST_REPORT"
    fi
    exit "$status"
}
