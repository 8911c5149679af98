#!/usr/bin/env bash
# Compiles by way of ccache, such that a second checkout finds what the first has compiled:
#
#   scripts/cached_compiler.sh CCACHE COMPILER ARGUMENT…      CMake's compiler launcher
#
# Paths count relative to the checkout. ccache sees to that, but for those that clang gets behind -Xclang.
# A precompiled header of clang holds the paths of its own checkout: it is made anew in each, and what is compiled with it
# counts as compiled with the text of that header (ccache's "external checksum").
set -eu
root=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
ccache=$1
shift
arguments=()
for argument; do arguments+=("${argument#"$PWD/"}"); done

if [[ " $* " == *' -emit-pch '* ]]; then
  preprocess=()
  output=
  for ((i = 0; i < ${#arguments[@]}; ++i)); do
    case ${arguments[i]} in
      -o) output=${arguments[++i]} ;;
      -MF | -MT) ((++i)) ;;
      -MD) ;;
      -Xclang) if [[ ${arguments[i + 1]} == -emit-pch ]]; then ((++i)); else preprocess+=(-Xclang); fi ;;
      *) preprocess+=("${arguments[i]}") ;;
    esac
  done
  "${arguments[@]}"
  {
    all=${preprocess[*]}
    all=${all//"$PWD"/.}
    echo "${all//"$root"/.}"
    "${preprocess[@]}" -E -P
  } | sha256sum >"$output.sum"
  exit
fi
export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
# Files that are compiled together are included by their whole paths, and assertions name the file that they stand in.
exec "$ccache" "${arguments[@]}" "-fmacro-prefix-map=$root/="
