#!/usr/bin/env bash
# A source file has at most 700 lines: split a longer one by noun. Comments may be slightly longer than the 120 columns
# of .clang-format, and a line with a message may be longer still.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

lines_max=700
columns_max=140
message_columns_max=200

while IFS= read -r line; do
	complain "$line"
done < <(files '*.c' '*.h' '*.py' '*.mjs' | LC_ALL=C.UTF-8 xargs -r -d '\n' awk -v lines=$lines_max -v max=$columns_max -v message=$message_columns_max '
	# The width of a line with tabs of 8 columns.
	function width(text,    parts, n, i, sum) {
		n = split(text, parts, "\t")
		for (i = 1; i < n; i++)
			sum += length(parts[i]) + 8 - (sum + length(parts[i])) % 8
		return sum + length(parts[n])
	}
	FNR == 1 { file = FILENAME }
	FNR == lines + 1 { long[file] }
	{ count[file] = FNR }
	width($0) > (/".*"/ ? message : max) { printf "%s:%d: longer than %d columns (%d with a string in it)\n", file, FNR, max, message }
	END { for (file in long) printf "%s: %d lines, at most %d\n", file, count[file], lines }')

finish
