"""Queries of consoles and editors to the R kernel."""

import pytest
from r_session import Session


@pytest.fixture(scope="module")
def r():
    with Session() as session:
        session.run("zebra <- list(stripes = 5, size = 1:3); größe <- 1; touched <- 0\n"
                    "double <- function(n, times = 2) {\n  # twice\n  n * times\n}\n"
                    "makeActiveBinding('active', function() touched <<- touched + 1, globalenv())\n"
                    "delayedAssign('later', touched <- touched + 1)\n"
                    "loud <- structure(list(), class = 'loud')\n"
                    ".DollarNames.loud <- function(x, pattern) { print('dir!'); message('dir!'); warning('dir!'); 'shy' }\n"
                    "file.create('data-for-completion.csv')")
        yield session


def test_names_elements_arguments_files_and_packages_are_completed(r):
    assert r.complete("zeb") == ["zebra"]
    assert r.complete("x <- 1\nzebra$str") == ["x <- 1\nzebra$stripes"]
    assert r.complete("zebra$st + 1", 8) == ["zebra$stripes + 1"]
    assert r.complete("'😀'; grö") == ["'😀'; größe"]
    assert "double(times=" in r.complete("double(tim")
    assert "stats::median" in r.complete("stats::medi")
    assert r.complete("read.csv('data-for") == ["read.csv('data-for-completion.csv"]
    assert "library(stats" in r.complete("library(sta")
    assert r.complete("nobody_has_this_na") == []


def test_odd_names_are_quoted_and_nothing_matches_nothing(r):
    r.run("odd <- list(`two words` = 1, `if` = 2, plain = 3, `tick\\`s` = 4); `my var` <- 1")
    assert sorted(r.complete("odd$")) == ["odd$`if`", "odd$`tick\\`s`", "odd$`two words`", "odd$plain"]
    assert r.complete("my") == ["`my var`"] and r.complete("odd$tw") == ["odd$`two words`"]
    assert r.complete("odd$zz") == r.complete("stats::zzzz") == r.complete("stats:::zzzz") == []


def test_help_is_signature_and_page_with_more_on_request(r):
    text = r.help("1 + double(5, ")
    assert "(n, times = 2)" in text and "twice" not in text
    assert "# twice" in r.help("double", detail=1)
    assert "Median Value" in r.help("stats::median") and "na.rm = FALSE" in r.help("median(")
    assert "stripes: num 5" in r.help("zebra") and "num 5" in r.help("zebra$stripes")
    assert r.help("nobody_has_this_name") is None and r.help("") is None


def test_a_query_leaves_nothing_behind(r):
    r.run("40 + 2")
    assert r.complete("loud$s") == ["loud$shy"]
    for name in ("active", "later", "loud"):
        r.help(name)
    outcome = r.run("c(.Last.value, touched)")
    assert outcome.result["text/plain"] == "[1] 42  0" and "dir!" not in outcome.stdout + outcome.stderr, outcome


def test_whole_and_unfinished_code(r):
    assert r.wholeness("x <- 1") == ("complete", "")
    assert r.wholeness("f <- function(x) {") == ("incomplete", "  ")
    for code in ("f(1,", "'text", "1 +", "x <- c(\n  1,", 'r"(text'):
        assert r.wholeness(code)[0] == "incomplete", code
    for code in ("x <- <- 1", "1 2", ")"):
        assert r.wholeness(code)[0] == "invalid", code


def test_answers_are_bounded(r):
    r.run("many <- setNames(as.list(1:5000), paste0('name_', 1:5000, strrep('x', 200)))\nwide <- function() NULL\n"
          "body(wide) <- as.call(c(as.name('{'), rep(list(quote(some_call(with, many, arguments))), 20000)))")
    answer = r.query("complete", "many$")
    assert answer["more"] and len(answer["matches"]) <= 1000
    assert len(r.help("wide", detail=1)) < 40_000


def test_a_cell_does_not_wait_for_a_query(r):
    r.run(".DollarNames.slow <- function(x, pattern) { file.create('asked'); while (TRUE) Sys.sleep(0.01) }\n"
          "slow <- structure(list(), class = 'slow')")
    number = r.client.query("complete", "slow$", cursor=5)
    r.client.terminal("until [ -e asked ]; do sleep 0.01; done")
    assert r.run("1 + 1").result["text/plain"] == "[1] 2"
    assert r.client.answer(number) == {"status": "busy"}
    assert r.complete("zeb") == ["zebra"]
