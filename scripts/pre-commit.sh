#!/usr/bin/env bash
# Checks what is about to be committed: formatting always, clang-tidy where a release build is there to tell the flags.
set -euo pipefail
cd "$(git rev-parse --show-toplevel)"
mapfile -t files < <(git diff --cached --name-only --diff-filter=ACM -- '*.cpp' '*.h')
[ ${#files[@]} -gt 0 ] || exit 0
clang-format-16 --dry-run -Werror "${files[@]}"
if [ -f build/release/compile_commands.json ]; then
  mapfile -t units < <(printf '%s\n' "${files[@]}" | grep -E '^(src|apps|tests)/.*\.cpp$' | grep -v '_fuzz\.cpp$' || true)
  [ ${#units[@]} -eq 0 ] || clang-tidy-16 --quiet -p build/release "${units[@]}"
fi
