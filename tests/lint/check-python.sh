#!/usr/bin/env bash
# Ruff finds nothing in our Python (ruff.toml lists its checks). Ruff is one of the test tools in BUILD/venv.
home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$home/lib.sh"

ruff=$home/../../${BUILD:-build}/venv/bin/ruff
mapfile -t sources < <(files '*.py' 'tests/run' 'bench/run')
[ ${#sources[@]} -gt 0 ] || exit 0
[ -x "$ruff" ] || {
	echo "$ruff is missing: tools/install-deps.sh test installs it"
	exit 1
}

while IFS= read -r line; do
	complain "$line"
done < <("$ruff" check --config "$home/ruff.toml" --no-cache --quiet --output-format concise "${sources[@]}" || true)

finish
