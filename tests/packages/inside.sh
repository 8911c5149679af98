#!/bin/sh
# The life of the packages on one machine that is leader and node at once, under systemd: see systemd_test.py.
# /shared has old/ and new/ with the packages in two versions, the tarball of the first, and what `assay version` must say.
set -u

. /shared/steps.sh

step 'install'
install_all /shared/old/*.deb
[ "$(assay version)" = "$(cat /shared/version)" ] || fail 'this is another program, or it does not start here'
systemctl --quiet is-active assay-leader || fail 'the leader does not run after its installation'
grep -q 'assay-agent-join https://LEADER:8470' installed || fail 'installing the agent does not say how to join'
[ "$(stat -c '%U %a' /var/lib/assay)" = 'assay 700' ] || fail "the leader's data is not its user's alone"
systemctl --quiet is-active assay-agent && fail 'the agent runs without a leader'

step 'an agent without a token says what is missing'
systemctl start assay-agent 2>/dev/null && fail 'it starts'
journalctl --output cat --unit assay-agent | grep -q 'no join token in /etc/assay/join.token' || fail 'its log does not say so'
systemctl stop assay-agent

step 'one command on the leader, one on the node'
assay-leader-setup >set-up || { cat set-up; fail 'assay-leader-setup'; }
grep -q "assay-agent-join https://$(hostname):8470 < join.token" set-up || { cat set-up; fail 'it does not say how nodes join'; }
[ "$(stat -c '%U %a' join.token)" = 'root 600' ] || fail 'others can read the join token'
echo 'ASSAY_AGENT_OPTIONS=--allow doctor,run' >/etc/assay/agent.env
assay-agent-join https://127.0.0.1:8470 <join.token || fail 'assay-agent-join'
node_is_online 'the node is not online'
[ "$(stat -c '%U %a' /etc/assay/join.token)" = 'root 600' ] || fail "others can read the node's token"

step 'a run on the node looks for secrets and finds none'
# Leavings that an administrator may have about: a backup, and a token in a file.
assay backup /var/tmp/earlier --data /var/lib/assay >/dev/null 2>&1 || fail 'a backup to look into'
as_leader token create --role admin --out /var/lib/assay/admin.token >/dev/null 2>&1 || fail 'a token to look for'
{ printf 'kind: command\ntime_limit: 60s\ncommand: |\n'; sed 's/^/  /' /shared/hunt.sh; } >/tmp/run.yaml
timeout 90 runuser -u assay -- assay run /tmp/run.yaml --name before --node "$(hostname)" --data /var/lib/assay -v >ran 2>&1 || { cat ran; fail 'the run'; }
as_leader logs before >said 2>&1 || { cat said; fail 'assay logs'; }
grep -q '^hunted=1' said || { cat said; fail 'the run did not come to its end'; }
grep '^read:' said && fail 'a run can read what is not for it'
for secret in join.token /var/lib/private/assay-agent/key /var/lib/assay/admin.token; do
  word=$(grep -oE '[0-9a-f]{64}' $secret | head -n 1)
  [ -n "$word" ] || fail "$secret has another shape than this test looks for"
  grep -rqsF "$word" /var/lib/assay/runs && fail "$secret stands in the leader's records"
done
rm -r /var/tmp/earlier /var/lib/assay/admin.token

step 'a backup is where it was asked for, and comes back with its owners'
assay backup /var/tmp/monday --data /var/lib/assay >backed-up 2>&1 || { cat backed-up; fail 'assay backup'; }
grep -q 'every sum is right' backed-up || { cat backed-up; fail 'the backup does not say that it was read back'; }
[ -e /var/tmp/monday/leader/cluster.db ] || fail 'there is no backup in /var/tmp/monday'
[ "$(stat -c '%U %a' /var/tmp/monday)" = 'root 700' ] || fail 'others can get at the backup'
[ -z "$(find /var/lib/assay ! -user assay)" ] || { find /var/lib/assay ! -user assay; fail 'the backup left files of root'; }
assay restore /var/tmp/monday --data /var/lib/again >restored 2>&1 || { cat restored; fail 'assay restore'; }
[ "$(stat -c '%U %a' /var/lib/again)" = 'assay 700' ] || fail 'the restored folder has another owner or mode'
[ -z "$(find /var/lib/again ! -user assay)" ] || { find /var/lib/again ! -user assay; fail 'restored files have another owner'; }
runuser -u assay -- assay runs --data /var/lib/again | grep -qw before || fail 'the run is not in the restored folder'
printf x >>/var/tmp/monday/leader/tokens.jsonl
assay restore /var/tmp/monday --data /var/lib/damaged >restored 2>&1 && fail 'a damaged backup is restored'
grep -q "leader/tokens.jsonl" restored || { cat restored; fail 'it does not name the damaged file'; }
rm -r /var/tmp/monday /var/lib/again

step 'scheduled backups'
echo 'ASSAY_SERVE_BACKUP_TO=/var/lib/assay-backups' >>/etc/assay/leader.env
systemctl restart assay-leader || fail 'the leader does not start with scheduled backups'
is_backed_up() { [ -n "$(find /var/lib/assay-backups -name assay-backup.jsonl ! -path '*.partial/*')" ]; }
wait_for 'there is no scheduled backup' is_backed_up
sed -i '/ASSAY_SERVE_BACKUP_TO/d' /etc/assay/leader.env
systemctl restart assay-leader || fail 'the leader does not start without scheduled backups'
node_is_online 'the node is not online after its leader was started again'

step 'reload'
systemctl reload assay-leader || fail 'systemctl reload assay-leader'
node_is_online 'the node is not online after a reload'

step 'upgrade: data and node are kept, services are restarted'
leader=$(pid_of assay-leader) agent=$(pid_of assay-agent)
key=$(cksum /var/lib/private/assay-agent/key)
for file in /etc/assay/*.yaml; do if [ -e "$file" ]; then echo '# mine' >>"$file"; fi; done
apt-get install --yes /shared/new/*.deb >upgraded 2>&1 || { cat upgraded; fail 'upgrading'; }
for unit in assay-leader assay-agent; do systemctl --quiet is-active $unit || fail "$unit does not run after the upgrade"; done
[ "$(pid_of assay-leader)" != "$leader" ] || fail 'the leader was not restarted'
[ "$(pid_of assay-agent)" != "$agent" ] || fail 'the agent was not restarted'
node_is_online 'the node is gone after the upgrade'
[ "$(cksum /var/lib/private/assay-agent/key)" = "$key" ] || fail 'the node has another key'
as_leader runs | grep -qw before || fail 'the run is gone after the upgrade'
for file in /etc/assay/*.yaml; do if [ -e "$file" ]; then grep -q '^# mine' "$file" || fail "$file was written over"; fi; done
[ -z "$(systemctl list-units --failed --no-legend 'assay*')" ] || { systemctl --failed; fail 'a unit of ours has failed'; }

step 'purge: says what it leaves'
apt-get purge --yes assay-leader assay-agent assay >purged 2>&1 || { cat purged; fail 'purging'; }
for left in /var/lib/assay /var/lib/private/assay-agent; do
  grep -q "$left is left" purged || { cat purged; fail "it does not say that it leaves $left"; }
done
[ -e /var/lib/assay/leader/cluster.db ] || fail 'the data is gone'
grep -q '/var/lib/assay-backups is left' purged || { cat purged; fail 'it does not say that it leaves backups'; }
[ ! -e /etc/assay ] || { ls /etc/assay; fail 'settings are left'; }
[ -z "$(find /proc/[0-9]*/exe -lname '*/bin/assay*' 2>/dev/null)" ] || fail 'something still runs'
[ -z "$(find /etc/systemd /usr/lib/systemd -name 'assay-leader*' -o -name 'assay-agent*')" ] || fail 'something of the units is left'

step 'the tarball takes the data over, and goes again'
mkdir tarball
tar -xzf /shared/assay.tar.gz -C tarball --strip-components 1
tarball/install.sh --leader --agent || fail 'install.sh'
hash -r
rm join.token
assay-leader-setup || fail 'assay-leader-setup of the tarball'
assay-agent-join https://127.0.0.1:8470 <join.token || fail 'assay-agent-join of the tarball'
node_is_online 'the node of the tarball is not online'
as_leader runs | grep -qw before || fail 'the run is gone'
tarball/install.sh --uninstall >removed || fail 'install.sh --uninstall'
grep -q 'Left: /var/lib/assay' removed || { cat removed; fail 'it does not say what it leaves'; }
for gone in /usr/local/bin/assay /etc/systemd/system/assay-leader.service; do [ ! -e $gone ] || fail "$gone is left"; done

step 'done'
