# Touchstone's commands; `make` alone lists them. Each installs what it lacks, and says so.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Where `make run` serves, and where it keeps its data.
LISTEN ?= 127.0.0.1:7443
HTTP ?=
DATA_DIR ?= data

# Whose interoperability tests `make interop` plays; Python's alone is what CI can afford.
PEERS ?= python go cpp

# Whether `make image` takes the binary that is compiled already.
PREBUILT ?=

# How long `make fuzz` fuzzes each target.
TIME ?= 60s

# The scripts of Tests/Benchmarks that `make bench` runs; by default all that have a budget.
WHAT ?=

# Which unit tests `make test-swift` runs, by a regular expression; by default all.
TESTS ?=

# How many batches `make test-accelerated` compares for each seed, and for how many seeds.
BATCHES ?= 10000
SEEDS ?= 1

# How many proofs `make test-attestation-peers` changes for each seed.
CHANGES ?= 10000

# How many times `make soak` kills the service, and PostgreSQL, in each of its tests; and how often it stops the service on each store.
KILLS ?= 200
STOPS ?= 2000

# How often each host fails in `make test-ha`.
ROUNDS ?= 1

# Not empty if tests and debug programs are built: what needs them then does not build them, nor wait for another build's lock.
BUILT ?=

# With the flags of `swift run` and of the tests, so that one build serves all three.
build_debug := $(if $(BUILT),@:,swift build)
debug := .build/debug/touchstone

# For image, package and benchmarks. With Swift's runtime inside, so that the binary runs where no Swift is. Optimised across modules, which specialises
# generic code of the packages (a login takes 7 % fewer instructions). Swift's linker arguments export all symbols, which keeps code
# that nothing calls: without that the binary is a tenth smaller. deploy/Dockerfile builds the same.
build_release := swift build --configuration release --static-swift-stdlib -Xswiftc -cross-module-optimization \
	-Xlinker --no-export-dynamic
touchstone := .build/release/touchstone

# `make release ACCELERATED=1` links Intel's crypto_mb, for CPUs with AVX-512 IFMA (docs/PERFORMANCE.md). So does the image.
crypto_mb := .build-accelerated
crypto_mb_path := $(CURDIR)/$(crypto_mb)$(if $(PKG_CONFIG_PATH),:$(PKG_CONFIG_PATH))
ifdef ACCELERATED
export TOUCHSTONE_ACCELERATED := 1
export PKG_CONFIG_PATH := $(crypto_mb_path)
debug release: $(crypto_mb)/crypto_mb.pc
endif

# Of Tests/Acceptance, what `make test-store` plays on PostgreSQL: where the store matters.
store_tests := administration audit binding durability log_verification login passkeys payment secrets strangers tokens watch

# The tests' Python, with the packages of Tests/Acceptance/requirements.txt.
requirements := Tests/Acceptance/requirements.txt

# Apart from them, because these verifiers want versions of their own.
attestation_peers := .build-attestation

# So do those of manifests.
manifest_checkers := .build-manifests
python_environment := .build-python
python_environment_bin := $(CURDIR)/$(python_environment)/bin
python := $(python_environment_bin)/python

# The output of `make clients`, and the Go packages that clients/go needs.
clients := .build-clients
go_packages := $(clients)/go/fetched

# The output of `make kits`.
kits := .build-kits

# The shop's Python, and the kit that its page loads. Its account that `make example-phone` uses.
example := .build-example
example_kit := $(example)/kit/dist/touchstone.min.js
PORT ?= 5000
EMAIL ?= ada@example.org
PASSWORD ?= correct horse

# Tests that start services mostly wait for them, so several run at a time: so many follow.
pytest_services := $(python) -m pytest --dist worksteal --numprocesses

.PHONY: help
help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: debug ## Serve gRPC on LISTEN (127.0.0.1:7443) and HTTP on HTTP (nowhere), data in DATA_DIR (./data)
	@exec env --unset=TOUCHSTONE_ACCELERATED $(debug) serve --listen $(LISTEN) $(HTTP:%=--http %) --data-dir $(DATA_DIR)

.PHONY: demo
demo: debug ## Watch a simulated phone bind, log in, pay, lock itself out and recover
	@env --unset=TOUCHSTONE_ACCELERATED $(debug) demo

# System packages come first, because apt-get does not run twice at a time. Unit tests are compiled and run beside tests
# of services, which mostly wait. The faults come last, alone: they also measure time.
.PHONY: test
test: ## Run all tests
	@deploy/install-packages build test
	@echo "The suites run at one time: each one's output follows when it has ended"
	@$(MAKE) --jobs 4 --output-sync=line test-generator test-acceptance test-store test-swift
	@$(MAKE) BUILT=1 test-faults

