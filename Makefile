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

.PHONY: test
test: ## everything, with a summary: 15 to 25 minutes on two cores
	@.ci/steps all

.PHONY: check
check: ## while developing: format, lint, unit tests, race detector where there are goroutines
	@.ci/steps quick

.PHONY: lint
lint: ## golangci-lint with the rules of .ci/golangci.yml, and a proof that they fire
	@.ci/steps lint lint-fires

.PHONY: fmt
fmt: ## format the Go code
	@.ci/steps fmt

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME=60s
	@FUZZTIME=$(or $(FUZZTIME),60s) .ci/steps fuzz

.PHONY: bench
bench: ## benchmarks whose names match BENCH=.
	@BENCH='$(BENCH)' .ci/steps bench

.PHONY: integration
integration: ## the suite against a real Hadoop that it starts itself
	@.ci/steps integration

.PHONY: experiment
experiment: ## jobs steered and not, over narrow uplinks of a real cluster: half an hour; HEDDLE_SCENARIO=chain,pair runs others, HEDDLE_POLICIES=nas,dawn tries others
	@.ci/steps experiment

.PHONY: reproduce
reproduce: build ## the papers' experiments again, into docs/reproduction.md, with FB-2010 from HEDDLE_TRACES; PARTS=10 runs a tenth
	@.ci/steps reproduce

.PHONY: ops
ops: ## dashboard, rules and alerts, with promtool and a real Prometheus
	@.ci/steps ops

.PHONY: image
image: build ## build and try the container image
	@.ci/steps image

.PHONY: docs-check
docs-check: ## whether generated pages are what the code says
	@.ci/steps docs

.PHONY: tidy-check
tidy-check: ## whether go.mod and go.sum are what go mod tidy makes
	@.ci/steps tidy

.PHONY: clean
clean: ## remove what all of this left in the checkout
	rm -rf bin .cache
