# The two commands of a newcomer are `make run` and `make test`.

# Built as `make test` builds it, which reuses it.
PROGRAM := $(or $(CARGO_TARGET_DIR),target)/debug/trainee-register
# The target folder of trainee-sync, a separate workspace.
SYNC_TARGET := $(or $(CARGO_TARGET_DIR),target)/trainee-sync
# And of the plain service.
PLAIN_TARGET := $(or $(CARGO_TARGET_DIR),target)/plain

.PHONY: help
help: ## Say what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | expand -t 20

.PHONY: run
run: ## Build, start a sandbox on an embedded database, and print links and a first request
	cargo build --locked --workspace --bin trainee-register
	exec $(PROGRAM) serve --demo

.PHONY: install
install: ## Build the program with optimisations and install it as `trainee-register`
	cargo install --locked --path crates/server --bin trainee-register

.PHONY: test
test: format-check structure ## Check formatting and structure, and run the tests for every change, on SQLite and PostgreSQL; list what was skipped
	scripts/test

.PHONY: test-long
test-long: lint ## Check lints, and run all other tests: exhaustive ones, limits of time, load and crashes, missing tools, adding a version, clients, the kit
	scripts/test-long

.PHONY: test-clients
test-clients: ## Generate clients in three languages from the OpenAPI documents, and let each keep a trainee's record (clients/README.md)
	scripts/test-clients

# Packages of Debian: prometheus docker-compose haproxy postgresql iproute2. Walking through it needs root.
.PHONY: check-deploy
check-deploy: ## Check the deployment kit, raise each alert, and walk through the kit with real processes (deploy/README.md)
	scripts/check-deploy

# The tests of `make test-load`. Those of endurance run on both databases, in a release build.
ENDURANCE := scripts/test-endurance
LOADS := crash faults race rolling following sync upload failover soak crowd
# Kills the server 200 times, and PostgreSQL 20 times; nothing acknowledged may be lost.
LOAD_crash = CRASH_KILLS=200 POSTGRES_STOPS=20 $(ENDURANCE) crash durability
# Fails every statement of every write on PostgreSQL in every way; the rows contradict no answer.
LOAD_faults = TEST_DATABASE=postgres cargo test --workspace --locked --test api -- api::failed_statements::every_fault::
# Sends overlapping requests in 1,000 rounds, and compares the answers with a sequential model.
LOAD_race = HISTORIES=1000 $(ENDURANCE) history
# Restarts two servers over one PostgreSQL 20 times in turn; no request may be lost.
LOAD_rolling = RESTARTS=20 $(ENDURANCE) rolling
# Follows lists and changes while others write, on two servers; no client may miss anything.
LOAD_following = FOLLOWED_TRAINEES=2000 FOLLOWING_RUNS=8 FOLLOWING_PAUSE_MS=250 FOLLOWING_SECONDS=60 FOLLOWING_WRITERS=16 \
	$(ENDURANCE) following
# Pushes and pulls 5,000 trainees with trainee-sync while it and the server are killed 10 times each.
LOAD_sync = SYNC_TRAINEES=5000 SYNC_KILLS=10 $(ENDURANCE) sync::
# Checks and sends 5,000 rows of a file while the server is killed 10 times; no row may be lost or sent twice.
LOAD_upload = UPLOAD_ROWS=5000 UPLOAD_KILLS=5 cargo test --workspace --locked --test program -- uploads::
# Breaks PostgreSQL under two servers in every way that operators meet, and tells each outage in seconds; some of them with
# CASES, a part of their names. Packages of Debian: postgresql patroni etcd-server pgbouncer haproxy iproute2 locales. Needs root.
LOAD_failover = cargo build --workspace --locked && TEST_DATABASE=postgres FAILOVER_SECONDS=5 FAILOVER_TTL=20 FAILOVER_CASES='$(CASES)' \
	cargo test --workspace --locked --test failover -- --nocapture --test-threads 1
# Loads the server for 10 minutes, then abuses it beside ordinary clients; nothing may be lost, slow or growing.
LOAD_soak = SOAK_SECONDS=$${SOAK_SECONDS:-600} $(ENDURANCE) soak
# Holds 900 requests without their end, and 900 unread replies; the server may hold 160 MB and 120 MB.
LOAD_crowd = CROWD=900 $(ENDURANCE) waiting_crowds

.PHONY: test-load
test-load: ## Run a test under load at full length: make test-load TEST=crash (the Makefile describes all)
	@$(if $(LOAD_$(TEST)),,echo 'usage: make test-load TEST=NAME with one of: $(LOADS)' >&2; exit 2)
	$(LOAD_$(TEST))

.PHONY: dist
dist: ## Build the program that is installed, optimised by what it does under load (docs/operations/install.md)
	scripts/dist

.PHONY: release
release: ## Build the archives, the Debian package and the image of a release (RELEASING.md)
	scripts/release

.PHONY: bench
bench: ## Measure the server over loopback, against a limit program, a plain service and the commit before: make bench BENCH="--help"
	scripts/bench $(BENCH)

.PHONY: count-instructions
count-instructions: ## Count what the server executes for a request, which is the same on a busy machine (needs valgrind): make count-instructions COUNT="--help"
	cargo build --release --locked --bin trainee-register
	scripts/count-instructions $(COUNT)

.PHONY: check
check: format-check lint structure ## Check formatting, lints and structure

.PHONY: format-check
format-check:
	cargo fmt --all --check
	rustfmt --check fuzz/fuzz_targets/*.rs clients/rust/build.rs clients/rust/src/*.rs
	cargo fmt --manifest-path clients/trainee-sync/Cargo.toml --check
	cargo fmt --manifest-path bench/plain/Cargo.toml --check

.PHONY: lint
lint:
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --manifest-path clients/trainee-sync/Cargo.toml --target-dir $(SYNC_TARGET) --all-targets --locked -- -D warnings
	cargo clippy --manifest-path bench/plain/Cargo.toml --target-dir $(PLAIN_TARGET) --all-targets --locked -- -D warnings

.PHONY: structure
structure:
	cargo xtask structure
	cargo xtask imports
	cargo xtask check-style
	cargo xtask documents
	scripts/check-spelling

.PHONY: snapshots
snapshots: ## Accept what the tests now write; snapshots of released versions only with ACCEPT_RELEASED=1
	cargo xtask snapshots

.PHONY: new-version
new-version: ## Begin a version: make new-version VERSION=v2027.0 FROM=v2026.1 (docs/adding-a-version.md)
	@cargo xtask new-version $(VERSION) $(FROM)

.PHONY: remove-version
remove-version: ## Remove a version and all that belongs to it: make remove-version VERSION=v2027.0
	@cargo xtask remove-version $(VERSION)

.PHONY: docs
docs: ## Write the documents that follow from the code
	cargo run --locked --quiet --package server --example documents -- docs

.PHONY: fuzz
fuzz: ## Try any bytes on all that reads what comes from outside, 10 minutes each (needs a nightly compiler)
	scripts/fuzz

.PHONY: audit
audit: ## Check licences, sources and forbidden crates, and find unused dependencies (make audit-advisories: known vulnerabilities)
	scripts/audit

.PHONY: audit-advisories
audit-advisories:
	scripts/audit advisories