.PHONY: check
check: ## Check format, structure, rules and codec: in a minute and a half, if little must be built
	@$(MAKE) --jobs 2 --output-sync=line lint build-tests
	@$(MAKE) BUILT=1 TESTS='^(StructureTests|TouchstonePolicyTests|TouchstoneCodecTests)\.' test-swift

# Sixteen tests at a time keep the cores busy. With all at once, every await waits for hundreds of other tests, beyond time limits.
# `swift test` would hold SwiftPM's lock all the while.
.PHONY: test-swift
test-swift: build-tests $(python_environment)/installed ## Run the unit tests alone, or those of them that match TESTS
	TOUCHSTONE_PYTHON=$(python) SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=16 \
	  Tests/Support/failures-last .build/debug/touchstonePackageTests.xctest --testing-library swift-testing $(if $(TESTS),--filter '$(TESTS)')

.PHONY: build-tests
build-tests: debug-load
	$(build_debug) --build-tests

.PHONY: test-generator
test-generator: $(python_environment)/installed ## Run the tests of Protos/generate_swift.py alone
	PYTHONDONTWRITEBYTECODE=1 $(python) -m pytest -p no:cacheprovider Tests/ProtoGenerator

.PHONY: test-acceptance
test-acceptance: debug-load $(python_environment)/installed ## Run the tests by stock gRPC clients alone
	TOUCHSTONE_BINARY=$(CURDIR)/$(debug) PYTHONDONTWRITEBYTECODE=1 $(pytest_services) 4 Tests/Acceptance

# `make test` leaves it out, because it needs Go, Java and Node.
.PHONY: test-clients
test-clients: debug clients $(go_packages) ## Log in with the clients for Python, Go, Java and Node, as other programs install them
	@deploy/install-packages go node
	TOUCHSTONE_BINARY=$(CURDIR)/$(debug) PYTHONDONTWRITEBYTECODE=1 $(python) -m pytest Tests/ClientPackages

# Each kit has a runner of its own for the vectors in Tests/Vectors/kit, which a script has written.
.PHONY: test-kits
test-kits: build-tests kits clients $(python_environment)/installed ## Decide the vectors by each kit, and play the kits as apps install them
	Tests/Vectors/kit/generate.py --check
	.build/debug/touchstonePackageTests.xctest --testing-library swift-testing --filter '^TouchstoneKitTests\.'
	kits/ios/Tests/compile-as-swift-5 .build/debug
	TOUCHSTONE_BINARY=$(CURDIR)/$(debug) PYTHONDONTWRITEBYTECODE=1 $(python) -m pytest Tests/Kits

.PHONY: example
example: debug $(example)/installed $(example_kit) ## Start Touchstone and a whole shop on PORT (5000), and print its address
	@exec env --unset=TOUCHSTONE_ACCELERATED $(example)/bin/python examples/shop/start $(debug) $(example_kit) $(PORT)

.PHONY: shop-phone
shop-phone: deps
	$(build_debug) --product shop-phone

.PHONY: example-phone
example-phone: shop-phone ## Let a simulated iPhone with the shop's app use it, as EMAIL with PASSWORD, who have signed up in the page
	@.build/debug/shop-phone http://localhost:$(PORT) '$(EMAIL)' '$(PASSWORD)'

.PHONY: test-example
test-example: debug shop-phone $(example)/installed $(example_kit) ## Play the shop in headless Chromium, and by the phone
	SHOP_TOUCHSTONE=$(CURDIR)/$(debug) SHOP_KIT=$(CURDIR)/$(example_kit) SHOP_PHONE=$(CURDIR)/.build/debug/shop-phone \
	  PYTHONDONTWRITEBYTECODE=1 $(example)/bin/python -m pytest -p no:cacheprovider examples/shop/tests

.PHONY: test-store
test-store: debug-load $(python_environment)/installed ## Run those of them that the store matters to on PostgreSQL
	TOUCHSTONE_BINARY=$(CURDIR)/$(debug) PYTHONDONTWRITEBYTECODE=1 TOUCHSTONE_TEST_STORE=postgresql \
	  $(pytest_services) 2 $(store_tests:%=Tests/Acceptance/test_%.py)

.PHONY: test-faults
test-faults: debug-load $(python_environment)/installed ## Run the tests of kills, failing disks, crashes and networks alone
	TOUCHSTONE_BINARY=$(CURDIR)/$(debug) PYTHONDONTWRITEBYTECODE=1 $(pytest_services) 6 Tests/Faults

