#!/usr/bin/env python3
"""Prints docs/behaviours.md from the table of behaviours: tests/e2e/behaviours_page.py >docs/behaviours.md

Fails with the reason if a language's column does not fit the rows. tests/lint/check-behaviours.sh compares the
page with this output.
"""

import sys

import behaviours
import languages

HEAD = """# What a session does, language by language

One table, tested cell by cell through the real server (`tests/e2e/test_behaviours.py`): each row is a function in
`tests/e2e/behaviours.py`, each column a module in `tests/e2e/languages/`. The first columns are the runtimes that `husk setup`
makes; then come those of `runtimes/contrib/`, stock Jupyter kernels behind husk-jupyter. ✓ means that a test shows it; a
number is the reason, below, why a behaviour does not apply. Made by `tests/e2e/behaviours_page.py`; a lint check fails when it
differs from the tests.
"""


def problems(columns):
    """Problems of the columns, as sentences."""
    for language, column in columns.items():
        for name in sorted(column.keys() ^ behaviours.ROWS.keys()):
            yield f"{language}: '{name}' is {'no row' if name in column else 'missing'}"
        for name in column.keys() & behaviours.ROWS.keys():
            cell, wanted = column[name], behaviours.fields_of(behaviours.ROWS[name])
            if isinstance(cell, languages.Absent):
                if len(cell) < 20:
                    yield f"{language}: '{name}' is absent without a reason"
            elif sorted(cell) != sorted(wanted):
                yield f"{language}: '{name}' has {sorted(cell)}, the row takes {sorted(wanted)}"


def page(columns):
    reasons = []

    def cell(column, name):
        if not isinstance(column[name], languages.Absent):
            return "✓"
        if column[name] not in reasons:
            reasons.append(column[name])
        return f"({1 + reasons.index(column[name])})"

    lines = [HEAD, f"| behaviour | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    for name, function in behaviours.ROWS.items():
        marks = " | ".join(cell(column, name) for column in columns.values())
        lines.append(f"| **{name.replace('_', ' ')}**: {behaviours.sentence_of(function)} | {marks} |")
    lines += ["", *(f"{n}. {reason}" for n, reason in enumerate(reasons, 1))]
    return "\n".join(lines)


def main():
    columns = {**languages.columns(), **languages.contrib_columns()}
    found = sorted(problems(columns))
    if found:
        sys.exit("\n".join(found))
    print(page(columns))


if __name__ == "__main__":
    main()
