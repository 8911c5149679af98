#!/usr/bin/env bash
# Makes the Debian packages assay, assay-leader and assay-agent, and a tarball for other systems: see packaging/README.md.
#   packaging/build.sh                     builds the release program first, where that is needed; puts them into build/packages
#   packaging/build.sh --out DIR           … into another folder
#   packaging/build.sh --program FILE      … of a program that is built already
#   packaging/build.sh --version VERSION   … with another version than CMake's and git's
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
here=$PWD/packaging

usage() { sed -n '2,6s/^# \{0,1\}//p' "$here/build.sh"; }
out=build/packages program='' version=''
while [ $# -gt 0 ]; do
  case "$1" in
    --out) out=${2:?--out needs a folder}; shift 2 ;;
    --program) program=${2:?--program needs a file}; shift 2 ;;
    --version) version=${2:?--version needs a version}; shift 2 ;;
    -h|--help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

# CMake's version; unless its tag is checked out, with the commit: sorted before the version while that has no tag yet,
# and after it from then on.
version_of_tree() {
  local plain commit
  plain=$(sed -nE 's/^project\(assay VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
  if ! commit=$(git log -1 --format=%cd.%h --date=format:%Y%m%d.%H%M --abbrev=7 2>/dev/null); then
    echo "$plain"
  elif [ "$(git describe --tags --exact-match 2>/dev/null)" = "v$plain" ]; then
    echo "$plain"
  elif git merge-base --is-ancestor "v$plain" HEAD 2>/dev/null; then
    echo "$plain+git$commit"
  else
    echo "$plain~git$commit"
  fi
}

# What the program asks the loader for is what the package must depend on.
glibc_of() {
  local newest
  newest=$(readelf --dyn-syms --wide "$1" | grep -oE '@GLIBC_[0-9.]+' | sed 's/@GLIBC_//' | sort -Vu | tail -n 1)
  echo "${newest:?"'$1' does not say which glibc it needs"}"
}

if [ -z "$program" ]; then
  scripts/setup.sh --build-only
  python3 scripts/steps.py build release assay
  program=build/release/bin/assay
fi
version=${version:-$(version_of_tree)}
architecture=$(dpkg --print-architecture 2>/dev/null || uname -m)
maintainer=$(git log -1 --format='%an <%ae>' 2>/dev/null || echo 'The Assay authors <root@localhost>')
if [ -n "${DEBEMAIL:-}" ]; then maintainer="${DEBFULLNAME:-$DEBEMAIL} <$DEBEMAIL>"; fi
# The same commit gives the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CMakeLists.txt)}
export SOURCE_DATE_EPOCH
mkdir -p "$out"
out=$(readlink -f "$out")
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
umask 022

# put MODE FILE FOLDER: into a folder of a tree below $stage.
put() { install -D -m "$1" "$2" "$3/$(basename "$2")"; }

stage_program() {
  local to=$stage/assay
  install -D -m 755 "$program" "$to/usr/bin/assay"
  strip --strip-unneeded --remove-section=.comment "$to/usr/bin/assay"
  mkdir -p "$to/usr/share/bash-completion/completions" "$to/usr/share/zsh/vendor-completions"
  "$program" completion bash >"$to/usr/share/bash-completion/completions/assay"
  # zsh reads the file when `assay` is completed for the first time, and wants that completion done, too.
  { echo '#compdef assay'; "$program" completion zsh; echo '_bash_complete -o default -F _assay'; } \
    >"$to/usr/share/zsh/vendor-completions/_assay"
  local tools=("$here"/sbin/*)
  python3 -B "$here/manpages.py" "$stage/man" "$program" "$version" "${tools[@]}"
  gzip -9n "$stage"/man/man*/*
  mkdir -p "$to/usr/share/man/man1"
  mv "$stage"/man/man1/* "$to/usr/share/man/man1/"
}

# stage_service leader|agent
stage_service() {
  local name=assay-$1 to=$stage/assay-$1 file
  put 644 "$here/systemd/$name.service" "$to/usr/lib/systemd/system"
  for file in "$here"/sbin/"$name"-*; do
    put 755 "$file" "$to/usr/sbin"
    put 644 "$stage/man/man8/$(basename "$file").8.gz" "$to/usr/share/man/man8"
  done
  for file in sysusers tmpfiles; do
    if [ -e "$here/$file/$name.conf" ]; then put 644 "$here/$file/$name.conf" "$to/usr/lib/$file.d"; fi
  done
  mkdir -p "$to/etc/assay"
  if [ -e "$here/$1.yaml" ]; then put 644 "$here/$1.yaml" "$to/etc/assay"; fi
}

stage_docs() {
  local name=$1 to=$stage/$1/usr/share/doc/$1
  put 644 "$here/debian/copyright" "$to"
  printf '%s (%s) unstable; urgency=medium\n\n  * What has changed is in CHANGELOG.md of the source.\n\n -- %s  %s\n' \
    "$name" "$version" "$maintainer" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$to/changelog.gz"
}

pack() {
  local name=$1 tree=$stage/$1 glibc
  glibc=$(glibc_of "$program")
  mkdir -p "$tree/DEBIAN"
  (cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
  find "$tree" -path "$tree/etc/*" -type f -printf '/%P\n' | sort >"$tree/DEBIAN/conffiles"
  [ -s "$tree/DEBIAN/conffiles" ] || rm "$tree/DEBIAN/conffiles"
  sed -e "s/@VERSION@/$version/g; s/@ARCHITECTURE@/$architecture/; s/@GLIBC@/$glibc/; s#@MAINTAINER@#$maintainer#" \
    -e "s/@SIZE@/$(du -sk --exclude DEBIAN "$tree" | cut -f 1)/" "$here/debian/$name/control" >"$tree/DEBIAN/control"
  for script in postinst prerm postrm; do
    if [ -e "$here/debian/$name/$script" ]; then put 755 "$here/debian/$name/$script" "$tree/DEBIAN"; fi
  done
  dpkg-deb --root-owner-group -Zxz -z3 --build "$tree" "$out" >/dev/null
  echo "$out/${name}_${version}_$architecture.deb"
}

# The same files, as install.sh expects them.
pack_tarball() {
  local name tree
  name=assay-$version-linux-$(uname -m)
  tree=$stage/$name
  mkdir -p "$tree/share" "$tree/etc"
  put 755 "$stage/assay/usr/bin/assay" "$tree/bin"
  cp -r "$stage/assay/usr/share/man" "$stage/assay/usr/share/bash-completion" "$tree/share/"
  put 644 "$stage/assay/usr/share/zsh/vendor-completions/_assay" "$tree/share/zsh/site-functions"
  for service in leader agent; do
    local from=$stage/assay-$service
    put 644 "$from/usr/lib/systemd/system/assay-$service.service" "$tree/systemd"
    cp -r "$from/usr/sbin" "$tree/"
    cp -r "$from/usr/share/man" "$tree/share/"
    find "$from/etc/assay" -type f -exec cp {} "$tree/etc/" \;
  done
  cp -r "$here/sysusers" "$here/tmpfiles" "$tree/"
  put 755 "$here/install.sh" "$tree"
  put 644 LICENSE "$tree"
  put 644 CHANGELOG.md "$tree"
  echo "$version" >"$tree/VERSION"
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$stage" -cf - "$name" | gzip -6n >"$out/$name.tar.gz"
  echo "$out/$name.tar.gz"
}

stage_program
stage_service leader
stage_service agent
pack_tarball
if command -v dpkg-deb >/dev/null; then
  for name in assay assay-leader assay-agent; do
    stage_docs "$name"
    pack "$name"
  done
else
  echo 'No dpkg-deb here: no Debian packages were made.' >&2
fi
