#!/usr/bin/env bash
# Each promise of SECURITY.md has a test, each mark beside a test names a promise, and docs/evidence.md lists them.
root=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/../../tools/evidence.py" --check "$root"