.PHONY: soak
soak: release $(python_environment)/installed ## Kill the service KILLS (200) times on each store, PostgreSQL as often, and stop it STOPS (2000) times
	TOUCHSTONE_BINARY=$(CURDIR)/$(touchstone) PYTHONDONTWRITEBYTECODE=1 FAULTS_KILLS=$(KILLS) FAULTS_STOPS=$(STOPS) \
	  $(pytest_services) 4 Tests/Faults

# Not in CI: it needs root, namespaces and ten minutes, most of which are waiting for failovers. `contained` ends all that it starts.
.PHONY: test-ha
test-ha: release $(python_environment)/installed ## Let hosts of a PostgreSQL cluster fail under load, each fault ROUNDS=1 times (root, Debian)
	@deploy/install-packages high-availability
	TOUCHSTONE_BINARY=$(CURDIR)/$(touchstone) PYTHONDONTWRITEBYTECODE=1 HA_ROUNDS=$(ROUNDS) \
	  Tests/HighAvailability/contained $(python) -m pytest -rs Tests/HighAvailability

# Not in CI: a seed takes a core about a minute. It is where other people's verifiers show what ours misses.
.PHONY: test-attestation-peers
test-attestation-peers: release $(attestation_peers)/installed ## Judge changed proofs beside PyPI's verifiers: SEEDS=1 times CHANGES=10000
	PYTHONDONTWRITEBYTECODE=1 $(attestation_peers)/bin/python Tests/Attestation/differential.py $(touchstone) $(SEEDS) $(CHANGES)

# Not in CI: without AVX-512 IFMA each seed takes a core a quarter to half an hour.
.PHONY: test-accelerated
test-accelerated: export TOUCHSTONE_ACCELERATED := 1
test-accelerated: export PKG_CONFIG_PATH := $(crypto_mb_path)
test-accelerated: deps $(crypto_mb)/crypto_mb.pc ## Compare crypto_mb's answers with swift-crypto's: SEEDS=1 times BATCHES=10000, emulated if need be
	$(build_release) --product accelerated-check
	@python3 Tests/Accelerated/accelerated.py .build/release/accelerated-check $(crypto_mb)/emulated $(BATCHES) $(SEEDS)

$(crypto_mb)/crypto_mb.pc: deploy/fetch-crypto-mb deploy/crypto-mb.txt
	@deploy/install-packages crypto-mb
	@echo "Fetching Intel's crypto_mb into $(crypto_mb)"
	@rm -rf $(crypto_mb)
	@deploy/fetch-crypto-mb $(crypto_mb)

# Both at once: the tests with one mostly wait while the other compiles.
.PHONY: test-sanitized
test-sanitized: ## Run the unit tests with AddressSanitizer, and again with ThreadSanitizer
	@$(MAKE) --jobs 2 --output-sync=target test-address test-thread

.PHONY: test-address
test-address: deps $(python_environment)/installed ## Run them with AddressSanitizer alone
	LONGEST=3h TOUCHSTONE_PYTHON=$(python) Tests/Support/failures-last Tests/Support/Sanitizers/run address

.PHONY: test-thread
test-thread: deps $(python_environment)/installed ## Run them with ThreadSanitizer alone
	LONGEST=3h TOUCHSTONE_PYTHON=$(python) Tests/Support/failures-last Tests/Support/Sanitizers/run thread

.PHONY: fuzz
fuzz: deps $(python_environment)/installed ## Fuzz each target of Tests/Fuzz for TIME (60s), two at a time
	TOUCHSTONE_PYTHON=$(python) Tests/Fuzz/run $(TIME)

# docs/PERFORMANCE.md lists what there is. Each script reads settings of its own, such as MINUTES=5.
.PHONY: bench
bench: load-client $(python_environment)/installed ## Measure all that has a budget (half an hour), or WHAT="measure idle"; DURATION=10s for each load
	@WHAT="$(WHAT)" $(python) Tests/Benchmarks/bench.py

.PHONY: interop
interop: deps ## Play grpc's own interoperability tests with PEERS ("python go cpp"), both ways
	@deploy/install-packages test interop $(addprefix interop-,$(filter-out python,$(PEERS)))
	$(build_debug) --product interop-server
	$(build_debug) --product interop-client
	@PEERS="$(PEERS)" python3 Tests/Interop/interop.py

# Builds nothing that `make run` and `make demo` do not run.
.PHONY: debug
debug: deps ## Build the service for tests, as `swift run` does: .build/debug/touchstone
	$(build_debug) --product touchstone

# One build after the other, here and below, since SwiftPM runs one at a time.
.PHONY: debug-load
debug-load: debug
	$(build_debug) --product touchstone-load

