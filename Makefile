# Millpond's recipes. `make demo` shows the whole story, `make test` proves it; CI calls the same names.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ENV    := PIP_DISABLE_PIP_VERSION_CHECK=1
# Some machines forbid bytecode; then every start of `mill` compiles all of it again, which takes longer than the rest.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo setup library web web-api docs-site dist check fix test azurite oidc test-long bench-lake bench-lake-large bench-lake-million bench-cache bench-read bench-jobs bench-scheduler bench-tracking bench-flows bench-lineage bench-sites bench-workspaces bench-lanes bench-ctr bench-server bench-serving conformance-triton docs screenshots clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-18s %s\n", $$1, $$2}'

# The demo needs less than development does, and people wait for it.
$(VENV)/.demo: pyproject.toml
	@echo "▸ making the virtual environment and installing Millpond (about a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(ENV) $(BIN)/pip install -q -e '.[demo]' 2>&1 | grep -v '^WARNING: Location' || true
	@$(BIN)/python -c 'import millpond, sklearn, PIL' && touch $@

$(VENV)/.made: $(VENV)/.demo
	@echo "▸ installing the development tools (about a minute)"
	@$(ENV) $(BIN)/pip install -q -e '.[dev,demo]' 2>&1 | grep -v '^WARNING: Location' || true
	@$(BIN)/python -c 'import millpond, hypothesis, pytest' && touch $@

$(VENV)/.library: $(VENV)/.made
	@echo "▸ installing the packages of the library's components (about a minute)"
	@$(ENV) $(BIN)/pip install -q -e '.[library]' 2>&1 | grep -v '^WARNING: Location' || true
	@$(BIN)/python -c 'import torch, skl2onnx' && touch $@

library: $(VENV)/.library ## the packages of the library's components, so that none of their tests is skipped

setup: $(VENV)/.made ## virtual environment with Millpond and its development tools

web: ## the web page, built when its sources changed and Node is here
	@$(PYTHON) dev/build_web.py

demo: $(VENV)/.demo web ## the main story from an empty directory; ONCE=1 ends by itself, QUICK=1 leaves out the flow
	@$(BIN)/python dev/demo.py $(if $(ONCE),--once) $(if $(PORT),--port $(PORT)) $(if $(DEMO_DIR),--dir $(DEMO_DIR)) $(if $(QUICK),--quick)

$(VENV)/.docs: $(VENV)/.made
	@echo "▸ installing MkDocs Material"
	@$(ENV) $(BIN)/pip install -q -e '.[docs]' 2>&1 | grep -v '^WARNING: Location' || true
	@$(BIN)/python -c 'import material, mkdocs' && touch $@

docs-site: $(VENV)/.docs ## the documentation site that the server answers at /docs, built when its sources changed
	@$(BIN)/python dev/build_docs.py

dist: $(VENV)/.made web docs-site ## wheel and sdist with the page and the documentation inside, constraints, SBOM and checksums, in dist/; KEY=ssh-key signs
	@rm -rf dist && $(ENV) $(BIN)/pip install -q build
	@MILL_REQUIRE_PAGE=1 $(BIN)/python -m build --outdir dist > .dist.log 2>&1 || (cat .dist.log; exit 1)
	@rm -f .dist.log && $(BIN)/python dev/check_dist.py dist
	@cp deploy/constraints.txt dist/ && $(BIN)/python dev/make_sbom.py dist/sbom.cdx.json
	@$(BIN)/python dev/sign_dist.py dist $(if $(KEY),--key $(KEY))

.PHONY: lock audit
lock: $(VENV)/.made ## deploy/constraints.txt: pins and hashes of all packages of a release; UPGRADE=1 looks for newer ones
	@command -v uv > /dev/null || $(ENV) $(BIN)/pip install -q uv
	@$(BIN)/python dev/make_constraints.py $(if $(UPGRADE),--upgrade)

audit: $(VENV)/.made ## asks today's advisories about the locks, where pip-audit and npm reach a service that knows them
	@$(BIN)/python dev/audit_locks.py
	@$(ENV) $(BIN)/pip install -q pip-audit && $(BIN)/pip-audit -r deploy/constraints.txt --require-hashes --disable-pip
	@cd web && npm audit --audit-level=moderate

check: $(VENV)/.made ## ruff, mypy (strict), the import rule, the locks, the checks of the web page and of the Helm chart
	@$(BIN)/ruff format --check -q . && $(BIN)/ruff check -q .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python dev/audit_locks.py
	@$(PYTHON) dev/build_web.py --check
	@$(BIN)/python dev/check_chart.py

