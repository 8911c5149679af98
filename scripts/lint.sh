#!/usr/bin/env bash
# clang-format and clang-tidy, each in the newest version that is installed.
#   scripts/lint.sh                 what has changed since the branch left its upstream, else in the last commit
#   scripts/lint.sh --since REF     what has changed since that commit
#   scripts/lint.sh --staged        what is about to be committed: for a pre-commit hook
#   scripts/lint.sh --all           every file, tests included, which takes the better part of an hour
# Prints what it finds, and `pass|fail|skip NAME` for each check. Fails if one of them does.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/.." || exit 1
failed=0
pass() { echo "pass $1"; }
fail() { echo "fail $1"; failed=1; }

existing() { while read -r file; do [ -f "$file" ] && echo "$file"; done; }
sources() { git ls-files -co --exclude-standard -- '*.cpp' '*.h' | existing; }
since() { { git diff --name-only "$1"; git ls-files -o --exclude-standard; } | sort -u | grep -E '\.(cpp|h)$' | existing; }

formatted=$(sources)
case "${1:-}" in
  --all) changed=$formatted ;;
  --since) changed=$(since "${2:?--since needs a commit}") ;;
  --staged)
    changed=$(git diff --cached --name-only --diff-filter=ACM -- '*.cpp' '*.h')
    formatted=$changed
    [ -n "$changed" ] || exit 0 ;;
  *)
    base=$(git merge-base HEAD '@{upstream}' 2>/dev/null || true)
    if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then base=$(git rev-parse -q --verify HEAD~1 || echo HEAD); fi
    changed=$(since "$base" | grep -v '_test\.cpp$') ;;
esac

if tool=$(scripts/newest_clang.sh clang-format); then
  if xargs "$tool" --dry-run -Werror <<<"$formatted" 2>&1; then pass clang-format; else fail clang-format; fi
else
  echo 'skip clang-format: none here that is new enough'
fi

if ! tool=$(scripts/newest_clang.sh clang-tidy); then
  echo 'skip clang-tidy: none here that is new enough'
  exit $failed
fi
# A build of its own that is only configured: each file alone, without precompiled headers, with clang's flags.
if ! { cmake --preset lint && cmake --build build/lint --target assay_git_commit; } >build/lint-configure.log 2>&1; then
  tail -n 20 build/lint-configure.log
  fail 'clang-tidy: the build that tells it the flags cannot be configured'
  exit $failed
fi
# Headers are checked with the files that include them; the engine's, but for formats, need LibTorch, over which clang 16 stumbles.
units=$(grep -E '^((src|apps|tests|bench)/|engine/formats/).*\.cpp$' <<<"$changed" | grep -vE '_fuzz\.cpp$|^cmake/' || true)
if xargs -r -P 2 -n 2 "$tool" --quiet -p build/lint <<<"$units" >build/lint-tidy.log 2>build/lint-tidy-errors.log; then
  pass clang-tidy
else
  # Without a finding something else went wrong: killed for its memory, say.
  grep -E -A6 '(error|warning):' build/lint-tidy.log | grep -v '^--$' || tail -n 20 build/lint-tidy-errors.log
  fail clang-tidy
fi
exit $failed
