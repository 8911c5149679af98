#!/usr/bin/env bash
# Installs what is missing, builds, and runs every check of the project. Its last line is `N passed, N failed[, N skipped]`.
#   ./test.sh                        everything
#   ./test.sh --label unit -R Spec   the tests of the release build with that label and a matching name
#   ./test.sh --tidy-all             clang-tidy on every file, not only on what changed
set -uo pipefail
cd "$(dirname "$0")" || exit 1

label='' pattern='' tidy_all=''
while [ $# -gt 0 ]; do
  case $1 in
    --label) label=${2:?--label needs a value}; shift ;;
    -R) pattern=${2:?-R needs a value}; shift ;;
    --tidy-all) tidy_all=1 ;;
    *) echo "usage: ./test.sh [--label unit|integration|e2e|threaded] [-R REGEX] [--tidy-all]" >&2; exit 2 ;;
  esac
  shift
done

passed=0 failed=0 skipped=0
failures=()

note_pass() { passed=$((passed + 1)); }
note_failure() { failed=$((failed + 1)); failures+=("$1"); }
note_skip() { skipped=$((skipped + 1)); echo "   skipped: $1"; }

finish() {
  echo
  for name in "${failures[@]}"; do echo "failed: $name"; done
  local line="$passed passed, $failed failed"
  [ "$skipped" -eq 0 ] || line+=", $skipped skipped"
  echo "$line"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
  exit
}
stage() { printf '\n== %s (%s)\n' "$1" "$(date +%H:%M:%S)"; }

# Builds a preset; a build that fails is one failed check, and ends everything that needs it.
build() {
  scripts/build.sh "$@" && return 0
  note_failure "build $1"
  return 1
}

# Runs the tests of a preset and adds up its report.
run_tests() {
  local preset=$1
  shift
  local report=build/$preset/report.xml
  rm -f "$report"
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j2 --output-junit "$PWD/$report" "$@" >"build/$preset-tests.log" 2>&1
  local code=$?
  local counts
  counts=$(python3 scripts/count_tests.py "$report" 2>/dev/null) || counts=''
  if [ -z "$counts" ]; then
    tail -n 40 "build/$preset-tests.log"
    note_failure "$preset: no test ran"
    return
  fi
  read -r p f s <<<"$counts"
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  echo "   $preset: $p passed, $f failed, $s skipped"
  if [ "$code" -ne 0 ]; then
    grep -vE '^ *[0-9]+/[0-9]+ Test|^ *Start ' "build/$preset-tests.log" | tail -n 80
    while read -r name; do failures+=("$preset: $name"); done < <(python3 scripts/count_tests.py --failed "$report")
    [ "$f" -gt 0 ] || note_failure "$preset: ctest ended with $code"
  fi
}

stage 'set-up'
scripts/setup.sh || { note_failure 'set-up'; finish; }

stage 'release build'
build release || finish

if [ -n "$label$pattern" ]; then
  stage 'chosen tests'
  run_tests release ${label:+-L "$label"} ${pattern:+-R "$pattern"}
  finish
fi

stage 'unit, integration and e2e tests'
run_tests release

stage 'unit tests under AddressSanitizer and UBSan'
build asan-ubsan assay_unit_tests && run_tests asan-ubsan -L unit

stage 'threaded tests under ThreadSanitizer'
build tsan assay_threaded_tests && run_tests tsan -L threaded

stage 'formatting and lint'
while read -r verdict name; do
  case $verdict in
    pass) note_pass ;;
    skip) note_skip "$name" ;;
    *) note_failure "$name" ;;
  esac
done < <(scripts/lint.sh ${tidy_all:+--all})

stage 'fuzzing, 10 s each'
if command -v clang++-16 >/dev/null; then
  if build fuzz assay_fuzzers; then
    while read -r verdict text; do
      case $verdict in
        pass) note_pass; echo "   $text" ;;
        *) note_failure "$text" ;;
      esac
    done < <(printf '%s\n' build/fuzz/fuzz/fuzz_* | xargs -P 2 -n 1 scripts/fuzz.sh)
  fi
else
  note_skip 'fuzzing: no clang++-16 here'
fi

finish
