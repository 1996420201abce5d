# Touchstone's commands; `make` alone lists them. Each installs what it lacks, and says so.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Where `make run` serves, and where it keeps its data.
LISTEN ?= 127.0.0.1:7443
DATA_DIR ?= data

# Whose interoperability tests `make interop` plays; Python's alone is what CI can afford.
PEERS ?= python go cpp

# How many `make bench-size` and `make bench-move` seed.
PROFILES ?= 1000000

# How long `make fuzz` fuzzes each target.
TIME ?= 60s

# How many times `make soak` kills the service, and PostgreSQL, in each of its tests.
KILLS ?= 200

# With Swift's runtime inside, so that the binary runs where no Swift is.
build_release := swift build --configuration release --static-swift-stdlib
touchstone := .build/release/touchstone

# Of Tests/Acceptance, what `make test-store` plays on PostgreSQL: where the store matters.
store_tests := administration audit binding durability log_verification login payment secrets tokens watch

# The tests' Python, with the packages of Tests/Acceptance/requirements.txt.
requirements := Tests/Acceptance/requirements.txt
python_environment := .build-python
python := $(CURDIR)/$(python_environment)/bin/python

.PHONY: help
help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: release ## Serve gRPC on LISTEN (127.0.0.1:7443), data in DATA_DIR (./data)
	@exec $(touchstone) serve --listen $(LISTEN) --data-dir $(DATA_DIR)

.PHONY: demo
demo: release ## Watch a simulated phone bind, log in, pay, lock itself out and recover
	@$(touchstone) demo

# Two at a time of those that start services, and mostly wait for them; those that also measure time, alone.
.PHONY: test
test: test-swift ## Run all tests
	@$(MAKE) --jobs 2 --output-sync=line test-acceptance test-store
	@$(MAKE) test-faults

.PHONY: test-swift
test-swift: deps $(python_environment)/installed ## Run the unit tests alone
	swift build --build-tests
	TOUCHSTONE_PYTHON=$(python) swift test --skip-build --parallel --disable-xctest

.PHONY: test-acceptance
test-acceptance: release $(python_environment)/installed ## Run the tests by stock gRPC clients alone
	TOUCHSTONE_BINARY=$(CURDIR)/$(touchstone) PYTHONDONTWRITEBYTECODE=1 $(python) -m pytest Tests/Acceptance

.PHONY: test-store
test-store: release $(python_environment)/installed ## Run those of them that the store matters to on PostgreSQL
	TOUCHSTONE_BINARY=$(CURDIR)/$(touchstone) PYTHONDONTWRITEBYTECODE=1 TOUCHSTONE_TEST_STORE=postgresql \
	  $(python) -m pytest $(store_tests:%=Tests/Acceptance/test_%.py)

.PHONY: test-faults
test-faults: release $(python_environment)/installed ## Run the tests of kills, failing disks, crashes and networks alone
	TOUCHSTONE_BINARY=$(CURDIR)/$(touchstone) PYTHONDONTWRITEBYTECODE=1 $(python) -m pytest Tests/Faults

.PHONY: soak
soak: release $(python_environment)/installed ## Kill the service KILLS (200) times on each store, and PostgreSQL as often
	TOUCHSTONE_BINARY=$(CURDIR)/$(touchstone) PYTHONDONTWRITEBYTECODE=1 FAULTS_KILLS=$(KILLS) \
	  $(python) -m pytest Tests/Faults

# Both at once: the tests with one mostly wait while the other compiles.
.PHONY: test-sanitized
test-sanitized: ## Run the unit tests with AddressSanitizer, and again with ThreadSanitizer
	@$(MAKE) --jobs 2 --output-sync=target test-address test-thread

.PHONY: test-address
test-address: deps $(python_environment)/installed ## Run them with AddressSanitizer alone
	TOUCHSTONE_PYTHON=$(python) Tests/Support/Sanitizers/run address

.PHONY: test-thread
test-thread: deps $(python_environment)/installed ## Run them with ThreadSanitizer alone
	TOUCHSTONE_PYTHON=$(python) Tests/Support/Sanitizers/run thread

.PHONY: fuzz
fuzz: deps $(python_environment)/installed ## Fuzz each target of Tests/Fuzz for TIME (60s), two at a time
	TOUCHSTONE_PYTHON=$(python) Tests/Fuzz/run $(TIME)

