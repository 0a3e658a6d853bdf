#!/usr/bin/env bash
# The man pages are well-formed. tests/unit/test-pages.c compares those that are generated with the tables in the code.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

check_page() {
	[ -f "$1" ] || return 0
	while IFS= read -r line; do
		complain "$1: $line"
	done < <(
		grep -nE '[[:blank:]]+$' "$1" || true
		! command -v mandoc >/dev/null || mandoc -T lint -W warning "$1" || true
		! command -v groff >/dev/null || groff -mdoc -Tutf8 -ww -z "$1" 2>&1 || true
	)
}

check_page docs/husk.1
check_page docs/husk-client.1
check_page docs/husk-jupyter-face.1
check_page docs/libhusk.3

finish
