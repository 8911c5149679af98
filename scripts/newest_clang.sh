#!/usr/bin/env bash
# Prints the newest installed version of a clang tool: scripts/newest_clang.sh clang-tidy. Fails where there is none that
# is new enough for the sources (16).
set -eu
for version in $(seq 30 -1 16); do
  if command -v "$1-$version"; then exit 0; fi
done
echo "no $1 16 or newer here" >&2
exit 1
