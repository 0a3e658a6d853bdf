#!/usr/bin/env python3
"""Prints docs/behaviours.md from the table of behaviours: tests/e2e/behaviours_page.py >docs/behaviours.md

Fails with the reason if a language's column does not fit the rows. tests/lint/check-behaviours.sh compares the
page with this output.
"""

import sys
import textwrap

import behaviours
import languages

HEAD = """# Behaviour of sessions, by language

The tests in `tests/e2e/test_behaviours.py` check each cell of this table through the real server.
Each row is a function in `tests/e2e/behaviours.py`, and each column is a module in
`tests/e2e/languages/`. The first columns are the languages that `husk setup` builds. The others are
those of `runtimes/contrib/`: stock Jupyter kernels behind husk-jupyter.

✓ means that a test shows the behaviour. A number refers to the reason below why it does not apply.
`tests/e2e/behaviours_page.py` writes this page, and a lint check compares it with the tests.
"""


def problems(columns):
    """Returns the problems of the columns as sentences."""
    for language, column in columns.items():
        for name in sorted(column.keys() ^ behaviours.ROWS.keys()):
            yield f"{language}: '{name}' is {'not a row' if name in column else 'missing'}"
        for name in column.keys() & behaviours.ROWS.keys():
            cell, wanted = column[name], behaviours.fields_of(behaviours.ROWS[name])
            if isinstance(cell, languages.Absent):
                if len(cell) < 20:
                    yield f"{language}: '{name}' is absent without a reason"
            elif sorted(cell) != sorted(wanted):
                yield f"{language}: '{name}' has {sorted(cell)}, the row takes {sorted(wanted)}"


def item(number, text):
    """The lines of an item of a numbered list."""
    return textwrap.wrap(text, 100, initial_indent=f"{number}. ", subsequent_indent=" " * len(f"{number}. "),
                         break_long_words=False, break_on_hyphens=False)


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
    lines += ["", *(line for n, reason in enumerate(reasons, 1) for line in item(n, reason))]
    return "\n".join(lines)


def main():
    columns = {**languages.columns(), **languages.contrib_columns()}
    found = sorted(problems(columns))
    if found:
        sys.exit("\n".join(found))
    print(page(columns))


if __name__ == "__main__":
    main()
