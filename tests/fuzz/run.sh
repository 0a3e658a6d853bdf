#!/usr/bin/env bash
# Runs the fuzzers: tests/fuzz/run.sh [TARGET…]   (make fuzz)
#   FUZZ_SECONDS  for each target, default 600
#   FUZZ_JOBS     targets at a time, default one per core
# Builds them with clang (libFuzzer, ASan, UBSan) into build-fuzz/, where the grown corpus stays for the next campaign and every
# input that broke something is kept. A campaign over all targets writes its figures into docs/fuzzing.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tools/shell.sh

build="build-fuzz"
seconds=${FUZZ_SECONDS:-600}
jobs=${FUZZ_JOBS:-$(nproc)}
mapfile -t all < <(cd tests/fuzz && ls fuzz-*.c | sed 's/^fuzz-//; s/\.c$//')
targets=("$@")
[ $# -gt 0 ] || targets=("${all[@]}")

command -v clang >/dev/null || die "clang is missing" "tools/install-deps.sh test installs it"
[ -f $build/build.ninja ] || CC=clang meson setup $build -Db_sanitize=address,undefined -Db_lundef=false \
	-Dc_args=-fsanitize=fuzzer-no-link >/dev/null
say "building ${#targets[@]} targets"
ninja -C $build "${targets[@]/#/tests/fuzz/fuzz-}" >$build/build.log || {
	tail -n 30 $build/build.log >&2
	exit 1
}
mkdir -p $build/crashes $build/logs

# Inputs that broke something since the campaign began. Inputs that libFuzzer calls slow are not counted: they took 10 s
# by the clock of a busy machine.
new_crashes() { find $build/crashes -type f -name "$1-*" ! -name '*-slow-unit-*' -newer $build/logs/started | sort; }

# Leaves its figures in $build/logs/TARGET.row: seconds, executions, executions per second, new units, crashes.
campaign() {
	local target=$1 log=$build/logs/$1.log began=$SECONDS
	mkdir -p "$build/corpus/$target"
	# An input may take 1 s of CPU time (limits.c), 5 s by the clock, 384 MiB with what ASan needs, and 128 MiB at once.
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 ASAN_OPTIONS=detect_leaks=1:quarantine_size_mb=16 HUSK_LOG=error \
		"$build/tests/fuzz/fuzz-$target" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=384 -malloc_limit_mb=128 \
		-max_len=65536 -print_final_stats=1 \
		-dict=tests/fuzz/words.dict -artifact_prefix="$build/crashes/$target-" \
		"$build/corpus/$target" "tests/fuzz/corpus/$target" >"$log" 2>&1 || true
	figure() { sed -n "s/^stat::$1: *//p" "$log" | tail -n 1; }
	printf '%s|%s|%s|%s|%s|%s\n' "$target" $((SECONDS - began)) "$(figure number_of_executed_units)" \
		"$(figure average_exec_per_sec)" "$(figure new_units_added)" "$(new_crashes "$target" | wc -l)" >"$build/logs/$target.row"
}

say "$seconds s for each target, $jobs at a time"
rm -f $build/logs/*.row
touch $build/logs/started
for target in "${targets[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
		wait -n
	done
	campaign "$target" &
done
wait

table() {
	printf '| target | seconds | executions | executions/s | new units | crashes |\n|---|---:|---:|---:|---:|---:|\n'
	cat $build/logs/*.row | sed 's/|/ | /g; s/^/| /; s/$/ |/'
}
table

if [ $# -eq 0 ]; then
	{
		sed '/<!-- figures -->/q' docs/fuzzing.md
		printf '%s, %s cores, %s targets at a time, %s:\n\n' "$(date -u +%F)" "$(nproc)" "$jobs" \
			"$(clang --version | sed -n '1s/.*clang version \([0-9.]*\).*/clang \1/p')"
		table
		sed -n '/<!-- end of figures -->/,$p' docs/fuzzing.md
	} >$build/fuzzing.md
	cat $build/fuzzing.md >docs/fuzzing.md
fi

broken=0
for target in "${targets[@]}"; do
	while IFS= read -r crash; do
		broken=1
		printf '\n%s (%s bytes)\n' "$crash" "$(stat -c %s "$crash")"
		grep -E 'broken:|ERROR:|runtime error:|^ +#[0-9] |SUMMARY' "$build/logs/$target.log" | head -n 15 | sed 's/^/    /'
	done < <(new_crashes "$target")
done
exit $broken
