#!/usr/bin/env bash
# The man pages are well-formed. tests/unit/test-pages.c compares those that are generated with the tables in the code.
# docs/cli.md names every verb, and the page of the library every option of a session.
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

# The members of struct husk_create in the header: the last word before ';', ',' or the parameters of a callback.
options_of_sessions() {
	sed -n '/^struct husk_create {/,/^};/p' libhusk/husk.h | sed 's,/\*.*,,; /^\t \*/d' | grep ';' |
		sed -E 's/\(\*([a-z_]+)\).*/\1;/' | tr ',' '\n' | grep -oE '[a-z_]+;?[[:blank:]]*$' | tr -d '; \t'
}

if [ -f libhusk/husk.h ] && [ -f docs/libhusk.3 ]; then
	for option in $(options_of_sessions); do
		[ "$option" = size ] || grep -qE "^\.Va $option( |\$)" docs/libhusk.3 || complain "docs/libhusk.3: struct husk_create has '$option', which the page does not name"
	done
fi

if [ -f cli/verbs.c ] && [ -f docs/cli.md ]; then
	while read -r verb; do
		[ "$verb" = help ] || grep -qE "\`husk ${verb}[ \`]" docs/cli.md || complain "docs/cli.md: does not name the verb '$verb'"
	done < <(sed -nE 's/^\t\t\.name = "([a-z]+)",$/\1/p' cli/verbs.c)
fi

finish
