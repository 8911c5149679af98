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
python3 scripts/steps.py build release assay assay-engine

export PATH="$PWD/build/release/bin:$PATH"
export ASSAY_DATA="$PWD/build/demo-data"

step() { printf '\n\033[1m$ %s\033[0m\n' "$*"; "$@" || { code=$?; [ $code -eq 4 ] || exit $code; }; }

step assay version
step assay doctor || true
# The built-in engine: a small network learns two spirals; loss, accuracy and speed of every step are recorded.
step assay run examples/spiral.yaml --tag demo
# The LLM guide's diagnostic suite in small: LoRA on a tiny Mistral and six variants of it, five times each.
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


# A cluster on this one machine: a leader, a real agent for this node, and six nodes that are SIMULATED from what was
# recorded on an H200, one of them with a hot GPU and one that dies.
leader_log=build/demo-leader.log
cluster=()
stop_cluster() {
  [ ${#cluster[@]} -eq 0 ] || kill "${cluster[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
}
trap stop_cluster EXIT
printf '\n\033[1m$ assay serve &\033[0m\n'
# Alerts of an earlier demo would pass for those of this one.
rm -rf "$ASSAY_DATA/leader" "$ASSAY_DATA/agent" "$ASSAY_DATA/join.token" "$ASSAY_DATA/user.token"
assay serve --listen 127.0.0.1:0 2>"$leader_log" & cluster+=($!)
for _ in $(seq 100); do [ -s "$ASSAY_DATA/leader/endpoint.json" ] && break; sleep 0.1; done
cat "$leader_log"
url=$(sed -n 's/.*"url": *"\([^"]*\)".*/\1/p' "$ASSAY_DATA/leader/endpoint.json")
[ -n "$url" ] || { echo "The leader did not start." >&2; exit 1; }
join=$ASSAY_DATA/join.token
[ -s "$join" ] || step assay token create --role agent --out "$join"
# It does what people start in the dashboard: as whoever runs this, and for root as a user without rights, who must be
# able to start what was built.
runs=(--allow "doctor,run")
if [ "$(id -u)" -eq 0 ]; then
  runs+=(--run-as nobody)
  if ! setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups assay-engine --version >/dev/null 2>&1; then
    runs=()
    echo "Runs cannot be started on this node: root's agent does them as the user nobody, who cannot read $PWD."
  fi
fi
printf '\n\033[1m$ assay agent --leader %s --token-file join.token %s &\033[0m\n' "$url" "${runs[*]}"
assay agent --leader "$url" --token-file "$join" "${runs[@]}" 2>build/demo-agent.log & cluster+=($!)
printf '\033[1m$ assay fleet-sim 6 --gpus 8 --leader %s --token-file join.token --fault hot:node2:gpu3@5s --fault node-dead:node5@12s &\033[0m\n' "$url"
assay fleet-sim 6 --gpus 8 --leader "$url" --token-file "$join" --fault hot:node2:gpu3@5s --fault node-dead:node5@12s \
  --quiet >build/demo-fleet.log 2>&1 & cluster+=($!)
# What *Start* on the dashboard's Benchmark page does: the leader has the agent do it.
if [ ${#runs[@]} -gt 0 ]; then
  step assay token create --role user --out "$ASSAY_DATA/user.token"
  step assay run examples/spiral.yaml --leader "$url" --token-file "$ASSAY_DATA/user.token" --tag demo
fi
# Rules wait before they speak: until the first alert, or a minute and a half.
for _ in $(seq 90); do assay alerts --json | grep -q '"rule"' && break; sleep 1; done
step assay nodes
step assay nodes show sim002
step assay query gpu.temperature_c node=sim002 last=1min
step assay alerts

# One link to all of it: it logs in once, and the dashboard takes it out of the address at once.
dashboard=$(assay user add demo --full-name "Demo" --role admin --quiet)

cat <<TEXT

Everything above was recorded in build/demo-data. Try it yourself:
  export PATH="$PWD/build/release/bin:\$PATH"
  assay exec -- python3 your_training_script.py
  assay show @last
The report on the LLM suite: file://$PWD/build/demo-report.html
TEXT
if [ "${1:-}" != --exit ]; then
  cat <<TEXT

The leader and the simulated cluster stay until Ctrl-C. In another terminal:
  export PATH="$PWD/build/release/bin:\$PATH" ASSAY_DATA="$ASSAY_DATA"
  assay top
  assay query 'gpu.power_w node=sim001 last=5min'
  assay alerts                                     the hot GPU is reported once it has been hot for a while

The dashboard, with the nodes, runs, studies and alerts from above; Benchmark starts a training on this machine. The link works once:
  $dashboard
TEXT
  trap 'exit 0' INT TERM
  wait
fi
