#!/bin/sh
# Installs assay from the folder that this script is in, where there are no packages for the system.
set -eu

usage() {
  cat <<TEXT
Install assay from this folder
Usage: install.sh [OPTIONS]

Options:
  -h,--help                   Show this help
  --prefix DIR                Where to: DIR/bin, DIR/sbin, DIR/share [/usr/local; without root ~/.local]
  --leader                    With the service of the leader: its unit, its user assay, /etc/assay
  --agent                     With the service of the agent: its unit, /etc/assay
  --uninstall                 Remove what was installed there; data and settings stay

Services need root and systemd. Without them 'assay serve' and 'assay agent' are started by hand.
TEXT
}

fail() { echo "install.sh: $1" >&2; exit "${2:-1}"; }

from=$(cd "$(dirname "$0")" && pwd)
if [ "$(id -u)" -eq 0 ]; then prefix=/usr/local; else prefix=$HOME/.local; fi
services='' uninstall=''
while [ $# -gt 0 ]; do
  case "$1" in
    -h|--help) usage; exit 0 ;;
    --prefix) prefix=${2:?--prefix needs a folder}; shift 2 ;;
    --leader) services="$services leader"; shift ;;
    --agent) services="$services agent"; shift ;;
    --uninstall) uninstall=1; shift ;;
    *) usage >&2; exit 2 ;;
  esac
done
case "$prefix" in /*) ;; *) prefix=$PWD/$prefix ;; esac
# What was put where, for --uninstall.
list=$prefix/share/assay/installed

with_systemd() { [ "$(id -u)" -eq 0 ] && [ -d /run/systemd/system ]; }

remove() {
  [ -f "$list" ] || fail "nothing of assay was installed below $prefix" 2
  for unit in assay-agent assay-leader; do
    if with_systemd && grep -qx "/etc/systemd/system/$unit.service" "$list"; then systemctl --quiet disable --now "$unit.service"; fi
  done
  while read -r file; do rm -f "$file"; done <"$list"
  rm -f "$list"
  rmdir "$prefix/share/assay"
  if with_systemd; then systemctl daemon-reload; fi
  echo "assay is removed from $prefix."
  if [ "$(id -u)" -eq 0 ]; then rmdir --ignore-fail-on-non-empty /var/lib/assay-backups 2>/dev/null || true; fi
  for left in /etc/assay /var/lib/assay /var/lib/assay-backups /var/lib/private/assay-agent; do
    if [ "$(id -u)" -eq 0 ] && [ -e $left ]; then echo "Left: $left"; fi
  done
  if id assay >/dev/null 2>&1; then echo 'Left: the user assay'; fi
}

# place MODE FILE TO: also over a program that is running.
place() {
  mkdir -p "$(dirname "$3")"
  rm -f "$3"
  cp "$2" "$3"
  chmod "$1" "$3"
  echo "$3" >>"$list"
}

install_program() {
  place 755 "$from/bin/assay" "$prefix/bin/assay"
  (cd "$from/share" && find . -type f) | while read -r file; do
    place 644 "$from/share/$file" "$prefix/share/${file#./}"
  done
}

add_user() {
  id assay >/dev/null 2>&1 && return
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers "$from/sysusers/assay-leader.conf"
  else
    useradd --system --home-dir /var/lib/assay --no-create-home --shell /usr/sbin/nologin assay
  fi
}

install_service() {
  with_systemd || fail "the $1's service needs root and a running systemd" 3
  # Its programs are called by their names, where root's PATH finds them.
  for tool in "$from"/sbin/assay-"$1"-*; do place 755 "$tool" "$prefix/sbin/$(basename "$tool")"; done
  sed "s#/usr/bin/assay#$prefix/bin/assay#" "$from/systemd/assay-$1.service" >"$prefix/share/assay/unit"
  place 644 "$prefix/share/assay/unit" "/etc/systemd/system/assay-$1.service"
  rm "$prefix/share/assay/unit"
  mkdir -p /etc/assay
  # Settings are the administrator's: what is there stays.
  if [ -e "$from/etc/$1.yaml" ] && [ ! -e "/etc/assay/$1.yaml" ]; then cp "$from/etc/$1.yaml" /etc/assay/; fi
  if [ "$1" = leader ]; then
    add_user
    install -d -o assay -g assay -m 700 /var/lib/assay /var/lib/assay-backups
  fi
  systemctl daemon-reload
  if systemctl --quiet is-active "assay-$1.service"; then systemctl restart "assay-$1.service"; fi
}

if [ -n "$uninstall" ]; then
  remove
  exit 0
fi
umask 022
mkdir -p "$prefix/share/assay"
: >"$list"
install_program
for service in $services; do install_service "$service"; done
echo "assay $(cat "$from/VERSION") is in $prefix/bin/assay."
case " $services " in *' leader '*) echo 'Next, here: assay-leader-setup' ;; esac
case " $services " in *' agent '*) echo 'Next, here: assay-agent-join https://LEADER:8470 < join.token' ;; esac
