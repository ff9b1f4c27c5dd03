# What scripts/new-version and scripts/remove-version share: the names of a version, and the places that list versions.
# Sourced from the top folder.

LIST=crates/server/src/versions.rs
NAMES=crates/server/src/versions/former_names.rs

fail() {
    echo "${0##*/}: $*" >&2
    exit 1
}

# Sets what a version is called in all its places from its label, such as v2027.0 or v2027.0-rc.
name_version() {
    label=$1
    number='(0|[1-9][0-9]{0,4})'
    [[ $label =~ ^v$number\.$number(-pre|-rc)?$ ]] && [ "${BASH_REMATCH[1]}" -le 65535 ] && [ "${BASH_REMATCH[2]}" -le 65535 ] ||
        fail "$label is not a version label of the form vYEAR.MAJOR, perhaps with -pre or -rc"
    year=${BASH_REMATCH[1]} major=${BASH_REMATCH[2]}
    package=api-$(echo "$label" | tr . -)
    module=$(echo "$package" | tr - _)
    constant=$(echo "${module#api_}" | tr '[:lower:]' '[:upper:]')
    case ${BASH_REMATCH[3]} in
        -pre) stage=PreRelease ;;
        -rc) stage=Candidate ;;
        *) stage=Release ;;
    esac
}

# The label as the list of removed versions says it.
label_literal() {
    echo "Label { year: $year, major: $major, stage: Stage::$stage }"
}

# insert FILE LINE: puts a line that names a version among those of its kind, oldest version first.
insert() {
    awk -v line="$2" '
        function key(text,    part, rank) {
            if (match(text, /api[-_]v[0-9]+[-_][0-9]+([-_](pre|rc))?/))
                text = substr(text, RSTART + 5, RLENGTH - 5)
            else if (match(text, /year: [0-9]+, major: [0-9]+, stage: Stage::[A-Z]/)) {
                text = substr(text, RSTART + 6, RLENGTH - 6)
                sub(/, major: /, "-", text); sub(/, stage: Stage::P/, "-pre", text)
                sub(/, stage: Stage::C/, "-rc", text); sub(/, stage: Stage::R/, "", text)
            } else
                return ""
            split(text, part, /[-_]/)
            rank = part[3] == "pre" ? 0 : part[3] == "rc" ? 1 : 2
            return sprintf("%05d%05d%d", part[1], part[2], rank)
        }
        # What the line says apart from the version: only lines that say the same are of its kind.
        function kind(text) {
            gsub(/[vV]?[0-9]+[-_][0-9]+([-_](pre|rc|PRE|RC))?/, "", text)
            gsub(/year: .*/, "year", text)
            return text
        }
        BEGIN { own = key(line) }
        {
            of_its_kind = key($0) != "" && kind($0) == kind(line)
            if (!done && last && (!of_its_kind || key($0) > own)) { print line; done = 1 }
            else if (!done && of_its_kind && key($0) > own) { print line; done = 1 }
            last = of_its_kind
            print
        }
    ' "$1" > "$1.new"
    mv "$1.new" "$1"
    grep -qF -- "$2" "$1" || fail "$1 has no line beside which this one belongs: $2"
}

# forget FILE LINE: takes the line out.
forget() {
    grep -vxF -- "$2" "$1" > "$1.new" || true
    mv "$1.new" "$1"
}

# change_lists insert|forget: the lines outside its crate that name the version.
change_lists() {
    "$1" Cargo.toml "    \"crates/$package\","
    "$1" Cargo.toml "$package = { path = \"crates/$package\" }"
    "$1" crates/server/Cargo.toml "$package.workspace = true"
    "$1" $LIST "    &$module::$constant,"
}

# Writes everything that follows from the versions: documents and snapshots. A test that compares with a committed file
# says so in its name. The selection of crates is that of `make test`, so that nothing is compiled twice.
generate() {
    cargo update --quiet --offline --workspace
    # Where the fuzzer was never built, its packages may be unknown here; then its next run puts this right.
    cargo update --quiet --offline --workspace --manifest-path fuzz/Cargo.toml 2>/dev/null || true
    INSTA_UPDATE=always cargo test --quiet --locked --workspace --test api -- snapshots committed
}

# Prints what only the version uses of what versions share. Runs before the version is removed. The selection of crates is
# that of `make test`.
only_used() {
    cargo build --quiet --locked --workspace --example only-used-by
    "${CARGO_TARGET_DIR:-target}/debug/examples/only-used-by" "$label"
}

# Adds to each line of `only_used` the file to change, and drops the rules that were in the removed crate.
with_files() {
    local kind name of file
    while read -r kind name of; do
        case $kind in
            endpoint) file=crates/adapter-kit/src/endpoint.rs ;;
            rule)
                file=$(grep -rlF "\"$name\"" crates/domain/src/rules | head -1 || true)
                [ -n "$file" ] || continue
                ;;
            field) file=$(field_file "${of#of }") ;;
            *) file= ;;
        esac
        echo "$kind $name${of:+ $of}${file:+ ($file)}"
    done
}

# The file that declares the fields of a record.
field_file() {
    case $1 in
        withdrawal | deferral | recommendation) echo crates/domain/src/transition.rs ;;
        *) echo "crates/domain/src/$1.rs" ;;
    esac
}
