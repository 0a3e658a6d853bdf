#!/usr/bin/env bash
# Every C file is what clang-format makes of it (`make format` does it), and no text file has stray white space.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v clang-format >/dev/null || {
	echo "clang-format is missing: tools/install-deps.sh test installs it"
	exit 1
}

while IFS= read -r file; do
	at=$(diff <(clang-format --style=file --assume-filename="$root/$file" <"$file") "$file" |
		sed -n 's/^[0-9,]*[acd]\([0-9]*\).*/\1/p' | head -n 1 || true)
	[ -z "$at" ] || complain "$file:$at: not as clang-format writes it (make format)"
done < <(files '*.c' '*.h')

while IFS= read -r file; do
	while IFS=: read -r at _; do
		complain "$file:$at: white space at the end of the line"
	done < <(grep -nE '[[:blank:]]+$' "$file" || true)
	[ ! -s "$file" ] || [ -z "$(tail -c 1 "$file")" ] || complain "$file: no newline at the end"
done < <(files '*.c' '*.h' '*.py' '*.sh' '*.mjs' '*.build' 'tests/run')

finish
