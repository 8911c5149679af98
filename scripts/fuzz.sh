#!/usr/bin/env bash
# Runs one libFuzzer program for ten seconds, from its seeds. Prints `pass NAME: N inputs` or, after the end of its log,
# `fail NAME (input kept in build/fuzz/)`.
set -u
cd "$(dirname "$0")/.." || exit 1

program=$1
name=$(basename "$program")
corpus=build/fuzz/corpus/$name
log=build/fuzz/$name.log
seeds=tests/fixtures/fuzz/${name#fuzz_}
mkdir -p "$corpus"
[ -d "$seeds" ] || seeds=
if "$program" -max_total_time=10 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="build/fuzz/$name-" \
  "$corpus" ${seeds:+"$seeds"} >"$log" 2>&1; then
  echo "pass $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs"
else
  tail -n 30 "$log" >&2
  echo "fail $name (input kept in build/fuzz/)"
fi
