#!/usr/bin/env bash
# evidence: binaries
# How the programs are linked: all are position-independent with full RELRO, and PID 1 needs no library.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build=${BUILD:-build}

# has FILE WHAT PATTERN OPTION...: the output of readelf OPTION... FILE must match PATTERN
has() {
	local file=$1 what=$2 pattern=$3
	shift 3
	[ -e "$file" ] || { complain "$file is missing: run make"; return; }
	readelf "$@" "$file" | grep -qE "$pattern" || complain "$file: $what"
}

for program in husk jupyter/face/husk-jupyter-face husk-client husk-fence husk-probe husk-fit; do
	has "$build/$program" 'is not a PIE' 'FLAGS_1.*PIE' -dW
	has "$build/$program" 'binds lazily: no full RELRO' 'FLAGS_1.*NOW' -dW
	has "$build/$program" 'has no RELRO segment' 'GNU_RELRO' -lW
	has "$build/$program" 'has an executable stack' 'GNU_STACK.* RW +0x' -lW
done
for program in husk-client husk-fence husk-probe husk-fit; do
	! readelf -dW "$build/$program" | grep -q NEEDED || complain "$build/$program is not static"
done
# ZeroMQ has its own threads and parses input from other programs, so only the program for Jupyter clients links it.
! readelf -dW "$build/husk" | grep -qE 'NEEDED.*zmq' || complain "$build/husk links libzmq"

finish
