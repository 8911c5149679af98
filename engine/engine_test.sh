#!/usr/bin/env bash
# The engine's command line as a script sees it: engine_test.sh PATH-OF-ASSAY-ENGINE
set -uo pipefail
engine=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset ASSAY_EVENTS
failures=0

# expect WHAT EXIT-CODE ARGUMENT…: runs the engine, leaves its output in $folder/out and $folder/err.
expect() {
  local what=$1 code=$2
  shift 2
  "$engine" "$@" >"$folder/out" 2>"$folder/err"
  local got=$?
  [[ $got == "$code" ]] || fail "$what: exit code $got, not $code: $(cat "$folder/err")"
}
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
has() { grep -qE -- "$2" "$folder/$1" || fail "no /$2/ in $1: $(cat "$folder/$1")"; }
empty() { [[ ! -s $folder/$1 ]] || fail "$1 should be empty: $(cat "$folder/$1")"; }

expect "help" 0 --help
has out 'assay-engine check'
expect "version" 0 version
has out '^assay-engine [0-9]+\.[0-9]+\.[0-9]+ \(LibTorch [0-9]+\.[0-9]+'
expect "version as JSON" 0 version --json
has out '^\{"assay":"[0-9.]+","schema":1,"command":"version","ok":true,"result":\{"engine":"[0-9.]+","torch":"[0-9]'

expect "check" 0 check
# LibTorch's fallback on CPUs without AVX-512 is off by more than rounding, and the check says so.
has out '^bf16 on CPU  (yes|no: bf16 and fp32 products differ)$'
expect "check as JSON" 0 check --json
has out '"command":"check","ok":true,"result":\{.*"blas":\{"name":"[^"]+","fp32_gflops":[0-9]'
has out '"bf16":\{"cpu":\{"usable":(true|false),"largest_error":[0-9]'
has out '"cuda":\{"built":(true|false),"available":(true|false),"devices":\['
[[ $(wc -l <"$folder/out") == 1 ]] || fail "check --json must print one line"

expect "a command it does not know" 3 fly --spec x.json
has out '^\{"assay":1,"type":"error","kind":"unsupported","message":"[^"]*fly[^"]*","hint":"[^"]+"\}$'
has err "cannot 'fly'"
[[ $(wc -l <"$folder/out") == 1 ]] || fail "one event line expected"

for where in "file:$folder/events" "fd:7"; do
  rm -f "$folder/events"
  ASSAY_EVENTS=$where expect "events to $where" 3 fly 7>>"$folder/events"
  empty out
  has events '"type":"error","kind":"unsupported"'
done
ASSAY_EVENTS=unix:$folder/nobody expect "a listener that is not there" 3 fly
has out '"kind":"unsupported"'
has err 'cannot open ASSAY_EVENTS'

expect "probe" 0 probe --device cpu
has out '^matrix fp32 +[0-9.]+ [GT]FLOP/s$'
has out '^memory copy +[0-9.]+ [GT]B/s'
expect "probe with ranks, as JSON" 0 probe --device cpu --ranks 2 --json
has out '"command":"probe","ok":true,.*"matrix_flops_per_second":\{"fp32":[0-9].*"all_reduce_bytes_per_second":[0-9].*"all_reduce_ranks":2'
expect "a probe of something unknown" 2 probe --device tpu
has err "'tpu' is not one of"

expect "help of a command" 0 train --help
has out 'train --spec FILE.json'
expect "no specification" 2 train
has err 'train needs --spec FILE'
empty out
expect "a specification that is not there" 2 train --spec "$folder/none.json"
has out '"type":"error","kind":"missing_file"'
echo '{"kind":"train","model":{"name":"gtp2"},"steps":0,"data":7}' >"$folder/wrong.json"
expect "a wrong specification" 2 train --spec "$folder/wrong.json"
has out '"kind":"bad_spec"'
has err "no model 'gtp2'"
has err "'steps' is 0, not a whole number, at least 1"
has err "'data' is 7, not a group of settings"

expect "no command" 2
has err 'no command given'
expect "an unknown flag" 2 check --jsn
has err "unknown argument '--jsn'"
empty out

((failures == 0)) && echo "all engine command-line tests passed"
exit $((failures > 0))
