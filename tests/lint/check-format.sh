#!/usr/bin/env bash
# Every C file is formatted by clang-format (see `make format`), and no text file has stray white space.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v clang-format >/dev/null || {
	echo "clang-format is missing: tools/install-deps.sh test installs it"
	exit 1
}

# clang-format's first complaint about each file.
while IFS= read -r at; do
	complain "$at: not as clang-format writes it (make format)"
done < <(files '*.c' '*.h' | xargs -r -d '\n' -n 40 -P "$(nproc)" clang-format --style=file --dry-run 2>&1 |
	sed -nE 's/^([^:]+:[0-9]+):[0-9]+: (warning|error): .*/\1/p' | sort -t : -k 1,1 -k 2,2n | sort -t : -k 1,1 -u -s)

texts() {
	files '*.c' '*.h' '*.py' '*.sh' '*.mjs' '*.build' 'tests/run'
}
while IFS=: read -r file at _; do
	complain "$file:$at: white space at the end of the line"
done < <(texts | xargs -r -d '\n' grep -nHE '[[:blank:]]+$' -- || true)
while IFS= read -r file; do
	complain "$file: no newline at the end"
done < <(texts | while IFS= read -r file; do [ ! -s "$file" ] || [ -z "$(tail -c 1 "$file")" ] || printf '%s\n' "$file"; done)

finish
