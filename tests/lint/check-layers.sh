#!/usr/bin/env bash
# The include arrow, cycles and third-party headers: layers.py knows the rules.
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/layers.py" "$@"
