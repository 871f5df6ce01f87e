# Targets a person types; `make help` lists them. Everything runs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# .installed is newer than what it was installed from.
INSTALLED := $(VENV)/.installed
SNAKEMAKE := $(BIN)/snakemake
CONFIGS := $(wildcard configs/*.yaml)
PROFILES := $(filter-out profiles/default/,$(dir $(wildcard profiles/*/config.yaml profiles/examples/*/config.yaml)))

.DEFAULT_GOAL := help
.PHONY: help install demo test lint docs clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(INSTALLED) ## Make .venv with every pinned dependency

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "helpseek needs Python 3.11 or newer; set PYTHON=…"'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --disable-pip-version-check --progress-bar off -c constraints.txt -e '.[dev]'
	touch $@

demo: $(INSTALLED) ## Run the default experiment and print its tables (minutes, no download, no key)
	$(SNAKEMAKE) --quiet host reason
	@echo; cat results/tables/judgment_gap.md
	@echo; cut -d'|' -f1,2,4,9,13-15 results/tables/ask_quality.md
	@echo; cut -d'|' -f1,2,5-8 results/tables/bfcl_scores.md
	@echo; echo "All tables: results/tables/   figures: results/figures/"

test: $(INSTALLED) ## Run all checks that fit this machine
	$(BIN)/pytest -n 2 --dist loadfile

lint: $(INSTALLED) ## Check style, types, the workflow, and the dry run of every shipped configuration
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check -l 120 Snakefile rules workflow
	$(SNAKEMAKE) --lint
	$(BIN)/helpseek docs --check
	$(SNAKEMAKE) -n > /dev/null
	set -e; for file in $(CONFIGS); do echo "dry run of $$file"; $(SNAKEMAKE) -n --configfile $$file > /dev/null; done
	set -e; for profile in $(PROFILES); do echo "dry run with $$profile"; \
		$(SNAKEMAKE) -n --profile $$profile --configfile configs/paper.yaml > /dev/null; done

docs: $(INSTALLED) ## Rewrite the generated schema, config reference, data dictionary and environments
	$(BIN)/helpseek docs --fix

clean: ## Delete all results (the environment stays)
	rm -rf .snakemake
	find results -mindepth 1 ! -name .gitkeep -delete
