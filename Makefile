# In an environment with the dev extra: pip install -e ".[dev]"
.PHONY: check lint types layers test format

check: lint types layers test

lint:
	ruff format --check .
	ruff check .

types:
	mypy

layers:
	lint-imports

test:
	pytest

format:
	ruff format .
	ruff check --fix .
