#!/usr/bin/env bash
# Links, wrapping, code blocks and lengths of the Markdown pages: pages.py knows the rules.
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/pages.py" "$@"
