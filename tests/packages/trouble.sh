#!/bin/sh
# What goes wrong in the life of a leader, under systemd: its certificate ends, its disk is full, it is killed, its machine is lost. See
# systemd_test.py; elsewhere.sh goes on with what this leaves in /shared/lost.
set -u
. /shared/steps.sh

renew() {  # NAME: of a certificate in /shared/tls
  install --owner assay --mode 0644 "/shared/tls/$1.crt" /etc/assay/leader.crt
  install --owner assay --mode 0600 "/shared/tls/$1.key" /etc/assay/leader.key
}
# Who asks with the fingerprint of a certificate gets an answer from who has that certificate alone.
shows() { assay nodes --leader https://head:8470 --token-file viewer.token --fingerprint "sha256:$(cat "/shared/tls/$1.sha256")"; }
lost_nodes() { as_leader alerts --all --rule node_lost --json | grep -c '"rule": *"node_lost"'; }

step 'a leader with a certificate of the house'
echo '127.0.0.1 head' >>/etc/hosts
install_all /shared/old/*.deb
renew first
printf 'certificate: /etc/assay/leader.crt\nkey: /etc/assay/leader.key\npin: authority\n' >>/etc/assay/leader.yaml
assay config check /etc/assay/leader.yaml || fail 'assay config check'
systemctl restart assay-leader || fail 'the leader does not start with a certificate of the house'
assay-leader-setup >set-up || { cat set-up; fail 'assay-leader-setup'; }
assay-agent-join https://head:8470 <join.token || fail 'assay-agent-join'
node_is_online 'the node is not online'
(umask 077; as_leader token create --role viewer >viewer.token 2>/dev/null) || fail 'a token to look with'
shows first >said 2>&1 || { cat said; fail 'it has another certificate than it was given'; }

step 'it is renewed by the same authority: nobody is dropped, and agents that come later are let in'
leader=$(pid_of assay-leader) agent=$(pid_of assay-agent)
renew second
systemctl reload assay-leader || fail 'systemctl reload assay-leader'
wait_for 'the new certificate is not shown' shows second
shows first >said 2>&1 && fail 'the old certificate is still shown'
[ "$(pid_of assay-leader) $(pid_of assay-agent)" = "$leader $agent" ] || fail 'somebody was started again'
node_is_online 'the node is gone after its leader has a new certificate'
systemctl restart assay-agent || fail 'the agent does not start again'
node_is_online 'an agent does not know the leader by its authority'

step 'a certificate that does not fit its key is refused, and the old one stays'
cp /shared/tls/first.crt /etc/assay/leader.crt
systemctl reload assay-leader
says_so() { as_leader nodes 2>&1 | grep -q 'reading the certificate again'; }
wait_for 'nobody is told what is wrong' says_so
shows second >said 2>&1 || { cat said; fail 'the good certificate was given up for a bad one'; }
renew second
systemctl reload assay-leader || fail 'systemctl reload assay-leader'

step 'one of another authority is a stranger'
renew stranger
systemctl reload assay-leader || fail 'systemctl reload assay-leader'
wait_for 'the certificate is not shown' shows stranger
systemctl restart assay-agent
knows_better() { journalctl --output cat --unit assay-agent | grep -q 'shows another certificate than expected'; }
wait_for 'the agent speaks to a stranger, or does not say why not' knows_better
renew second
systemctl reload assay-leader || fail 'systemctl reload assay-leader'
node_is_online 'the node does not come back to its leader'

step 'the disk is full: that is said, and no node is called lost'
systemctl stop assay-leader
mv /var/lib/assay /var/lib/assay-first
install --directory --owner assay --group assay --mode 0700 /var/lib/assay
mount -t tmpfs -o size=192M,mode=0700,uid="$(id -u assay)",gid="$(id -g assay)" none /var/lib/assay || fail 'there is no small disk to fill'
cp -a /var/lib/assay-first/. /var/lib/assay
systemctl start assay-leader || fail 'the leader does not start'
node_is_online 'the node is not online on the small disk'
printf 'kind: command\ncommand: echo loss=0.5\n' >/tmp/run.yaml
runuser -u assay -- assay run /tmp/run.yaml --name kept --data /var/lib/assay >said 2>&1 || { cat said; fail 'a run'; }
lost=$(lost_nodes)
cat /dev/zero >/var/lib/assay/filler 2>/dev/null
wait_for 'a full disk is no alert' sh -c "runuser -u assay -- assay alerts --data /var/lib/assay | grep -qiE 'space|disk'"
as_leader alerts
# Longer than a silent node needs to be called lost.
sleep 20
[ "$(lost_nodes)" = "$lost" ] || { as_leader alerts --all; fail 'a node was called lost because the disk of the leader is full'; }

step 'killed with a full disk it comes back once there is room'
systemctl kill --signal KILL assay-leader
rm /var/lib/assay/filler
node_is_online 'the node is not online again'
no_problem() { ! as_leader alerts --rule leader_problem | grep -qiE 'space|disk'; }
wait_for 'the alert stays although there is room' no_problem
as_leader runs | grep -qw kept || fail 'the run is gone'

step 'what another machine needs, if this one were lost'
mkdir -p /shared/lost
assay backup /shared/lost/backup --data /var/lib/assay >said 2>&1 || { cat said; fail 'assay backup'; }
cp -a /var/lib/private/assay-agent /shared/lost/agent
cp -a /etc/assay /shared/lost/etc
cp viewer.token /shared/lost
systemctl stop assay-agent assay-leader
umount /var/lib/assay
step 'done'