chart: $(VENV)/.made ## the Helm chart as a package, with the index of a repository, in dist/charts/
	@$(BIN)/python dev/check_chart.py --package dist/charts && ls dist/charts

fix: $(VENV)/.made ## format, and mend what can be mended
	@$(BIN)/ruff format -q . && $(BIN)/ruff check --fix .

test: $(VENV)/.made web docs-site ## every test that fits in a few minutes
	@$(PYTHON) dev/build_web.py --test
	@# Once, and not by each of those that run them.
	@$(BIN)/python -m compileall -q src
	@# Four at once on two cores: tests wait for processes to start and to end.
	@$(BIN)/pytest -q -n 4 --dist loadgroup -m 'not long'

azurite: ## Azure's emulator (361 MB from npm), with which test-long tries the contract of stores
	@test -x dev/azurite/node_modules/.bin/azurite-blob || (cd dev/azurite && npm ci --ignore-scripts --no-audit --no-fund)

oidc: ## the OpenID provider (npm) with which tests try single sign-on
	@test -d dev/oidc/node_modules/oidc-provider || (cd dev/oidc && npm ci --ignore-scripts --no-audit --no-fund)

test-long: $(VENV)/.made web docs-site ## the full storms, long property runs, all browser journeys
	@$(MAKE) -s azurite || echo "Azurite is not installed: the contract of stores does not run on Azure."
	@$(BIN)/pytest -q -n 2 --dist loadgroup --hypothesis-profile=long --timeout 900

bench-lake: $(VENV)/.made ## sync and clone against tar, s5cmd, rclone and DVC; FILES=30000 SIZE=16384
	@$(BIN)/python -m benchmarks.bench_lake --files $(or $(FILES),30000) --size $(or $(SIZE),16384) --rounds $(or $(ROUNDS),3)

bench-lake-large: $(VENV)/.made ## one large file against dd and BLAKE3, raw PUTs and GETs, cp; SIZE=4294967296
	@$(BIN)/python -m benchmarks.bench_large --size $(or $(SIZE),4294967296)

bench-lake-million: $(VENV)/.made ## listings, differences and put on a commit of many files; FILES=1000000
	@$(BIN)/python -m benchmarks.bench_million --files $(or $(FILES),1000000)

bench-cache: $(VENV)/.made ## filling a volume and reading from it against tar, s5cmd and s3fs; FILES=30000 SIZE=16384
	@$(BIN)/python -m benchmarks.bench_cache --files $(or $(FILES),30000) --size $(or $(SIZE),16384) \
		--rounds $(or $(ROUNDS),3) --large $(or $(LARGE),4294967296)

bench-read: $(VENV)/.made ## small images in a data loader: mill:// and Dataset.read against the cached path; FILES=1000
	@$(BIN)/python -m benchmarks.bench_read --files $(or $(FILES),1000) --rounds $(or $(ROUNDS),3)

bench-jobs: $(VENV)/.made ## starts, a queue that drains, many jobs at once, logs; DRAIN=500 RUNNING=200
	@$(BIN)/python -m benchmarks.bench_jobs --drain $(or $(DRAIN),500) --running $(or $(RUNNING),200)

bench-scheduler: $(VENV)/.made ## plans at 1,000 nodes, claims, a simulated day against FIFO and best fit; SEED=1
	@$(BIN)/python -m benchmarks.bench_scheduler --seed $(or $(SEED),1)

bench-tracking: $(VENV)/.made ## SDK and MLflow's client against us, a null server and MLflow's; DATABASE=sqlite ROUNDS=7
	@$(BIN)/python -m benchmarks.bench_tracking --database $(or $(DATABASE),sqlite) --rounds $(or $(ROUNDS),7)

bench-flows: $(VENV)/.made ## steps over jobs, three steps against Metaflow, a fan-out of 1,000; ROUNDS=5 PREFECT=1
	@$(BIN)/python -m benchmarks.bench_flows --rounds $(or $(ROUNDS),5) $(if $(PREFECT),--prefect)

bench-lineage: $(VENV)/.made ## the graph of lineage at 100,000 edges, on SQLite and PostgreSQL; EDGES=100000
	@$(BIN)/python -m benchmarks.bench_lineage --edges $(or $(EDGES),100000)

