#!/usr/bin/env bash
# Runs shellcheck on every shell script, where it is installed; elsewhere at least a syntax check.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while IFS= read -r file; do
	case $(head -n 1 "$file") in
	'#!'*bash | '#!'*/sh) ;;
	*) [[ $file == *.sh ]] || continue ;;
	esac
	bash -n "$file" || complain "$file: does not parse"
	command -v shellcheck >/dev/null || continue
	while IFS= read -r line; do
		complain "$line"
	done < <(shellcheck --format=gcc --external-sources --source-path=SCRIPTDIR --exclude=SC1091 --severity=warning "$file" || true)
done < <(files '*.sh' '.ci/run' 'tests/run' 'tools/*')

finish
