#!/usr/bin/env bash
# Checks links, wrapping, code blocks and lengths of the Markdown pages; pages.py has the rules.
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/pages.py" "$@"
