"""Text, plots and displays of R keep their order."""

import json

import pytest
from r_session import Session


@pytest.fixture(scope="module")
def r():
    session = Session()
    yield session
    session.close()


def shown_in_order(outcome):
    """The output as a reader sees it: text, and P for a picture where its display began."""
    shown, places = [], {}
    for kind, what in outcome.log:
        if kind != "display":
            shown.append(what.decode().strip())
        elif what.get("update"):
            shown[places[what["display_id"]]] = "P"
        else:
            places[what.get("display_id")] = len(shown)
            shown.append("P" if what["data"] else "")
    return " ".join(filter(None, shown))


@pytest.mark.parametrize("code, order", [
    ('cat("a\\n"); plot(1); cat("b\\n")', "a P b"),
    ('plot(1); cat("a\\n"); lines(1:2); message("b")', "P a b"),
    ('for (i in 1:2) { plot(i); cat(i, "\\n") }', "P 1 P 2"),
    ('for (i in 1:2) { cat(i, "\\n"); plot(i) }', "1 P 2 P"),
    ('plot(1); system("echo a"); plot(2); display_html("h"); print(3)', "P a P P [1] 3"),
    ('par(mfrow = c(1, 2)); plot(1); cat("a\\n"); plot(2); cat("b\\n")', "P a\nb"),
    ('library(ggplot2); print(ggplot(mtcars, aes(wt, mpg)) + geom_point()); cat("a\\n")', "P a"),
    ('f <- tempfile(); pdf(f); plot(1); cat("a\\n"); invisible(dev.off()); cat("b\\n")', "a\nb"),
    ('library(ggplot2); try(print(ggplot(mtcars, aes(nope, mpg)) + geom_point()), silent = TRUE); cat("a\\n")', "a"),
])
def test_plots_are_placed_where_they_were_started(r, code, order):
    assert shown_in_order(r.run(code)) == order


def test_a_page_alone_costs_one_display(r):
    assert [set(display) & {"update", "display_id"} for display in r.run('cat("a\\n"); plot(1); plot(2)').displays] == [set(), set()]


def test_both_streams_in_the_order_they_were_printed(r):
    code = """for (i in 1:50) {
        cat("o\n"); message("e"); write("e2", stderr()); print(i); warning("w", immediate. = TRUE); writeLines("l")
    }"""
    log = [(kind, what.decode()) for kind, what in r.run(code).log]
    assert log == [part for i in range(1, 51) for part in (
        ("stdout", "o\n" if i == 1 else "l\no\n"), ("stderr", "e\ne2\n"), ("stdout", f"[1] {i}\n"), ("stderr", "Warning: w\n"),
    )] + [("stdout", "l\n")]


def test_code_that_prints_without_r_is_in_order_too(r):
    source = '#include <stdio.h>\nvoid say(void) { printf("c "); }'
    r.run(f"writeLines({json.dumps(source)}, 'say.c'); system('R CMD SHLIB say.c >/dev/null 2>&1'); dyn.load('say.so')")
    assert r.run('cat("a "); invisible(.C("say")); cat("b\\n"); invisible(.C("say"))').stdout == "a c b\nc "
