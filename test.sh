#!/usr/bin/env bash
# Installs what is missing, builds, and runs every check of the project. Its last line is `N passed, N failed[, N skipped]`.
#   ./test.sh                        everything
#   ./test.sh --since main           only what the changes since that commit touch
#   ./test.sh --label unit -R Spec   the tests with that label and a matching name
#   ./test.sh --tidy-all             clang-tidy on every file, not only on what changed
set -euo pipefail
cd "$(dirname "$0")"
case " $* " in
  *' --help '*|*' -h '*) ;;
  *) scripts/setup.sh || { printf 'failed: set-up\n\n0 passed, 1 failed\n'; exit 1; } ;;
esac
exec python3 scripts/checks.py "$@"
