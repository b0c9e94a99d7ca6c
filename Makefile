# The verbs of the project. `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help build run demo cluster package sdk sdk-test check test test-cluster test-citus test-package test-sizes lint bench fuzz crash clean
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc)

help: ## list the verbs
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

build: ## build the release binary, build/release/muster; PORTAL=0: no portal, no Node.js needed
	@scripts/bootstrap build
	@mkdir -p build && cmake --preset release -DMUSTER_PORTAL=$(if $(filter 0,$(PORTAL)),OFF,ON) >build/release.log 2>&1 || { cat build/release.log; exit 1; }
	@sed -n 's/^-- portal:/portal:/p' build/release.log
	@cmake --build --preset release

run: build ## build, then serve from ./data on 127.0.0.1:8080
	@MUSTER_ALLOW_ROOT=1 exec build/release/muster serve

demo: build ## serve a simulated fleet to look at, on a free port; nothing is kept
	@exec /usr/bin/python3 -B demo

cluster: build ## three nodes behind HAProxy to look at and to kill, on PostgreSQL with a standby or on Citus (CITUS=1)
	@scripts/bootstrap cluster
	@exec /usr/bin/python3 -B scripts/cluster

sdk: ## build the libraries for agents into build/sdk: a Python wheel and an npm tarball
	@scripts/bootstrap build
	@scripts/build_sdk.py

sdk-test: build ## test the Python library with the libraries it integrates, and clients made of openapi.json
	@scripts/sdk_test
	@scripts/client_test

check: ## a minute's worth: build what changed, unit tests, SQLite drivers, smoke tests
	@scripts/bootstrap test
	@scripts/run_tests.py check

test: ## everything: gates, unit, store, black-box and sanitizer tests
	@scripts/bootstrap test
	@scripts/run_tests.py

test-cluster: ## several nodes under load and faults, failover, PgBouncer, upgrades, and all on Citus (CITUS_SOURCE=archive), 20 minutes
	@scripts/bootstrap cluster
	@scripts/run_tests.py cluster

test-citus: ## of test-cluster, the black-box tests on Citus alone, one coordinator and two workers
	@scripts/bootstrap cluster
	@scripts/run_tests.py citus

package: ## build a .deb and a tarball into build/packages/
	@scripts/bootstrap package
	@scripts/package.py

test-package: ## test packages, image and set-up in fresh Debian 12 and 13 roots, as root, about an hour
	@scripts/bootstrap test-package
	@scripts/test_package

test-sizes: build ## the portal with 10,000 agents and runs of 100,000 events, a few minutes
	@scripts/bootstrap test
	@scripts/npm_ci tests/browser && node --test --test-reporter=spec tests/browser/sizes.suite.mjs

lint: ## the gates alone: format, clang-tidy, layers, lengths, banned functions
	@scripts/bootstrap test
	@scripts/lint

bench: ## measure; figures are ratios taken side by side in one run
	@scripts/bootstrap bench
	@scripts/bench

fuzz: ## explore with every fuzz target, a minute each (SECONDS_EACH=60)
	@scripts/bootstrap test
	@scripts/fuzz

crash: ## the long crash campaign: kill -9 at many instants
	@scripts/bootstrap test
	@scripts/crash

clean: ## remove what was built; ./data stays
	@rm -rf build
