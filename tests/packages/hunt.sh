# What a hostile run could try on a node that is the head, too: it says what it could read, and should say nothing.
for file in /etc/assay/join.token /etc/assay/leader.key /var/lib/private/assay-agent/* /var/lib/assay-agent/* /run/credentials/*/* \
  "${CREDENTIALS_DIRECTORY:-/none}"/* /var/lib/assay/leader/* /var/lib/assay/leader/*/* /var/lib/assay-backups/* /var/lib/assay-backups/*/*/* \
  /var/tmp/*/leader/* /root/* /dev/mem /dev/kmem; do
  [ ! -d "$file" ] || continue
  if head -c 1 "$file" >/dev/null 2>&1; then echo "read: $file"; fi
done
for process in /proc/[0-9]*; do
  [ "$(cat "$process/comm" 2>/dev/null)" = assay ] || continue
  if tr '\0' '\n' <"$process/environ" 2>/dev/null | grep -qE 'CREDENTIALS_DIRECTORY|TOKEN'; then echo "read: $process/environ"; fi
  if head -c 1 "$process/mem" >/dev/null 2>&1; then echo "read: $process/mem"; fi
  for descriptor in "$process"/fd/*; do
    case "$(readlink "$descriptor" 2>/dev/null)" in */key|*.token|*.db) echo "read: $descriptor" ;; esac
  done
done
env | grep -E 'CREDENTIALS|TOKEN' | sed 's/^/read: environment: /'
# Whatever lies about: tokens and keys have a shape of their own.
grep -rslaE 'assay_[0-9a-f]{64}' /etc /home /opt /root /run /srv /tmp /var /dev/shm 2>/dev/null | sed 's/^/read: /'
for command in 'ls /var/lib/assay' 'ls /var/lib/assay-backups' 'touch /var/lib/assay/mine' 'touch /etc/assay/mine' 'assay token list --data /var/lib/assay'; do
  if $command >/dev/null 2>&1; then echo "read: $command"; fi
done
touch kept-beside-me && test -w "$HOME" && echo hunted=1
