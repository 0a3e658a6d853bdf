#!/usr/bin/env bash
# A source file has at most 700 lines: split by noun before that. Comments may pass the 120 columns of .clang-format, but
# not by much; a message in one piece may be longer.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

lines_max=700
columns_max=140
message_columns_max=200

while IFS= read -r file; do
	lines=$(wc -l <"$file")
	[ "$lines" -le $lines_max ] || complain "$file: $lines lines, at most $lines_max"
	while IFS= read -r at; do
		complain "$file:$at: longer than $columns_max columns ($message_columns_max with a string in it)"
	done < <(expand -t 8 "$file" | LC_ALL=C.UTF-8 awk -v max=$columns_max -v message=$message_columns_max \
		'length($0) > (/".*"/ ? message : max) { print NR }')
done < <(files '*.c' '*.h' '*.py' '*.mjs')

finish
