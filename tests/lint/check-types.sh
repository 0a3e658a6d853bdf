#!/usr/bin/env bash
# mypy --strict finds nothing in the Python module, so its type annotations are correct. mypy is one of the test tools
# in BUILD/venv.
home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$home/lib.sh"

mypy=$home/../../${BUILD:-build}/venv/bin/mypy
mapfile -t sources < <(files 'clients/python/husk/*.py')
[ ${#sources[@]} -gt 0 ] || exit 0
[ -x "$mypy" ] || {
	echo "$mypy is missing: tools/install-deps.sh test installs it"
	exit 1
}

while IFS= read -r line; do
	complain "$line"
done < <("$mypy" --strict --no-error-summary --hide-error-context --no-color-output --cache-dir=/dev/null "${sources[@]}" || true)

finish
