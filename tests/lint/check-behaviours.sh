#!/usr/bin/env bash
# docs/behaviours.md is up to date with the table of behaviours, and every language's column fits the table.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

maker=tests/e2e/behaviours_page.py

check_page() {
	local page
	if ! page=$(python3 -B $maker 2>&1); then
		while IFS= read -r line; do
			complain "tests/e2e/languages: $line"
		done <<<"$page"
	elif [ "$page" != "$(cat docs/behaviours.md)" ]; then
		complain "docs/behaviours.md: differs from the tests; regenerate it: $maker >docs/behaviours.md"
	fi
}

[ ! -f $maker ] || check_page

finish
