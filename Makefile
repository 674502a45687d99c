# Everything is set up in .venv by the first target that needs it.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUN    ?= data/runs/demo
RECIPE ?= everything
# Each has an environment of its own; NeMo Gym wants Python 3.12.
STANDARDS := inspect lm-eval nemo-gym skyrl
READY  := $(VENV)/.ready
export DO_NOT_TRACK = 1
unexport PYTHONDONTWRITEBYTECODE  # else each process compiles all that it imports
export HF_HUB_DISABLE_TELEMETRY = 1
export UV_SYSTEM_CERTS = 1

.PHONY: help setup trajectories release publish serve deploy test test-quick soak test-slow mutants test-trainers trainers test-cluster cluster site docs readability check audit lock sbom dist metrics benchmarks clean

help: ## print this
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: $(READY) ## install everything into .venv

$(READY): pyproject.toml hashes.txt tools.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement tools.txt
	@echo "Installing into $(VENV) ..."
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --requirement hashes.txt || { \
	  echo "uv could not; trying pip, which takes a minute or two ..."; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement hashes.txt; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

trajectories: $(READY) ## catalog, personas, trajectories and questions in data/runs/demo (RUN=folder, ARGS="--count 1000 ...")
	@$(BIN)/python -m shopwright.flows.build questions --run $(RUN) $(ARGS)

release: $(READY) ## a paper's datasets at its sizes: RECIPE=shoptrajqa, ecomrlve, shopsimulator, shop_r1 or everything (ARGS="--scale 0.01")
	@$(BIN)/python -m shopwright.flows.release $(RECIPE) $(ARGS)

publish: trajectories ## the same, and its training forms, as on the Hub: TO=folder or REPO=user/name
	@$(BIN)/shopwright publish $(RUN) $(if $(TO),--to $(TO)) $(if $(REPO),--repo $(REPO)) $(PUBLISH)

serve: $(READY) ## a Prefect server and a worker here, for scheduled releases; Ctrl-C stops both (PORT=4200)
	@$(BIN)/python -m shopwright.flows.serve $(if $(PORT),--port $(PORT)) $(ARGS)

deploy: $(READY) ## register the releases of flows/prefect.yaml: nightly, weekly, on-demand (PREFECT_API_URL=another server)
	@$(BIN)/python -m shopwright.flows.deploy $(ARGS)

test: $(READY) ## the tests, some minutes; one process more than cores, because many wait for processes of their own
	@$(BIN)/python -m pytest -m "not slow" -n $$(($$(nproc) + 1)) --dist loadfile

QUICK := $(addprefix tests/,test_layers.py faults/test_planted.py checks phrases reading render rewards)
test-quick: $(READY) ## a minute on two cores: checks, readers, rewards, renderers, and the folders that differ from main (SINCE=commit); nothing that builds a run
	@$(BIN)/python -m pytest -m "not slow and not built" -n $$(nproc) --dist loadfile $(QUICK) \
	  $$(git diff --name-only $(or $(SINCE),origin/main) | sed -nE 's#^(pipeline|tests)/([a-z]+)/.*#tests/\2#p' | sort -u | xargs -r ls -d 2>/dev/null)

test-slow: site ## the tests that take longer
	@$(BIN)/python -m pytest -m slow

soak: $(READY) ## an hour of faults, bad input and comparisons, with figures at the end (MINUTES=60, ARGS="--seed 2")
	@$(BIN)/python -m tests.faults.soak --minutes $(or $(MINUTES),60) $(ARGS)

mutants: $(READY) ## small mistakes made in prices, policies, answers, rewards, checks and leaks, and which no test notices; hours (ARGS="prices --count 50")
	@$(BIN)/python -m tests.mutation $(ARGS)

test-trainers: trainers ## the trainers themselves on the training forms, on the CPU; installs them first
	@printf '%s\n' trainers mcp verifiers $(STANDARDS) | OMP_NUM_THREADS=1 xargs -P 2 -n 1 sh -c '\
	  case $$1 in \
	    trainers) python=.venv-trainers/bin/python; tests="tests/trainers --ignore=tests/trainers/test_env.py";; \
	    *) python=.venv-trainers-$$1/bin/python; tests=tests/trainers/test_$$(echo $$1 | tr - _).py;; \
	  esac; \
	  test -x $$python || { echo "$$1 could not be installed here, so it was not tested."; exit 0; }; \
	  $$python -m pytest $$tests || exit 1; \
	  test $$1 != trainers || $$python -m pytest tests/test_docs.py -m slow -k tutorial || exit 1' _

trainers: # TRL, verl, OpenEnv and Gymnasium in an environment of their own, the other standards in one each; verl asks for older ones than it needs
	@test -x .venv-trainers/bin/python || $(PYTHON) -m venv .venv-trainers
	@echo "Installing the trainers into .venv-trainers, which takes some minutes ..."
	@.venv-trainers/bin/python -m pip install --quiet --disable-pip-version-check --requirement tests/trainers/requirements.txt --editable '.[hub,search]'
	@.venv-trainers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps verl==0.9.1
	@test -x .venv-trainers-mcp/bin/python || $(PYTHON) -m venv .venv-trainers-mcp
	@.venv-trainers-mcp/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[hub,mcp,metrics,search]' 'pytest>=8.3,<10' 'hypothesis>=6.100,<7'
	@test -x .venv-trainers-verifiers/bin/python || $(PYTHON) -m venv .venv-trainers-verifiers
	@.venv-trainers-verifiers/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[hub,search,verifiers]' --editable shopwright-taskset uv 'pytest>=8.3,<10' 'hypothesis>=6.100,<7'

	@for each in $(STANDARDS); do \
	  made=.venv-trainers-$$each; test -x $$made/bin/python || $(PYTHON) -m venv $$made; \
	  $$made/bin/python -m pip install --quiet --disable-pip-version-check uv 'pytest>=8.3,<10' 'hypothesis>=6.100,<7' && \
	  $$made/bin/uv pip install --quiet --python $$made/bin/python --editable ".[$$each,hub,search]" && \
	  $$made/bin/python -c 'import sys; from importlib.util import find_spec; sys.exit(not find_spec(sys.argv[1]))' $$(echo $$each | sed 's/inspect/inspect_ai/; s/skyrl/skyrl_gym/; s/-/_/') \
	  || { echo "$$each could not be installed here."; rm -rf $$made; }; done

test-cluster: cluster ## builds on Dask, Ray and object storage on this machine, with workers killed; installs Ray first
	@$(BIN)/python -m pytest tests/scale

cluster: $(READY)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable '.[dev,ray]'

site: $(READY) ## the docs as a site in build/site: menu, search, reference of Python and commands
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --requirement docs/requirements.txt
	@$(BIN)/python -m docs.site $(ARGS)

docs: $(READY) ## the pages of the datasets, made again from schemas and stages
	@$(BIN)/python -m docs.make

readability: $(READY) ## how easily README and docs are read; fails for a page that misses the goal
	@$(BIN)/python -m docs.readability

check: $(READY) ## format, lint, types, known vulnerabilities
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m tests.security.audit

audit: $(READY) ## known vulnerabilities of the pins; fails where nobody can be asked, too
	@$(BIN)/python -m tests.security.audit --required $(ARGS)

lock: $(READY) ## choose the pins anew within their ranges, and write their hashes (ARGS=--upgrade)
	@$(BIN)/uv pip compile --quiet --universal --extra dev $(ARGS) --no-header --annotation-style line pyproject.toml -o constraints.txt
	@$(BIN)/uv pip compile --quiet --universal --extra dev --constraint constraints.txt --generate-hashes --no-header --no-annotate pyproject.toml -o hashes.txt
	@printf 'pip\nsetuptools\nuv>=0.5,<1\n' | $(BIN)/uv pip compile --quiet --universal $(ARGS) --generate-hashes --no-header --no-annotate - -o tools.txt

sbom: $(READY) ## what is installed, in build/: sbom.json (CycloneDX) and licences.md; one line where their programs cannot be downloaded
	@mkdir -p build
	@{ $(BIN)/uv tool run --quiet --from 'cyclonedx-bom>=7,<8' cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --output-format JSON --output-file build/sbom.json && \
	  $(BIN)/uv tool run --quiet --from 'pip-licenses>=5,<6' pip-licenses --python $(BIN)/python --format markdown --with-urls --output-file build/licences.md; } 2>build/sbom.log \
	  || { echo "sbom: not made: cyclonedx-bom and pip-licenses are neither here nor can be downloaded, or failed (build/sbom.log)."; exit 1; }
	@echo "build/sbom.json, build/licences.md"

dist: $(READY) ## the wheel and the source in dist/, checked as a package index and its readers would
	@rm -rf dist
	@$(BIN)/uv build --quiet
	@$(BIN)/uv tool run --quiet --from 'twine>=6,<8' twine check --strict dist/*
	@$(BIN)/uv tool run --quiet --from 'check-wheel-contents>=0.6,<1' check-wheel-contents dist/*.whl

metrics: $(READY) ## figures of the code's names and density, beside the goals (ARGS="--list")
	@$(BIN)/python -m tests.metrics $(ARGS)

benchmarks: $(READY) ## measure everything, an hour or more, and write the figures into benchmarks/README.md (ARGS="--quick")
	@$(BIN)/python -m benchmarks $(ARGS)

clean: ## remove what was installed and built
	rm -rf $(VENV) .venv-trainers .venv-trainers-mcp .venv-trainers-verifiers $(STANDARDS:%=.venv-trainers-%) .prefect build dist *.egg-info
