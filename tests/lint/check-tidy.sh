#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy on every C file of the program.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v clang-tidy >/dev/null || {
	echo "clang-tidy is missing: tools/install-deps.sh test installs it"
	exit 1
}

# The flags of the build where there is one; a tree without (the self-test's) gets the essential ones.
build=$root/${BUILD:-build}
if [ -f "$build/compile_commands.json" ]; then
	export TIDY_DATABASE="-p=$build --extra-arg=-Wno-unknown-warning-option" TIDY_FLAGS=
else
	export TIDY_DATABASE="" TIDY_FLAGS="-- -std=gnu17 -D_GNU_SOURCE -I$root"
fi
# shellcheck disable=SC2016 # the inner shell expands them
report=$(files 'base/*.c' 'kernels/*.c' 'manager/*.c' 'mcp/*.c' 'cli/*.c' 'libhusk/*.c' | grep -v /examples/ |
	xargs -r -P "$(nproc)" -n 3 sh -c 'clang-tidy --quiet $TIDY_DATABASE "$@" $TIDY_FLAGS 2>/dev/null' tidy || true)
while IFS= read -r line; do
	complain "${line#"$root/"}"
done < <(grep -E ': (error|warning): ' <<<"$report" | sort -u || true)

finish
