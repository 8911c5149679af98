#!/bin/sh
# The leader of trouble.sh is restored on another machine, from what that left in /shared/lost; its node finds it there.
set -u
. /shared/steps.sh

step 'restored on another machine'
echo '127.0.0.1 head' >>/etc/hosts
install_all /shared/old/*.deb
# As the guide says: the leader that the package has started is stopped, and its empty folder put aside.
systemctl stop assay-leader
assay restore /shared/lost/backup --data /var/lib/assay >said 2>&1 && fail 'a folder with data in it is written over'
mv /var/lib/assay /var/lib/assay-empty
assay restore /shared/lost/backup --data /var/lib/assay >said 2>&1 || { cat said; fail 'assay restore'; }
[ -z "$(find /var/lib/assay ! -user assay)" ] || { find /var/lib/assay ! -user assay; fail 'restored files have another owner'; }
install --owner assay --mode 0644 /shared/lost/etc/leader.crt /etc/assay/leader.crt
install --owner assay --mode 0600 /shared/lost/etc/leader.key /etc/assay/leader.key
cp /shared/lost/etc/leader.yaml /shared/lost/etc/leader.env /etc/assay
systemctl start assay-leader || fail 'the leader does not start'
wait_for 'the leader does not answer' as_leader nodes
as_leader runs | grep -qw kept || fail 'the run is not there'
assay nodes --leader https://head:8470 --token-file /shared/lost/viewer.token --fingerprint "sha256:$(cat /shared/tls/second.sha256)" >said 2>&1 ||
  { cat said; fail 'a token of before is not good any more'; }

step 'a node of before finds it with the key that it has'
mkdir -p /var/lib/private
cp -a /shared/lost/agent /var/lib/private/assay-agent
cp /shared/lost/etc/agent.env /shared/lost/etc/join.token /etc/assay
systemctl start assay-agent || fail 'the agent does not start'
node_is_online 'the node is not online'
journalctl --output cat --unit assay-agent | grep -q 'joined as' && fail 'it had to join again'

step 'done'
