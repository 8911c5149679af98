#!/usr/bin/env bash
# clang-format over every source file, clang-tidy over the sources that changed (--all: over every file, tests included,
# which takes the better part of an hour). Prints `pass|fail|skip NAME` per
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

# Two types of one name in one program: the linker keeps either's code for both, and nobody is told.
twice=$(git ls-files -co --exclude-standard -- 'src/*.h' 'src/**/*.h' | xargs grep -hoE '^(struct|class|enum class) [A-Za-z]+ *(final *)?[:{]' |
  sed -E 's/ *(final *)?[:{]$//' | sort | uniq -d)
if [ -z "$twice" ]; then echo 'pass type names'; else echo "$twice" >&2; echo 'fail type names: these are defined in two headers'; fi

if ! command -v clang-tidy-16 >/dev/null; then
  echo 'skip clang-tidy: no clang-tidy-16 here'
  exit
fi
base=${ASSAY_LINT_BASE:-$(git merge-base HEAD '@{upstream}' 2>/dev/null || true)}
if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then base=$(git rev-parse -q --verify HEAD~1 || true); fi
if [ "${1:-}" = --all ] || [ -z "$base" ]; then
  changed=$(sources)
else
  changed=$({ git diff --name-only "$base"; git ls-files -o --exclude-standard; } | sort -u | grep -v '_test\.cpp$')
fi

# clang cannot read g++'s precompiled headers: a database of its own, without them, for what was compiled and has changed.
mkdir -p build/tidy
files=$(CHANGED="$changed" python3 scripts/tidy_database.py build/release/compile_commands.json build/tidy/compile_commands.json) || {
  echo 'fail clang-tidy: no release build to take the flags from'
  exit
}
if xargs -r -P 2 -n 4 clang-tidy-16 --quiet -p build/tidy <<<"$files" >build/tidy/log 2>/dev/null; then
  echo 'pass clang-tidy'
else
  grep -E '(error|warning):' build/tidy/log | sort -u >&2
  echo 'fail clang-tidy'
fi