.PHONY: release
release: deps ## Build the service for use, with crypto_mb if ACCELERATED=1: .build/release/touchstone
	$(build_release) --product touchstone

.PHONY: load-client
load-client: release ## Build the load client, too: .build/release/touchstone-load
	$(build_release) --product touchstone-load

# Programs that only benchmarks run.
release-rpc-%: deps
	$(build_release) --product rpc-$*

# Root runs it, as it does the tests of image and package below. The Dockerfile compiles, unless PREBUILT=1 says to take the release that is
# compiled here, which is only for Debian 12.
.PHONY: image
image: $(if $(filter 1,$(PREBUILT)),release) ## Build the container image localhost/touchstone and its base images; PREBUILT=1 takes the binary of `make release`
	@deploy/image/build $(if $(filter 1,$(PREBUILT)),$(touchstone))

# In a network namespace of their own, where the image's port is free and no other program reaches it.
.PHONY: verify-image
verify-image: $(python_environment)/installed $(manifest_checkers)/installed ## Try the image: logins, kills, bad input
	@deploy/install-packages image
	$(manifest_checkers)/bin/python Tests/Image/check_sbom.py .build-image/sbom.cdx.json
	$(manifest_checkers)/bin/python Tests/Manifests/rendered.py .build-image
	PYTHONDONTWRITEBYTECODE=1 unshare --net sh -c 'ip link set lo up && exec $(python) -m pytest Tests/Image'

.PHONY: deb
deb: release ## Build the package for Debian: .build-deb/touchstone_VERSION_ARCHITECTURE.deb
	@deploy/debian/build $(touchstone) .build-deb

.PHONY: man
man: release ## Write touchstone(1) from the program's help
	$(touchstone) --experimental-dump-help | deploy/debian/make_man_page.py >deploy/debian/touchstone.1

.PHONY: verify-deb
verify-deb: deb clients ## Install it on a clean Debian, and log in there; with what `make test-operator` tests
	@deploy/install-packages verify-deb alerts
	LOGIN_SECONDS=$(or $(LOGIN_SECONDS),300) PYTHONDONTWRITEBYTECODE=1 $(python) -m pytest Tests/Package

# Its minute is an operator's, on a machine that does nothing else.
.PHONY: test-operator
test-operator: deb clients ## Time a new operator: package, first login, its metrics and trace, an alert and its section of the runbook
	@deploy/install-packages verify-deb alerts
	PYTHONDONTWRITEBYTECODE=1 $(python) -m pytest Tests/Package/test_operator.py

# docs/RELEASE.md. The image is built for this target's time, so that the same sources make the same image.
.PHONY: release-files
release-files: export SOURCE_DATE_EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct))
release-files: load-client deb image clients ## Build a release in .build-release; RELEASE_KEY=FILE signs it, RELEASE_PUBLIC_KEY=FILE verifies that
	@deploy/install-packages release kits
	@deploy/release/build .build-release .build/release .build-deb $(clients) "localhost/touchstone:$$(cat VERSION)"
	@deploy/release/verify .build-release $(RELEASE_PUBLIC_KEY)

# It builds no image, because that takes minutes.
.PHONY: test-release
test-release: load-client clients ## Build a release of the present binaries twice, compare, sign and verify
	@deploy/install-packages deb release kits
	BINARIES=$(CURDIR)/.build/release TOUCHSTONE_BINARY=$(CURDIR)/$(touchstone) CLIENTS=$(CURDIR)/$(clients) PYTHONDONTWRITEBYTECODE=1 $(python) -m pytest Tests/Release

# By the toolchain alone: no plugin, and no dependency of the package.
.PHONY: docs
docs: deps ## Build the documentation of the Swift products: .build-docs
	@deploy/docc/build .build-docs

.PHONY: check-manifests
check-manifests: $(manifest_checkers)/installed ## Check what Kubernetes and compose read
	PYTHONDONTWRITEBYTECODE=1 $(manifest_checkers)/bin/python -m pytest Tests/Manifests

.PHONY: check-alerts
check-alerts: $(manifest_checkers)/installed ## Test each alert rule by promtool; check dashboard and runbook against rules and metrics
	PYTHONDONTWRITEBYTECODE=1 $(manifest_checkers)/bin/python -m pytest Tests/Alerts/Rules

# Debian's programs on free ports of the loopback network, and rules whose times are shorter.
.PHONY: test-alerts
test-alerts: release $(python_environment)/installed ## Let Prometheus watch the service, cause faults, and await the alerts
	@deploy/install-packages alerts
	TOUCHSTONE_BINARY=$(CURDIR)/$(touchstone) PYTHONDONTWRITEBYTECODE=1 $(python) -m pytest Tests/Alerts/Running

