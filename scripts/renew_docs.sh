#!/usr/bin/env bash
# Writes everything that is made from a table in the code anew (docs/, web/src/api, packaging/*.yaml), and shows what changed.
set -euo pipefail
cd "$(dirname "$0")/.."
# Each page is written by a test beside its table; only the programs with such a test are built.
mapfile -t programs < <(grep -rlE '^TEST(_F)?\(GeneratedPage\b' src tests |
  sed -E 's|^tests/([^/]*)/.*|\1|; s|^src/(.*)/[^/]*$|\1|; s|/|_|g; s|.*|assay_&_test|' | sort -u)
python3 scripts/steps.py build dev "${programs[@]}"
ASSAY_UPDATE_DOCS=1 ctest --test-dir build/dev -R '^GeneratedPage\.' --output-on-failure --no-tests=error
git --no-pager diff --stat -- docs web/src/api packaging