bench-lanes: $(VENV)/.made $(VENV)/.library ## lane detection in one and two pinned processes; three learn the same; PICTURES=480 ROUNDS=3
	@$(BIN)/python -m benchmarks.bench_lanes --pictures $(or $(PICTURES),480) --rounds $(or $(ROUNDS),3)

bench-ctr: $(VENV)/.made $(VENV)/.library ## a click log in pandas and in Dask, at 0.1, 1 and 10 million rows; ROWS=100000,1000000
	@$(BIN)/python -m benchmarks.bench_ctr --rows $(or $(ROWS),100000,1000000,10000000)

bench-sites: $(VENV)/.made ## what goes over the lines of three sites, in network namespaces (root); MEGABYTES=400
	@$(BIN)/python -m benchmarks.bench_sites --megabytes $(or $(MEGABYTES),400)

.venv-mlserver/.made:
	@echo "▸ installing mlserver into an environment of its own"
	@# Its workers do not start with a newer uvloop.
	@test -x .venv-mlserver/bin/python || $(PYTHON) -m venv .venv-mlserver
	@$(ENV) .venv-mlserver/bin/pip install -q mlserver onnxruntime 'uvloop<0.22' 2>&1 | grep -v '^WARNING: Location' || true
	@.venv-mlserver/bin/python -c 'import mlserver' && touch $@

bench-workspaces: $(VENV)/.made ## clones, snapshots and restores on XFS beside cp (root); GIGABYTES=10 FILES=600000 ROUNDS=5 WORK=DIR
	@$(BIN)/python -m benchmarks.bench_workspaces --gigabytes $(or $(GIGABYTES),10) --files $(or $(FILES),600000) \
		--rounds $(or $(ROUNDS),5) $(if $(WORK),--work $(WORK))

ALL_KINDS := sqlite,postgres
bench-server: $(VENV)/.made ## 200 agents, 10,000 jobs, 300 open pages: SQLite, then two servers on PostgreSQL; SECONDS=600 KINDS=sqlite,postgres
	@$(BIN)/python -m benchmarks.bench_server --seconds $(or $(SECONDS),600) --jobs $(or $(JOBS),10000) \
		--kinds $(or $(KINDS),$(ALL_KINDS))

bench-serving: $(VENV)/.made $(VENV)/.library .venv-triton/.made .venv-mlserver/.made ## the model server beside Triton, mlserver and its floor (wrk); ROUNDS=3 SECONDS=4
	@$(BIN)/python -m benchmarks.bench_serving --triton .venv-triton/bin/python --mlserver .venv-mlserver/bin/python \
		--rounds $(or $(ROUNDS),3) --seconds $(or $(SECONDS),4)

.venv-triton/.made:
	@echo "▸ installing NVIDIA's Triton into an environment of its own (370 MB)"
	@test -x .venv-triton/bin/python || $(PYTHON) -m venv .venv-triton
	@$(ENV) .venv-triton/bin/pip install -q 'nvidia-pytriton==0.7.0' 'numpy<2' onnxruntime 2>&1 | grep -v '^WARNING: Location' || true
	@# Where the C library is too old there is no wheel: the suite says so.
	@.venv-triton/bin/python -c 'import pytriton' 2> /dev/null && touch $@ || true

conformance-triton: $(VENV)/.made .venv-triton/.made ## the model server against NVIDIA's Triton, every difference by name; RECORD=1
	@$(BIN)/python -m tests.conformance --triton .venv-triton/bin/python $(if $(RECORD),--record)

web-api: $(VENV)/.made ## the page's API types, from the server's own OpenAPI document
	@$(BIN)/python dev/make_openapi.py && cd web && npm run api

docs: $(VENV)/.made ## the pages that follow from the code: commands, error codes, JSON, MLflow, the library
	@$(BIN)/python dev/make_cli_docs.py
	@$(BIN)/python dev/make_error_docs.py
	@$(BIN)/python dev/make_json_docs.py
	@$(BIN)/python dev/make_mlflow_docs.py
	@$(BIN)/python dev/make_dataops_docs.py
	@$(BIN)/python dev/make_library_docs.py
	@$(BIN)/python dev/make_metrics_docs.py
	@$(BIN)/python dev/make_dashboards.py

screenshots: $(VENV)/.made web ## the pictures of the README, taken from a running server
	@$(BIN)/python dev/screenshots.py

clean: ## what was made here, but not the demo's data
	@rm -rf $(VENV) web/node_modules src/millpond/api/static src/millpond/api/documentation .pytest_cache .mypy_cache .ruff_cache .hypothesis
