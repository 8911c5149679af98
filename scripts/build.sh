#!/usr/bin/env bash
# Configures a preset where that was not done yet, and builds it: scripts/build.sh PRESET [TARGET…]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
log=build/$preset.log
mkdir -p build
run() {
  if ! "$@" >"$log" 2>&1; then
    echo "assay: building '$preset' failed: $*" >&2
    tail -n 60 "$log" >&2
    exit 1
  fi
}
[ -f "build/$preset/build.ninja" ] || run cmake --preset "$preset"
targets=()
[ $# -eq 0 ] || targets=(--target "$@")
run cmake --build --preset "$preset" "${targets[@]}"
