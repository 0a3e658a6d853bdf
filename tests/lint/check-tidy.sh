#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy on every C file of the program. A file in which it found nothing is not checked again until
# something changes that the finding depends on (tidy_keys.py). A folder in the user's cache has an empty file for each
# such key. Clones share it, because they have the same keys.
home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v clang-tidy >/dev/null || {
	echo "clang-tidy is missing: tools/install-deps.sh test installs it"
	exit 1
}

mapfile -t sources < <(files 'base/*.c' 'http/*.c' 'jupyter/*.c' 'kernels/*.c' 'manager/*.c' 'mcp/*.c' 'api/*.c' 'attach/*.c' 'cli/*.c' 'libhusk/*.c' | grep -v /examples/)
# The flags of the build, if there is one. A tree without a build (the self-test's) gets the essential flags.
build=$root/${BUILD:-build}
known=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/husk-tidy
keys=() unknown=()
if [ -f "$build/compile_commands.json" ]; then
	export TIDY_DATABASE="-p=$build --extra-arg=-Wno-unknown-warning-option" TIDY_FLAGS=
	keyed=$(python3 -B "$home/tidy_keys.py" "$build" "${sources[@]}")
	while read -r key file; do
		[ "$key" = - ] || keys+=("$key")
		[ -e "$known/$key" ] || unknown+=("$file")
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
	mkdir -p "$known"
	(cd "$known" && touch "${keys[@]}" && find . -type f -mtime +30 -delete)
fi
finish
