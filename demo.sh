#!/usr/bin/env bash
# Installs what is missing, builds, and shows assay at work on this machine: see README.md.
#   ./demo.sh         show, then stay with whatever was started until Ctrl-C
#   ./demo.sh --exit  show and end
set -euo pipefail
cd "$(dirname "$0")"

case "${1:-}" in
  ''|--exit) ;;
  *) echo "usage: ./demo.sh [--exit]" >&2; exit 2 ;;
esac

scripts/setup.sh --build-only
scripts/build.sh release assay assay-engine

export PATH="$PWD/build/release/bin:$PATH"
export ASSAY_DATA="$PWD/build/demo-data"

step() { printf '\n\033[1m$ %s\033[0m\n' "$*"; "$@" || { code=$?; [ $code -eq 4 ] || exit $code; }; }

step assay version
step assay doctor || true
# The built-in engine: a small network learns two spirals; loss, accuracy and speed of every step are recorded.
step assay run examples/spiral.yaml --tag demo
# The LLM guide's diagnostic suite in small: LoRA on a tiny Mistral and seven variants of it.
step assay run examples/llm-diagnostic-suite-tiny.yaml --tag demo
# What does the suite say? In the terminal, and as one HTML file.
step assay report llm-diagnostic-suite-tiny
step assay report llm-diagnostic-suite-tiny -o build/demo-report.html
# A training script that knows nothing of assay: its `loss=…` lines become curves.
step assay exec --quiet --name spiral-by-hand --tag demo -- python3 examples/train.py --epochs 40
step assay show @last
# A study: two learning rates by three momenta, two rounds, each round in another order.
step assay run examples/command-sweep.yaml --tag demo
# How many events a second can assay itself take in?
step assay run examples/null.yaml --tag demo
step assay runs tag=demo --sort -created --limit 25 --metrics loss,val_accuracy,samples_per_second

cat <<TEXT

Everything above was recorded in build/demo-data. Try it yourself:
  export PATH="$PWD/build/release/bin:\$PATH"
  assay exec -- python3 your_training_script.py
  assay show @last
The report on the LLM suite: file://$PWD/build/demo-report.html
TEXT