.PHONY: protos
protos: $(python_environment)/installed $(go_packages) ## Regenerate from Protos: C, Swift and Go code, docs/API.md
	@deploy/install-packages protos
	PATH="$(CURDIR)/$(clients)/go/usr/bin:$$PATH" PYTHON=$(python) Protos/generate.sh

# ACCEPT=1 is for a release: what Protos has then is what later versions are compared with.
.PHONY: check-protos
check-protos: $(python_environment)/installed ## Check that the API breaks no client of its last version; ACCEPT=1 makes it that version
	cd Protos && $(python_environment_bin)/buf lint
ifdef ACCEPT
	cd Protos && $(python_environment_bin)/buf build --exclude-source-info --path touchstone --output released.binpb
else
	cd Protos && $(python_environment_bin)/buf breaking --against released.binpb
endif

.PHONY: clients
clients: $(python_environment)/installed ## Build Python's wheel, the archives of the Go module and Node's package, and Java's jar: .build-clients
	@deploy/install-packages java
	@clients/build $(python) $(clients)

.PHONY: kits
kits: ## Build what apps install of the kits: .build-kits
	@deploy/install-packages kits
	@kits/web/build $(kits)
	@kits/android/build $(kits)

.PHONY: format
format: ## Format the Swift sources
	swift format format --in-place --recursive Package.swift Sources Tests kits/ios examples

.PHONY: lint
lint: ## Check the format of the Swift sources
	swift format lint --strict --recursive Package.swift Sources Tests kits/ios examples

.PHONY: lint-scripts
lint-scripts: $(python_environment)/linters ## Check the shell scripts and the Dockerfile
	git ls-files | xargs awk 'FNR == 1 && /^#!.*sh$$|^# shellcheck shell=/ { print FILENAME } { nextfile }' | xargs $(python_environment)/bin/shellcheck --severity warning
	$(python_environment)/bin/hadolint deploy/Dockerfile

.PHONY: deps
deps: ## Install the system packages that a build lacks
	@deploy/install-packages build

$(python_environment)/installed: $(requirements) $(requirements:.txt=-alone.txt)
	@deploy/install-packages test
	@echo "Installing the tests' Python packages into $(python_environment)"
	@rm -rf $(python_environment)
	@python3 -m venv $(python_environment)
	@$(python) -m pip install --quiet --disable-pip-version-check --requirement $<
	@$(python) -m pip install --quiet --disable-pip-version-check --no-deps --requirement $(requirements:.txt=-alone.txt)
	@touch $@

$(example)/installed: examples/shop/requirements.txt examples/shop/tests/requirements.txt
	@deploy/install-packages test
	@echo "Installing the shop's Python packages into $(example)"
	@rm -rf $(example)
	@python3 -m venv $(example)
	@$(example)/bin/python -m pip install --quiet --disable-pip-version-check $(^:%=--requirement %)
	@touch $@

$(example_kit): $(example)/installed $(wildcard kits/web/src/*)
	@deploy/install-packages kits
	@kits/web/build $(example)
	@mkdir -p $(example)/kit
	@tar --extract --gzip --file $(example)/touchstone-kit-*.tgz --directory $(example)/kit --strip-components=1 --touch

$(go_packages): clients/go/fetch-packages
	@echo "Fetching the Go client's packages into $(clients)/go"
	@clients/go/fetch-packages $(clients)/go
	@touch $@

$(attestation_peers)/installed: Tests/Attestation/requirements.txt
	@deploy/install-packages test
	@echo "Installing other people's verifiers into $(attestation_peers)"
	@rm -rf $(attestation_peers)
	@python3 -m venv $(attestation_peers)
	@$(attestation_peers)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(manifest_checkers)/installed: Tests/Manifests/requirements.txt
	@deploy/install-packages manifests
	@echo "Installing what checks manifests into $(manifest_checkers)"
	@rm -rf $(manifest_checkers)
	@python3 -m venv $(manifest_checkers)
	@$(manifest_checkers)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

# Apart from the tests' packages, which are for every processor; not all of these are.
$(python_environment)/linters: .ci/requirements.txt $(python_environment)/installed
	@$(python) -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

.PHONY: clean
clean: ## Remove what was built; data stays
	rm -rf .build .build-interop .build-sanitized .build-image .build-deb .build-release .build-docs .build-baseline $(clients) $(kits) $(example) $(crypto_mb) $(attestation_peers) $(manifest_checkers) \
	  $(python_environment)
