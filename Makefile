# `make help` lists the targets; what each does is in .ci/steps.
.DEFAULT_GOAL := help
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## the static binary bin/heddle
	@.ci/steps build

.PHONY: demo
demo: build ## the whole service on a recording of a real cluster; ONCE=1 prints one table and ends
	@exec bin/heddle demo $(if $(ONCE),--once)

.PHONY: check
check: ## while developing: format, lint, unit tests with the race detector where there are goroutines; 3 minutes
	@.ci/steps check

.PHONY: test
test: ## before a push, and what CI runs: check, and a tour of a real Hadoop; 15 minutes on two cores, 20 the first time
	@.ci/steps test

.PHONY: test-full
test-full: ## every night and before a release: everything, an hour
	@.ci/steps full

.PHONY: lint
lint: ## golangci-lint with the rules of .ci/golangci.yml, a proof that the import rules fire, no dead code
	@.ci/steps lint

.PHONY: fmt
fmt: ## format the Go code
	@.ci/steps fmt

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME=60s
	@FUZZTIME=$(or $(FUZZTIME),60s) .ci/steps fuzz

.PHONY: bench
bench: ## benchmarks whose names match BENCH=.
	@BENCH='$(BENCH)' .ci/steps bench

.PHONY: tour
tour: build ## a few minutes against a real Hadoop that it starts itself: every promise once
	@.ci/steps tour

.PHONY: integration
integration: ## the whole suite against a real Hadoop: half an hour
	@.ci/steps integration

.PHONY: experiment
experiment: ## jobs steered and not, over narrow uplinks of a real cluster: half an hour; HEDDLE_SCENARIO=replicated,chain,pair,mix runs others, HEDDLE_POLICIES=stock:0.8,weave:holds tries other arms, HEDDLE_SCHEDULER=fair before FairScheduler, HEDDLE_EXPERIMENT_RESUME=1 goes on with one that was interrupted
	@.ci/steps experiment

.PHONY: experiment-table
experiment-table: ## the tables of all runs that make experiment has kept
	@.ci/steps experiment-table

.PHONY: reproduce
reproduce: build ## the papers' experiments again, into docs/reproduction.md, with FB-2010 from HEDDLE_TRACES; PARTS=10 runs a tenth
	@.ci/steps reproduce

.PHONY: frontier
frontier: build ## weave beside the other policies, into docs/frontier.md, with traces from HEDDLE_TRACES: two hours on two cores; goes on where it was interrupted; SCALE=0.1 runs a tenth of the jobs, SEEDS=1 one seed
	@.ci/steps frontier

.PHONY: ops
ops: ## dashboard, rules and alerts, with promtool and a real Prometheus
	@.ci/steps ops

.PHONY: image
image: build ## build and try the container image
	@.ci/steps image

.PHONY: docs-check
docs-check: ## whether generated pages are what the code says, and links lead somewhere
	@.ci/steps docs

.PHONY: tidy-check
tidy-check: ## whether go.mod and go.sum are what go mod tidy makes
	@.ci/steps tidy

.PHONY: clean
clean: ## remove what all of this left in the checkout
	rm -rf bin .cache
