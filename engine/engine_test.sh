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
has out '^bf16 on CPU  yes$'
expect "check as JSON" 0 check --json
has out '"command":"check","ok":true,"result":\{.*"blas":\{"name":"[^"]+","fp32_gflops":[0-9]'
has out '"bf16":\{"cpu":\{"usable":true,"largest_error":[0-9]'
has out '"cuda":\{"built":(true|false),"available":(true|false),"devices":\['
[[ $(wc -l <"$folder/out") == 1 ]] || fail "check --json must print one line"

expect "a command it does not know" 3 train --spec x.json
has out '^\{"assay":1,"type":"error","kind":"unsupported","message":"[^"]*train[^"]*","hint":"[^"]+"\}$'
has err "cannot 'train'"
[[ $(wc -l <"$folder/out") == 1 ]] || fail "one event line expected"

for where in "file:$folder/events" "fd:7"; do
  rm -f "$folder/events"
  ASSAY_EVENTS=$where expect "events to $where" 3 train 7>>"$folder/events"
  empty out
  has events '"type":"error","kind":"unsupported"'
done
ASSAY_EVENTS=unix:$folder/nobody expect "a listener that is not there" 3 train
has out '"kind":"unsupported"'
has err 'cannot open ASSAY_EVENTS'

expect "no command" 2
has err 'no command given'
expect "an unknown flag" 2 check --jsn
has err "unknown argument '--jsn'"
empty out

((failures == 0)) && echo "all engine command-line tests passed"
exit $((failures > 0))
