#!/usr/bin/env bash
# Checks the direction of includes, cycles and third-party headers; layers.py has the rules.
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/layers.py" "$@"
