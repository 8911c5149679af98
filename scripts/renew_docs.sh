#!/usr/bin/env bash
# Writes everything that is made from a table in the code anew (docs/, web/src/api, packaging/*.yaml), and shows what changed.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 scripts/steps.py build dev assay_unit_tests assay_integration_test
ASSAY_UPDATE_DOCS=1 ctest --test-dir build/dev -R '^GeneratedPage\.' --output-on-failure --no-tests=error
git --no-pager diff --stat -- docs web/src/api packaging
