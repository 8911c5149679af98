# What the scripts that run under systemd share; /shared is where the packages are.
step() { echo "== $1"; }
fail() {
  echo "FAILED: $1"
  systemctl --no-pager status assay-leader assay-agent
  journalctl --no-pager --output cat --lines 40 --unit assay-leader --unit assay-agent
  exit 1
}
as_leader() { runuser -u assay -- env HOME=/var/lib/assay assay "$@" --data /var/lib/assay; }
wait_for() {  # WHAT COMMAND…
  what=$1 tries=0
  shift
  until "$@" >waited 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 120 ] || { cat waited; fail "$what"; }
    sleep 0.5
  done
}
is_online() { as_leader nodes --state online 2>&1 | grep -qw "$(hostname)"; }
node_is_online() { wait_for "$1" is_online; }
pid_of() { systemctl show --property MainPID --value "$1"; }
install_all() {
  apt-get install --yes "$@" >installed 2>&1 || { cat installed; fail 'installing'; }
}
cd /root || exit 1
export DEBIAN_FRONTEND=noninteractive
