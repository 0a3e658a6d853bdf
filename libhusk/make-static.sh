#!/bin/sh
# Makes libhusk.a, for programs that link it: one object of all our archives. Only names that begin with husk_ are
# global in it, so that other names cannot clash with those of the program.   make-static.sh OUTPUT ARCHIVE…
set -eu
output=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
${LD:-ld} -r --whole-archive "$@" -o "$folder/husk.o"
${OBJCOPY:-objcopy} --wildcard --keep-global-symbol='husk_*' "$folder/husk.o"
rm -f "$output"
${AR:-ar} rcs "$output" "$folder/husk.o"
