#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy on every C file of the program. A file that it found nothing in is not looked at again until
# something changes that its word depends on (tidy_keys.py): the folder tidy of the build has an empty file for each such key.
home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v clang-tidy >/dev/null || {
	echo "clang-tidy is missing: tools/install-deps.sh test installs it"
	exit 1
}

mapfile -t sources < <(files 'base/*.c' 'jupyter/*.c' 'kernels/*.c' 'manager/*.c' 'mcp/*.c' 'attach/*.c' 'cli/*.c' 'libhusk/*.c' | grep -v /examples/)
# The flags of the build where there is one; a tree without (the self-test's) gets the essential ones.
build=$root/${BUILD:-build}
keys=() unknown=()
if [ -f "$build/compile_commands.json" ]; then
	export TIDY_DATABASE="-p=$build --extra-arg=-Wno-unknown-warning-option" TIDY_FLAGS=
	keyed=$(python3 -B "$home/tidy_keys.py" "$build" "${sources[@]}")
	while read -r key file; do
		[ "$key" = - ] || keys+=("$key")
		[ -e "$build/tidy/$key" ] || unknown+=("$file")
	done <<<"$keyed"
else
	export TIDY_DATABASE="" TIDY_FLAGS="-- -std=gnu17 -D_GNU_SOURCE -I$root"
	unknown=("${sources[@]}")
fi
# shellcheck disable=SC2016 # the inner shell expands them
report=$(printf '%s\n' "${unknown[@]}" |
	xargs -r -P "$(nproc)" -n 3 sh -c 'clang-tidy --quiet $TIDY_DATABASE "$@" $TIDY_FLAGS 2>/dev/null' tidy) || status=$?
while IFS= read -r line; do
	complain "${line#"$root/"}"
done < <(grep -E ': (error|warning): ' <<<"$report" | sort -u || true)
[ -z "${status:-}" ] || [ "$violations" -gt 0 ] || complain "clang-tidy failed: $report"

if [ "$violations" -eq 0 ] && [ ${#keys[@]} -gt 0 ]; then
	rm -rf "$build/tidy"
	mkdir "$build/tidy"
	(cd "$build/tidy" && touch "${keys[@]}")
fi
finish
