#!/bin/sh
# libhusk.a for programs that link it: one object of all our archives, in which only husk_* is global, so that no name of ours
# meets one of theirs.   make-static.sh OUTPUT ARCHIVE…
set -eu
output=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
${LD:-ld} -r --whole-archive "$@" -o "$folder/husk.o"
${OBJCOPY:-objcopy} --wildcard --keep-global-symbol='husk_*' "$folder/husk.o"
rm -f "$output"
${AR:-ar} rcs "$output" "$folder/husk.o"
