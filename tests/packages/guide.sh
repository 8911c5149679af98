#!/bin/sh
# Does what docs/guides/cluster.md says, in its order, on one machine that is the head and a node: see guide.py and systemd_test.py.
# /shared/guide has a line for each command, SECTION|LINE|COMMAND. What the page takes for granted (a specification, a token, a node of that
# name) is put there first; every command has to succeed, also one that stands in the page from tomorrow on.
set -u

fail() {
  echo "FAILED: $1"
  cat /tmp/said 2>/dev/null
  tail -n 20 /home/ada/leader.log /home/ada/agent.log 2>/dev/null
  exit 1
}
wait_for() {  # WHAT COMMAND…
  what=$1 tries=0
  shift
  until "$@" >/tmp/waited 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 120 ] || { cat /tmp/waited; fail "$what"; }
    sleep 0.5
  done
}
# Somebody without rights, in whose home the leader by hand keeps its data. Settings that the page leaves out come from the environment.
become_ada() {
  cd /home/ada && exec setpriv --reuid ada --regid ada --init-groups env HOME=/home/ada ASSAY_AGENT_NAME=gpu03 ASSAY_AGENT_ALLOW=doctor,run \
    ASSAY_SERVE_LISTEN=:8470 ASSAY_FINGERPRINT="$(cat /home/ada/fingerprint 2>/dev/null)" sh -c "$1"
}
as_ada() { (become_ada "$1"); }
node_is_there() { as_ada 'assay nodes --state online' | grep -qw gpu03; }
token() { as_ada "assay token create --role $1 --name $2 --out $2.token" >/tmp/said 2>&1 || fail "a token for $1"; }
# There is no GPU here: a simulated node has some, one of which fails.
simulate() {
  as_ada 'assay fleet-sim 1 --leader https://head:8470 --token-file join.token --duration 3s --fault ecc:node1:gpu0@1s' >/tmp/said 2>&1 || fail 'assay fleet-sim'
}
leader=''
end_leader() {
  kill "$leader"
  wait "$leader" || fail 'the leader does not end in peace'
}
start_leader() {
  [ -z "$leader" ] || end_leader
  become_ada "exec $1" >>/home/ada/leader.log 2>&1 &
  leader=$!
  wait_for "the leader of '$1' does not answer" as_ada 'assay nodes'
}

enter() {
  case "$1" in
    'Start a leader by hand')
      systemctl stop assay-agent assay-leader
      useradd --create-home ada
      printf 'kind: command\ncommand: sleep 1; echo loss=0.5\nrepeat: 2\n' >/home/ada/bench.yaml
      printf 'overheating: {above: 85, clear: 80}\n' >/home/ada/rules.yaml ;;
    'Keep it safe')
      install --directory --owner ada /mnt/backup ;;
  esac
}
perform() {
  command=$1
  case "$command" in
    'assay serve '*) start_leader "$command"; return ;;
    'assay agent '*)
      become_ada "exec $command" >/home/ada/agent.log 2>&1 &
      wait_for 'the node did not join' node_is_there
      return ;;
    'assay token revoke join-march '*) token agent join-march ;;
    "assay query 'gpu."*)
      simulate
      command=$(printf '%s' "$command" | sed 's/node=gpu03/node=sim001/') ;;
    'assay alerts ack 3n99 '*)
      simulate
      wait_for 'there is no alert' as_ada 'assay alerts --json | grep -q ecc_uncorrected'
      id=$(as_ada 'assay alerts --json' | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p' | head -n 1)
      command=$(printf '%s' "$command" | sed "s/3n99/$id/") ;;
    *'--node gpu03'*)
      # Runs need a node that takes work, which the section before has taken away.
      as_ada 'assay nodes resume gpu03' >/tmp/said 2>&1 || fail 'assay nodes resume'
      # Commands are for administrators.
      [ -e /home/ada/me.token ] || token admin me ;;
    *'--token-file admin.token'*) token admin admin ;;
    'assay cancel @last')
      as_ada 'assay run bench.yaml --node gpu03 --no-wait' >/tmp/said 2>&1 || fail 'a run to be cancelled' ;;
    'assay restore '*)
      mv /var/lib/assay /var/lib/assay-before ;;
  esac
  command=$(printf '%s' "$command" | sed "s/sha256:…/$(cat /home/ada/fingerprint 2>/dev/null)/")
  case "$section" in
    Install) (cd /root/packages && timeout 120 sh -c "$command") >/tmp/said 2>&1 ;;
    *) case "$command" in
         'assay restore '*) timeout 60 sh -c "$command" >/tmp/said 2>&1 ;;
         *) as_ada "timeout 120 $command" >/tmp/said 2>&1 ;;
       esac ;;
  esac || fail "line $line: '$command' ended with $?"
  case "$command" in
    'assay token create --role agent --out '*)
      sed -n 's/.*\(sha256:[0-9a-f]*\).*/\1/p' /home/ada/join.token /tmp/said | head -n 1 >/home/ada/fingerprint ;;
    'assay run bench.yaml'*) cat /tmp/said ;;
  esac
}

echo '127.0.0.1 head' >>/etc/hosts
echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/assume-yes
export DEBIAN_FRONTEND=noninteractive
cp -r /shared/old /root/packages
done=0 entered=''
while IFS='|' read -r section line command <&3; do
  [ "$section" = "$entered" ] || { echo "== $section"; enter "$section"; entered=$section; }
  echo "$line: $command"
  perform "$command"
  done=$((done + 1))
done 3</shared/guide
end_leader
echo "$done commands of the guide were executed"
