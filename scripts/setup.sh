#!/usr/bin/env bash
# Installs what building and testing need on Debian 12/13 and Ubuntu 24.04; elsewhere says what to install.
# Quick when nothing is missing. With --build-only it leaves out what only the tests need.
set -euo pipefail

build=(build-essential cmake ninja-build ccache git ca-certificates python3
  libssl-dev libsodium-dev zlib1g-dev libsqlite3-dev libzstd-dev libyaml-cpp-dev libcli11-dev libspdlog-dev libfmt-dev
  libgtest-dev libgmock-dev
  libtorch-dev libgloo-dev libopenblas0-pthread)
test_only=(procps slurm-wlm slurmrestd munge openmpi-bin mmdebstrap systemd-container slapd openssh-client openssh-server)

# shellcheck disable=SC1091
. /etc/os-release
case "${ID:-}-${VERSION_ID:-}" in
  debian-12*) build+=(libboost1.81-dev libboost-json1.81-dev); test_only+=(chromium) ;;
  debian-13*) build+=(libboost1.83-dev libboost-json1.83-dev); test_only+=(chromium) ;;
  ubuntu-24.04*) build+=(libboost1.83-dev libboost-json1.83-dev); test_only+=(debian-archive-keyring) ;;
  *)
    if [ -n "${ASSAY_SKIP_SETUP:-}" ]; then exit 0; fi
    cat >&2 <<TEXT
assay: this set-up knows Debian 12 and 13 and Ubuntu 24.04, and this is ${PRETTY_NAME:-something else}.
       Install: g++ 12 or newer, CMake 3.25, Ninja, Python 3, and the development files of Boost 1.81 (with Boost.JSON),
       OpenSSL, libsodium, SQLite, zstd, yaml-cpp, CLI11, spdlog, fmt, GoogleTest and LibTorch; for the tests clang, clang-format,
       clang-tidy and lld 16 or newer with the sanitizers' run-time. Then set ASSAY_SKIP_SETUP=1 and run this again.
TEXT
    exit 3 ;;
esac
# Debian's, unless somebody has put others there: those bring their own npm and refuse this one.
command -v node >/dev/null && command -v npm >/dev/null || build+=(nodejs npm)
# The version that all three have: formatting differs a little from one to the next.
clang=19
# (Of llvm, what names the functions in a sanitizer's report: Debian's clang takes that of its own version alone.)
test_only+=("clang-$clang" "clang-format-$clang" "clang-tidy-$clang" "libclang-rt-$clang-dev" "lld-$clang" "llvm-$clang")

wanted=("${build[@]}")
[ "${1:-}" = --build-only ] || wanted+=("${test_only[@]}")

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "assay: not root and no sudo; ask somebody to install: ${missing[*]}" >&2; exit 3; }
  as_root=(sudo)
fi
echo "Installing ${#missing[@]} packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
