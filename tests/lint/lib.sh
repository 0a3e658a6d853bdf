# Functions that the lint checks share; they source this file. A check takes the tree to look at as its argument
# (default: this repository), prints each violation as FILE:LINE: WHAT and exits 1 if there was one.
# tests/lint/self-test.sh shows that each check can fail.
# shellcheck shell=bash
set -euo pipefail

root=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
cd "$root"
violations=0

complain() {
	printf '%s\n' "$*"
	violations=$((violations + 1))
}

finish() {
	[ "$violations" -eq 0 ] || {
		printf '%s: %d violation(s)\n' "${0##*/}" "$violations"
		exit 1
	}
}

# files PATTERN…: tracked and new files that match; in a folder that is not a repository, all of them. Never files that git ignores.
files() {
	{
		if [ -e .git ]; then
			git ls-files --cached --others --exclude-standard -- "$@"
		else
			local pattern
			for pattern in "$@"; do
				find . -type f -path "./${pattern}" | sed 's,^\./,,'
			done
		fi
	} | sort -u | while IFS= read -r file; do
		[ ! -f "$file" ] || printf '%s\n' "$file"
	done
}