.PHONY: bench
bench: release ## Measure the service under load on this machine; DURATION=10s (or longer than 1s) for each load
	@deploy/install-packages test
	$(build_release) --product touchstone-load
	@failed=; for part in measure flood idle; do python3 Tests/Benchmarks/$$part.py || failed="$$failed $$part.py"; done; \
	  test -z "$$failed" || { echo "not as promised:$$failed"; exit 1; }

.PHONY: bench-store
bench-store: release ## Measure durable logins on SQLite and on a PostgreSQL with fsync; DURATION=10s for each load
	@deploy/install-packages test
	$(build_release) --product touchstone-load
	@python3 Tests/Benchmarks/store.py

.PHONY: bench-size
bench-size: release ## Measure a store of PROFILES=1000000, two bindings each: size, start, memory, latency, also while it is swept
	@deploy/install-packages test
	$(build_release) --product touchstone-load
	@PROFILES=$(PROFILES) python3 Tests/Benchmarks/size.py

.PHONY: bench-move
bench-move: release ## Measure a move of PROFILES=1000000, two bindings and four events each, from SQLite to PostgreSQL
	@deploy/install-packages test
	$(build_release) --product touchstone-load
	@PROFILES=$(PROFILES) python3 Tests/Benchmarks/move.py

.PHONY: bench-rpc
bench-rpc: deps $(python_environment)/installed ## Measure a unary call's CPU beside grpc's C++ and Go; CALLS=200000 in each round
	@deploy/install-packages bench-rpc
	$(build_release) --product rpc-echo
	@$(python) Tests/Benchmarks/bench_rpc.py

.PHONY: bench-overload
bench-overload: deps ## Measure what calls beyond its capacity do to a server; SECONDS=5 for each load
	$(build_release) --product rpc-overload
	@.build/release/rpc-overload

.PHONY: bench-abuse
bench-abuse: release $(python_environment)/installed ## Measure what a peer that abuses HTTP/2 does to everybody else's calls
	$(build_release) --product touchstone-load
	@$(python) Tests/Benchmarks/abuse.py

.PHONY: bench-guesses
bench-guesses: release $(python_environment)/installed ## Measure what guesses in one application do to another one's passcodes
	@$(python) Tests/Benchmarks/guesses.py

.PHONY: bench-pool
bench-pool: deps ## Measure memory through CALLS=1000000 calls of a channel, and what it adds to a call
	$(build_release) --product rpc-pool
	@.build/release/rpc-pool

.PHONY: interop
interop: deps ## Play grpc's own interoperability tests with PEERS ("python go cpp"), both ways
	@deploy/install-packages test interop $(addprefix interop-,$(filter-out python,$(PEERS)))
	swift build --product interop-server
	swift build --product interop-client
	@PEERS="$(PEERS)" python3 Tests/Interop/interop.py

.PHONY: release
release: deps ## Build the service for use: .build/release/touchstone
	$(build_release) --product touchstone

.PHONY: protos
protos: ## Regenerate the protobuf-c code from Protos
	@deploy/install-packages protos
	Protos/generate.sh

.PHONY: format
format: ## Format the Swift sources
	swift format format --in-place --recursive Package.swift Sources Tests

.PHONY: lint
lint: ## Check the format of the Swift sources
	swift format lint --strict --recursive Package.swift Sources Tests

.PHONY: lint-scripts
lint-scripts: $(python_environment)/linters ## Check the shell scripts and the Dockerfile
	$(python_environment)/bin/shellcheck --severity warning .ci/run .ci/check-dependencies deploy/install-packages Protos/generate.sh \
	  Tests/Fuzz/run Tests/Support/Sanitizers/build Tests/Support/Sanitizers/run
	$(python_environment)/bin/hadolint deploy/Dockerfile

.PHONY: deps
deps: ## Install the system packages that a build lacks
	@deploy/install-packages build

$(python_environment)/installed: $(requirements)
	@deploy/install-packages test
	@echo "Installing the tests' Python packages into $(python_environment)"
	@rm -rf $(python_environment)
	@python3 -m venv $(python_environment)
	@$(python) -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

# Apart from the tests' packages, which are for every processor; not all of these are.
$(python_environment)/linters: .ci/requirements.txt $(python_environment)/installed
	@$(python) -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

.PHONY: clean
clean: ## Remove what was built; data stays
	rm -rf .build .build-interop .build-sanitized $(python_environment)
