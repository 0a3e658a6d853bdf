#!/usr/bin/env bash
# The man pages of husk-client and husk-jupyter-face, their --help and their code name the same verbs and options, and all pages are
# well-formed. tests/unit/test-pages.c compares husk(1) with the tables in the code.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# compare WHAT FILE-A NAMES-A FILE-B NAMES-B: one name a line each.
compare() {
	local what=$1 a=$2 names_a=$3 b=$4 names_b=$5 name
	while IFS= read -r name; do
		[ -z "$name" ] || complain "$b: $what '$name' of $a is missing"
	done < <(comm -23 <(sort -u <<<"$names_a") <(sort -u <<<"$names_b"))
	while IFS= read -r name; do
		[ -z "$name" ] || complain "$a: $what '$name' of $b is missing"
	done < <(comm -13 <(sort -u <<<"$names_a") <(sort -u <<<"$names_b"))
}

# find_in PATTERN FILE: what the group in an extended regular expression matches, one a line; nothing for a file that is not there.
find_in() {
	[ ! -f "$2" ] || sed -nE "s/^.*$1.*\$/\\1/p" "$2"
}

# The long options in the strings of a C file.
options_in_text() {
	grep -oE '(^|[^A-Za-z-])--[a-z][a-z-]+' "$1" | grep -oE -- '--[a-z-]+' | sed 's/^--//' | sort -u
}

check_program() {
	local source=$1 page=$2 text=$3 verbs=$4
	[ -f "$source" ] || return 0
	[ -f "$page" ] || {
		complain "$page: missing, $source has a program to describe"
		return 0
	}
	compare verb "$source" "$verbs" "$page" "$(find_in '^\.It Cm ([a-z]+)' "$page")"
	# --help and --version are in neither getopt table of a program that looks at its first word only.
	local coded described
	coded=$(grep -oE '\{ "[a-z-]+", (no|required)_argument' "$source" | sed -E 's/^\{ "([a-z-]+)".*/\1/')
	described=$(find_in '^\.It Fl Fl ([a-z-]+)' "$page")
	compare option "$source" "$(printf '%s\nhelp\nversion\n' "$coded")" "$page" "$described"
	compare option "$source's help" "$(sed -n "$text" "$source" | options_in_text /dev/stdin)" "$page" "$described"
}

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

check_program kernels/main.c docs/husk-client.1 '/help\[\] =/,/^$/p' "$(find_in 'streq\(verb, "([a-z]+)"\)' kernels/main.c)"
check_program jupyter/face/options.c docs/husk-jupyter-face.1 '/face_usage\[\] =/,/;/p' ''
check_page docs/husk.1
check_page docs/husk-client.1
check_page docs/husk-jupyter-face.1
check_page docs/libhusk.3

finish
