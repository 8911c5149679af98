#!/usr/bin/env bash
# clang-format over every source file, clang-tidy over those that changed (or --all). Prints `pass|fail|skip NAME` per
# check on standard output, details on standard error. What changed: since the branch left its upstream, else since the
# previous commit, and whatever is not committed; ASSAY_LINT_BASE names another starting point.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

sources() { git ls-files -co --exclude-standard -- '*.cpp' '*.h' | while read -r file; do [ -f "$file" ] && echo "$file"; done; }

if command -v clang-format-16 >/dev/null; then
  if sources | xargs clang-format-16 --dry-run -Werror >&2; then echo 'pass clang-format'; else echo 'fail clang-format'; fi
else
  echo 'skip clang-format: no clang-format-16 here'
fi

if ! command -v clang-tidy-16 >/dev/null; then
  echo 'skip clang-tidy: no clang-tidy-16 here'
  exit
fi
base=${ASSAY_LINT_BASE:-$(git merge-base HEAD '@{upstream}' 2>/dev/null || true)}
if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then base=$(git rev-parse -q --verify HEAD~1 || echo); fi
if [ "${1:-}" = --all ] || [ -z "$base" ]; then
  files=$(sources)
else
  files=$({ git diff --name-only "$base" -- '*.cpp'; git ls-files -o --exclude-standard -- '*.cpp'; } | sort -u)
fi
# The database has what the release build compiles: fuzz targets and files that are gone are not in it.
checked=0 bad=0
for file in $files; do
  case $file in *_fuzz.cpp | engine/* | *.h) continue ;; esac
  [ -f "$file" ] && grep -q "/$file\"" build/release/compile_commands.json || continue
  checked=$((checked + 1))
  echo "$file"
done | xargs -r -P 2 -n 1 clang-tidy-16 --quiet -p build/release --extra-arg=-Wno-unknown-warning-option \
  --extra-arg=-Wno-ignored-optimization-argument >build/tidy.log 2>/dev/null || bad=1
if [ "$bad" -eq 0 ]; then echo 'pass clang-tidy'; else grep -E 'error|warning' build/tidy.log >&2; echo 'fail clang-tidy'; fi
