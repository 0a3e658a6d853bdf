"""The R kernel in its own image, behind the real PID 1. Each test states one fact.

R is not on the host, so these tests play the manager (frames, docs/protocol.md section 1) against a container of
the image that build/images.json names; HUSK_IMAGE_R overrides.
"""

import base64
import shutil
import struct
import subprocess

import measure
import pytest
from container import ROOT, images
from r_session import Session

@pytest.fixture(scope="module")
def shared():
    session = Session()
    yield session
    session.close()


@pytest.fixture
def r(shared):
    """A session in which other tests have run."""
    return shared


@pytest.fixture
def own():
    session = Session()
    yield session
    session.close()


def png_sizes(outcome):
    return [struct.unpack(">II", base64.b64decode(d["data"]["image/png"])[16:24]) for d in outcome.displays]


# Values


def test_every_visible_value_prints_in_order(r):
    outcome = r.run('1:3\ncat("cat\\n")\n"text"\nTRUE')
    assert outcome.stdout == '[1] 1 2 3\ncat\n[1] "text"\n'
    assert outcome.text == "[1] TRUE"


@pytest.mark.parametrize("code", ["x <- 5", "invisible(5)", "", "# nothing", "f <- function() 1", "if (FALSE) 1", "library(stats)"])
def test_invisible_values_do_not_print(r, code):
    assert r.run(code).log == []


def test_null_prints(r):
    assert r.run("NULL").text == "NULL"


def test_variables_stay(r):
    r.run("stays <- 41")
    assert r.run("stays + 1").text == "[1] 42"


def test_print_methods_of_the_workspace_are_used(r):
    r.run('print.husky <- function(x, ...) cat("<husky>\\n")')
    assert r.run('structure(1, class = "husky"); structure(2, class = "husky")').stdout == "<husky>\n"
    assert r.run('structure(1, class = "husky")').text == "<husky>"


# Each block runs at R's own prompt and in a session, each in a new workspace.
AS_THE_PROMPT = {
    "generics": 'setGeneric("area", function(shape) standardGeneric("area"))\narea\nsetGeneric("summary")\nshowMethods("area")',
    "methods": 'setClass("Sq", representation(s = "numeric"))\nsetGeneric("side", function(x) standardGeneric("side"))\n'
               'setMethod("side", "Sq", function(x) x@s)\ngetMethod("side", "Sq")\nside(new("Sq", s = 2))\nnew("Sq", s = 3)\n'
               'removeMethod("side", "Sq")',
    "validity": 'setClass("V", representation(x = "numeric"))\nsetValidity("V", function(object) TRUE)\ngetClass("V")',
    "reference classes": 'Acc <- setRefClass("Acc", fields = list(b = "numeric"))\na <- Acc$new(b = 1)\na\nAcc',
    "data.table": 'library(data.table)\ndt <- data.table(a = 1:3)\ndt[, b := a * 2]\ndt\ndt[, b := a * 2][]\n'
                  'f <- function(d) d[, z := 1]\nf(dt)\nprint(dt[, q := 1])\ndt[a > 1]\ndata.table(x = 1)[, y := x]\nset(dt, j = "s", value = 1)',
    "handlers": 'globalCallingHandlers(warning = function(w) { cat("saw:", conditionMessage(w), "\\n"); invokeRestart("muffleWarning") })\n'
                'warning("one")\nf <- function() { warning("two"); 2 }\nf()\nnames(globalCallingHandlers())\n'
                'globalCallingHandlers(message = function(m) { cat("m:", conditionMessage(m)); invokeRestart("muffleMessage") })\n'
                'message("three")\nlength(globalCallingHandlers(NULL))\nlength(globalCallingHandlers())\nmessage("four")',
    "visibility": '(x <- 5)\nx <- 6\ninvisible(7)\nNULL\nif (FALSE) 1\nf <- function() invisible(7)\nf()\n(f())\ny <- f()\n'
                  'withVisible(f())\nfor (i in 1:2) i\nassign("z", 1)\nlibrary(stats4)\nsuppressWarnings(as.numeric("a"))\nexpression(a)\nquote(b + 1)',
}


def no_addresses(text):
    return [line for line in text.rstrip("\n").splitlines() if not line.startswith(("<environment: 0x", "<bytecode: 0x"))]


@pytest.mark.parametrize("name", AS_THE_PROMPT)
def test_values_print_as_at_the_r_prompt(own, name):
    code = AS_THE_PROMPT[name]
    own.client.terminal(f"cat >/tmp/block.R <<'END'\n{code}\nEND")
    prompt = own.terminal("R --no-echo --no-save --no-restore </tmp/block.R 2>/dev/null").out.decode()
    outcome = own.run(f"options(width = 80)\n{code}")
    assert outcome.error is None and no_addresses(outcome.stdout + (outcome.text or "")) == no_addresses(prompt)


def test_s4_objects_show(r):
    r.run('setClass("P", representation(x = "numeric")); setMethod("show", "P", function(object) cat("a P\\n"))')
    assert r.run('new("P", x = 1)').text == "a P"


def test_functions_print_with_their_comments(r):
    assert "# why" in r.run("f <- function(x) { # why\n  x\n}\nf").text


def test_last_value(r):
    r.run("6 * 7")
    assert r.run(".Last.value").text == "[1] 42"


def test_messages_go_to_stderr_and_values_to_stdout(r):
    outcome = r.run('message("m"); 1; 2')
    assert outcome.stderr == "m\n" and outcome.stdout == "[1] 1\n" and outcome.text == "[1] 2"


def test_names_of_the_user_do_not_disturb_the_kernel(own):
    own.run('c <- 1; paste0 <- 2; print <- function(...) stop("mine"); T <- 0; length <- NULL')
    assert own.run("rm(list = ls(all.names = TRUE)); ls()").text == "character(0)"


# Warnings


def test_warnings_come_after_their_expression(r):
    outcome = r.run('f <- function() { warning("careful"); cat("done\\n"); 7 }\nf()')
    assert outcome.stderr == "Warning message:\nIn f() : careful\n"
    assert outcome.stdout == "done\n" and outcome.text == "[1] 7"


def test_warning_of_the_top_level_names_no_call(r):
    assert r.run('as.integer("a")').stderr == "Warning message:\nNAs introduced by coercion \n"


def test_several_warnings_are_numbered(r):
    assert r.run("for (i in 1:2) warning(i)").stderr == "Warning messages:\n1: 1 \n2: 2 \n"


def test_many_warnings_are_counted_and_kept(r):
    assert r.run("for (i in 1:20) warning(i)").stderr == "There were 20 warnings (use warnings() to see them)\n"
    assert "20: 20" in r.run("warnings()").text


def test_options_warn(r):
    outcome = r.run('options(warn = 1); f <- function() warning("now"); f(); options(warn = 0)')
    assert outcome.stderr == "Warning in f() : now\n"
    outcome = r.run("options(warn = 2); f()")
    assert outcome.error["message"] == "(converted from warning) now"
    r.run("options(warn = 0)")


# Errors


def test_parse_errors_say_where_and_nothing_runs(r):
    r.run("untouched <- 1")
    error = r.run("untouched <- 2\ny z").error
    assert error["type"] == "parseError"
    assert error["message"] == "cell:2:3: unexpected symbol\n1: untouched <- 2\n2: y z\n     ^" and error["traceback"] == ""
    assert r.run("untouched").text == "[1] 1"


@pytest.mark.parametrize("code", ["f <- function( {", '"open', "x <-", "if (TRUE) {"])
def test_unfinished_code_is_a_parse_error(r, code):
    assert r.run(code).error["type"] == "parseError"


def test_errors_name_the_call_and_leave_the_state(r):
    error = r.run('kept <- 5\nf <- function(x) stop("bad ", x)\ng <- function(x) f(x)\ng(3)').error
    assert error["type"] == "simpleError" and error["message"] == "bad 3"
    assert error["traceback"].splitlines() == [
        "Error in f(x)", "Calls, outermost first:", "1: g(3) at cell#4", "2: f(x) at cell#3", '3: stop("bad ", x) at cell#2']
    assert r.run("kept").text == "[1] 5"


def test_error_type_is_the_first_class(r):
    assert r.run('stop(structure(class = c("mine", "error", "condition"), list(message = "m", call = NULL)))').error["type"] == "mine"
    assert r.run("library(notthere)").error["type"] == "packageNotFoundError"


def test_error_of_the_top_level_says_the_line(r):
    error = r.run("1\n\nmissing_thing").error
    assert error["traceback"] == "at cell#3"


def test_traceback_of_the_last_error(r):
    r.run('f <- function() stop("x"); f()')
    assert r.run("traceback()").stdout.splitlines()[-1] == "1: f()"


def test_output_before_an_error_in_print_is_shown(r):
    outcome = r.run('print.half <- function(x, ...) { cat("half\\n"); stop("no") }; structure(1, class = "half")')
    assert outcome.stdout == "half\n" and outcome.error["message"] == "no" and outcome.result is None


def test_rlang_errors(r):
    error = r.run("dplyr::filter(mtcars, nope > 3)").error
    assert "nope" in error["message"] and error["traceback"].startswith("Error in dplyr::filter(mtcars, nope > 3)")


def test_calls_of_packages_are_folded(own):
    own.run("suppressMessages(library(dplyr))")
    lines = own.run("pick <- function(d) d %>% select(nope)\npick(mtcars)").error["traceback"].splitlines()
    assert lines[:4] == ["Error in select(., nope)", "Calls, outermost first:", " 1: pick(mtcars) at cell#2",
                         " 2: d %>% select(nope) at cell#1"]
    assert len(lines) == 6 and "traceback() shows them" in lines[4] and "stop_subscript(" in lines[5]
    everything = own.run("traceback()").stdout
    assert "eval_select_impl(" in everything and everything.splitlines()[-1] == "1: pick(mtcars)"


def test_callbacks_of_the_user_are_not_folded(r):
    lines = r.run('each <- function(x) sapply(x, function(i) if (i > 1) stop("deep") else i)\neach(1:2)').error["traceback"].splitlines()
    assert [line.partition(": ")[2].partition("(")[0] for line in lines[2:]] == ["each", "sapply", "lapply", "FUN", "stop"]


def test_the_message_is_shown_once(r):
    for code in ('stop("only once")', 'f <- function() stop("only once"); f()', 'rlang::abort("only once")'):
        error = r.run(code).error
        assert error["message"] == "only once" and "only once" not in error["traceback"].replace('("only once")', "")


def test_the_users_error_option_runs(r):
    assert r.run('options(error = quote(cat("mine\\n"))); stop("x")').stdout == "mine\n"
    assert r.run('stop("x")').stdout == ""


@pytest.mark.parametrize("code", ["f <- function(n) f(n + 1); f(1)", "f <- function(x) sapply(1, f); f(1)",
                                  "options(expressions = 500000); f <- function(n) f(n + 1); f(1)"])
def test_deep_recursion_is_an_error(r, code):
    r.run("kept <- 6")
    assert r.run(code).error["type"].endswith("StackOverflowError")
    assert r.run("options(expressions = 5000); kept").text == "[1] 6"


def test_too_large_a_vector_is_an_error(r):
    assert "cannot allocate vector" in r.run("numeric(1e12)").error["message"]


def test_abort_ends_the_cell_only(r):
    assert r.run('invokeRestart("abort"); cat("no\\n")').error["type"] == "abort"
    assert r.run("1").text == "[1] 1"


# Pictures


def test_base_plots_become_png_one_a_page(r):
    outcome = r.run("plot(1:3); lines(1:3); plot(3:1)")
    assert png_sizes(outcome) == [(800, 600), (800, 600)]


def test_several_plots_on_one_page(r):
    assert len(r.run("par(mfrow = c(1, 2)); plot(1); plot(2)").displays) == 1
    assert r.run('par("mfrow")').text == "[1] 1 1"  # each cell begins with a new device


@pytest.mark.parametrize("code", ["library(grid); grid.newpage(); grid.circle()", "library(lattice); xyplot(mpg ~ wt, mtcars)",
                                  "library(ggplot2); ggplot(mtcars, aes(wt, mpg)) + geom_point()", "hist(mtcars$mpg)"])
def test_grid_lattice_and_ggplot(r, code):
    outcome = r.run(code)
    assert png_sizes(outcome) == [(800, 600)] and outcome.result is None


def test_size_by_options(r):
    assert png_sizes(r.run("options(husk.plot.width = 4, husk.plot.height = 3, husk.plot.res = 50); plot(1)")) == [(200, 150)]
    r.run("options(husk.plot.width = NULL, husk.plot.height = NULL, husk.plot.res = NULL)")
    assert png_sizes(r.run("options(repr.plot.width = 5, repr.plot.height = 5); plot(1)")) == [(500, 500)]
    r.run("options(repr.plot.width = NULL, repr.plot.height = NULL)")
    assert png_sizes(r.run("dev.new(width = 3, height = 2); plot(1)")) == [(300, 200)]


def test_size_set_in_a_cell_applies_to_it(r):
    small = "options(repr.plot.width = 4, repr.plot.height = 3)"
    reset = "options(repr.plot.width = NULL, repr.plot.height = NULL)"
    assert png_sizes(r.run(f"plot(1)\n{small}\nplot(2)")) == [(800, 600), (400, 300)]
    assert png_sizes(r.run(f"{reset}\npar(mfrow = c(1, 2), mar = rep(1, 4))\n{small}\nplot(1); plot(2)")) == [(400, 300)]
    ggplot = "library(ggplot2)\nggplot(mtcars, aes(wt, mpg)) + geom_point()"
    assert png_sizes(r.run(f"{reset}\n{ggplot}\n{small}\n{ggplot}\n{reset}")) == [(800, 600), (400, 300)]
    assert png_sizes(r.run(f"dev.new(width = 3, height = 2); plot(1); {reset}; plot(2)")) == [(300, 200), (300, 200)]


def test_plots_as_svg_on_request(r):
    outcome = r.run('options(husk.plot.format = "svg"); plot(1); plot(2); hist(mtcars$mpg)')
    assert [list(d["data"]) for d in outcome.displays] == [["image/svg+xml", "application/vnd.husk.chart+json"]] * 3
    assert all(d["data"]["image/svg+xml"].startswith("<?xml") for d in outcome.displays)
    assert r.run("plot.new()").displays == []
    assert png_sizes(r.run("options(husk.plot.format = NULL); plot(1)")) == [(800, 600)]


def test_ggplots_carry_their_values(r):
    chart = "application/vnd.husk.chart+json"
    got = r.run("library(ggplot2)\nd <- data.frame(n = c('A', 'B'), v = c(3, 4.5), t = 1:2)\n"
                "ggplot(d, aes(n, v)) + geom_col() + labs(title = 'T', y = 'Sold (pcs)')\nggplot(d, aes(t, v)) + geom_line()\n"
                "ggplot(d, aes(t, v)) + geom_point()").displays
    bars, lines, points = (one["data"].get(chart) for one in got)
    assert bars["type"] == "bar" and bars["title"] == "T" and bars["y_label"] == "Sold (pcs)" and bars["y_unit"] == "pcs"
    assert [(one["label"], one["value"]) for one in bars["elements"]] == [("A", 3), ("B", 4.5)]
    assert lines["type"] == "line" and lines["elements"][0]["points"] == [[1, 3], [2, 4.5]]
    assert lines["x_scale"] == "linear" and lines["x_ticks"] and len(lines["x_ticks"]) == len(lines["x_tick_labels"])
    assert points["type"] == "scatter" and points["elements"][0]["points"] == [[1, 3], [2, 4.5]]


def test_boxes_pies_and_facets_carry_their_values(r):
    chart = "application/vnd.husk.chart+json"
    got = r.run("library(ggplot2)\nd <- data.frame(n = rep(c('A', 'B'), each = 6), v = c(1, 2, 3, 4, 5, 40, 2, 2, 3, 3, 4, 4))\n"
                "ggplot(d, aes(n, v)) + geom_boxplot()\n"
                "ggplot(data.frame(n = c('No', 'Yes'), v = c(90, 10)), aes('', v, fill = n)) + geom_col() + coord_polar(theta = 'y')\n"
                "ggplot(d, aes(seq_along(v), v)) + geom_point() + facet_wrap(~n) + labs(title = 'Both')").displays
    boxes, pie, facets = (one["data"][chart] for one in got)
    assert boxes["type"] == "box_and_whisker" and [box["label"] for box in boxes["elements"]] == ["A", "B"]
    assert boxes["elements"][0] == {"label": "A", "min": 1, "first_quartile": 2.25, "median": 3.5, "third_quartile": 4.75, "max": 5, "outliers": [40]}
    assert boxes["elements"][1]["outliers"] == []
    assert pie["type"] == "pie" and pie["elements"] == [{"label": "No", "angle": 324, "radius": 1}, {"label": "Yes", "angle": 36, "radius": 1}]
    assert facets["type"] == "superchart" and facets["title"] == "Both"
    assert [(one["type"], one["title"], len(one["elements"][0]["points"])) for one in facets["elements"]] == [("scatter", "A", 6), ("scatter", "B", 6)]


@pytest.mark.parametrize("code", ["library(ggplot2); ggplot(mtcars, aes(nope, mpg)) + geom_point()", "plot.new()", "grid::grid.newpage()",
                                  "library(ggplot2); ggplot(mtcars, aes(wt, mpg)) + geom_point() + facet_wrap(~nope)"])
def test_empty_pages_are_not_shown(r, code):
    assert r.run(code).displays == []


def test_pictures_are_bounded(r):
    width, height = png_sizes(r.run("options(husk.plot.width = 90); plot(1); options(husk.plot.width = NULL)"))[0]
    assert 1990 <= width <= 2000 and height < 200
    noise = "matrix(rgb(runif(1e6), runif(1e6), runif(1e6)), 1000)"
    outcome = r.run(f"par(mar = rep(0, 4)); plot(as.raster({noise}), interpolate = FALSE)")
    data = base64.b64decode(outcome.displays[0]["data"]["image/jpeg"])
    assert data[:2] == b"\xff\xd8" and len(data) <= 700_000


def test_empty_devices_are_not_shown(r):
    assert r.run("old <- par(mar = c(1, 1, 1, 1))").displays == []


def test_the_users_own_devices_are_theirs(r):
    assert r.run('pdf("/tmp/a.pdf"); plot(1)').displays == []
    assert r.run('invisible(dev.off()); file.size("/tmp/a.pdf") > 1000').text == "[1] TRUE"


def test_copies_of_a_plot(r):
    assert r.run('plot(1:3); invisible(dev.copy(png, "/tmp/c.png")); invisible(dev.off()); file.exists("/tmp/c.png")').text == "[1] TRUE"


def test_a_plot_before_an_error_is_shown(r):
    outcome = r.run('plot(1); stop("x")')
    assert len(outcome.displays) == 1 and outcome.error["message"] == "x"


# html


def test_data_frames_have_an_html_table(r):
    bundle = r.run('data.frame(x = 1:2, y = c("<a>", NA))').result
    assert bundle["text/plain"].splitlines()[1] == "1 1  <a>"
    assert "<td>&lt;a&gt;</td>" in bundle["text/html"] and "<td>NA</td>" in bundle["text/html"]


@pytest.mark.parametrize("code", ["tibble::tibble(x = 1:2, l = list(1, 'a'))", "data.table::data.table(x = 1:2)", "mtcars[1:2, ]"])
def test_tables_of_all_kinds(r, code):
    bundle = r.run(code).result
    assert bundle["text/html"].count("<tr>") == 3 and bundle["text/plain"]


def test_long_tables_are_cut_in_html(r):
    html = r.run("data.frame(x = 1:1000)").result["text/html"]
    assert html.count("<tr>") == 51 and "50 of 1000 rows" in html


def test_htmlwidgets_are_self_contained(r):
    outcome = r.run("p <- profvis::profvis({ s <- Sys.time(); while (Sys.time() - s < 0.5) sqrt(2) }); p")
    html = outcome.displays[0]["data"]["text/html"]
    assert html.startswith("<!DOCTYPE html>") and "src=\"lib/" not in html and "href=\"lib/" not in html and len(html) > 100_000
    assert outcome.result is None


def test_browsable_tags(r):
    outcome = r.run('htmltools::browsable(htmltools::tags$b("bold"))')
    assert "<b>bold</b>" in outcome.displays[0]["data"]["text/html"]


@pytest.mark.parametrize("code, mime, start", [
    ('knitr::kable(head(mtcars, 2), "html")', "text/html", "<table>"),
    ('knitr::kable(head(mtcars, 2), "latex")', "text/latex", "\n\\begin{tabular}"),
    ("knitr::kable(head(mtcars, 2))", "text/markdown", "|"),
    ("toLatex(sessionInfo())", "text/latex", "\\begin{itemize}"),
    ('htmltools::tags$b("x")', "text/html", "<b>x</b>"),
    ('repr_html.mine <- function(obj, ...) "<i>mine</i>"; structure(1, class = "mine")', "text/html", "<i>mine</i>"),
    ('repr_svg.drawn <- function(obj, ...) "<svg/>"; structure(1, class = "drawn")', "image/svg+xml", "<svg/>"),
    ('structure("<svg/>", class = "svg")', "image/svg+xml", "<svg/>"),
    ("sessionInfo()", "text/latex", "\\begin{itemize}"),
    ('repr_latex.ours <- function(obj, ...) "$x$"; structure(1, class = "ours")', "text/latex", "$x$"),
    ('library(knitr); knit_print.theirs <- function(x, ...) asis_output("<u>x</u>"); structure(1, class = "theirs")', "text/html", "<u>x</u>"),
])
def test_values_with_html_and_latex(r, code, mime, start):
    bundle = r.run(code).result
    assert sorted(bundle) == sorted(["text/plain", mime]) and bundle[mime].startswith(start)


def test_a_rich_form_that_fails_is_left_out(r):
    assert list(r.run('repr_html.bad <- function(obj, ...) stop("no"); structure(1, class = "bad")').result) == ["text/plain"]


def test_display(r):
    outcome = r.run('display_html("<b>x</b>"); display(list(a = 1L), "application/json"); display(as.raw(1:3), "audio/wav", id = "d1")')
    assert [d["data"] for d in outcome.displays] == [{"text/html": "<b>x</b>"}, {"application/json": {"a": 1}}, {"audio/wav": "AQID"}]
    assert outcome.displays[2]["display_id"] == "d1"
    assert r.run('display("x", "nonsense")').error["message"] == "not a MIME type: nonsense"


def test_too_large_a_display_is_replaced_by_a_note(r):
    assert "12 MiB at most" in r.run('display_html(strrep("x", 13e6))').displays[0]["data"]["text/plain"]
    bundle = r.run('publish_mimebundle(list("text/plain" = "short", "text/html" = strrep("x", 13e6)))').displays[0]["data"]
    assert list(bundle) == ["text/plain"] and bundle["text/plain"].startswith("short\n[text/html of ")


def test_view_and_help_print(r):
    assert "Mazda RX4" in r.run("View(head(mtcars))").stdout
    assert "Arithmetic Mean" in r.run("?mean").text


# The session continues


@pytest.mark.parametrize("code, status", [("q()", 0), ("quit(status = 3)", 3), ("try(q())", 0), ("q(status = -1)", 255), ("q(status = NULL)", 0),
                                          ("q(status = 'no')", 0), ('tryCatch(base::q("yes", 4), error = function(e) 1)', 4)])
def test_q_does_not_end_the_session(r, code, status):
    r.run("kept <- 7")
    error = r.run(code).error
    assert (error["type"], error["exit_code"]) == ("quit", status) and "session keeps its variables" in error["message"]
    assert r.run("kept").text == "[1] 7"


def test_prompts_are_answered(r):
    outcome, prompts = r.run_answered('a <- readline("Name? "); b <- readLines(stdin(), 2); c <- scan(quiet = TRUE); list(a, b, c)[[1]]; b; c',
                                "Bob ü", "one\ntwo", "1 2", "3", "")
    assert prompts == ["Name? ", "", "1: ", "2: ", "3: "] and outcome.stdout == '[1] "Bob ü"\n[1] "one" "two"\n' and outcome.text == "[1] 1 2 3"
    outcome, _ = r.run_answered('x <- readLines(file("stdin")); nchar(x)', "a\nbb", "\x04")
    assert outcome.text == "[1] 1 2"
    outcome, _ = r.run_answered("readline()", "\x03")
    assert outcome.error["type"] == "interrupt"


def test_browser_evaluates_in_the_frame_that_called_it(r):
    outcome, prompts = r.run_answered("f <- function(a) { browser(); a }\nf(5)", "a + 1", "b <- ", "a <- 7", "c")
    assert prompts == ["Browse[1]> "] * 4 and "[1] 6\n" in outcome.stdout and "unexpected" in outcome.stderr and outcome.text == "[1] 7"
    outcome, _ = r.run_answered("browser(); 1", "Q")
    assert outcome.text is None


def test_an_interrupt_withdraws_a_prompt(r):
    outcome = r.run_interrupted_question('tryCatch(readline("? "), interrupt = function(e) "stopped")')
    assert outcome.text == '[1] "stopped"'
    assert r.run("1").text == "[1] 1"


@pytest.mark.parametrize("code", ['readline("name? ")', "scan()", "readLines(stdin())", "menu(c('a', 'b'))"])
def test_functions_that_need_a_keyboard_do_not_wait(r, code):
    assert r.run(code).error["message"].startswith(code.partition("(")[0])


def test_stdin_is_empty(r):
    assert r.run('readLines("stdin")').text == "character(0)"


@pytest.mark.parametrize("code", ["browser(); 1", "f <- function() { browser(); 1 }; f()", "f <- function() 1; debug(f); f()",
                                  "f <- function() 1; debugonce(f); f()"])
def test_there_is_no_debugger(r, code):
    outcome = r.run(code)
    assert outcome.text == "[1] 1" and "no debugger" in outcome.stderr


def test_output_of_children_is_captured_in_order(r):
    outcome = r.run('cat("a\\n"); system("echo b; echo e >&2"); cat("c\\n"); system2("echo", "d")')
    assert outcome.stdout == "a\nb\nc\nd\n" and outcome.stderr == "e\n" and outcome.result is None
    assert r.run('system("echo x", intern = TRUE)').text == '[1] "x"'
    assert r.run('system("exit 3") + 0').text == "[1] 3"


def test_mclapply_works(r):
    outcome = r.run('unlist(parallel::mclapply(1:4, function(i) { cat("child\\n"); i^2 }, mc.cores = 2))')
    assert outcome.stdout == "child\n" * 4 and outcome.text == "[1]  1  4  9 16"


def test_a_forked_child_never_answers(r):
    outcome = r.run('plot(1)\np <- parallel:::mcfork()\nif (inherits(p, "masterProcess")) { plot(2); cat("child\\n") }\n'
                    'if (!inherits(p, "masterProcess")) invisible(parallel:::selectChildren(p, 20))\nSys.getpid() > 0')
    assert outcome.stdout == "child\n" and len(outcome.displays) == 1 and outcome.text == "[1] TRUE"
    assert r.run('p <- parallel:::mcfork(); if (inherits(p, "masterProcess")) stop("in the child"); 1').text == "[1] 1"
    assert r.run("2").text == "[1] 2"


def test_clusters_work(r):
    code = "cl <- parallel::makeCluster(2); v <- parallel::parSapply(cl, 1:2, function(i) i * 2); parallel::stopCluster(cl); v"
    assert r.run(code).text == "[1] 2 4"


def test_closing_all_connections_keeps_the_link(r):
    assert r.run('f <- file("/tmp/x", "w"); closeAllConnections(); nrow(showConnections())').text == "[1] 0"
    assert "belongs to the R kernel" in r.run("close(getConnection(3))").error["message"]
    assert r.run("1").text == "[1] 1"


def test_a_kernel_that_lost_its_link_reports_it(own):
    outcome = own.run("parallel:::closeFD(15L)")
    assert outcome.end["ending"] == "kernel_died" and outcome.end["kernel"] == "restarted"
    assert "lost its connection" in outcome.stderr
    assert own.run("1").text == "[1] 1"


def test_all_connections_in_use(r):
    outcome = r.run('cons <- list(); try(repeat cons[[length(cons) + 1]] <- rawConnection(raw(0), "w"), silent = TRUE); 1')
    assert outcome.stdout == "[1] 1\n"
    assert r.run("closeAllConnections(); 2").text == "[1] 2"


@pytest.mark.parametrize("code", ["parallel:::closeFD(1:2)", "parallel:::closeFD(0:2)", "parallel:::closeStdout(TRUE)",
                                  "parallel:::closeStderr(TRUE)", "parallel:::closeFD(1)"])
def test_closed_descriptors_are_opened_again(r, code):
    r.run(code)
    outcome = r.run('cat("out\\n"); message("err"); system("echo child; cat; echo c >&2")')
    assert (outcome.stdout, outcome.stderr) == ("out\nchild\n", "err\nc\n")
    assert r.run("nrow(showConnections())").text == "[1] 0"


@pytest.mark.parametrize("code", ['system("ls -l /proc/self/fd")', 'system2("ls", "-l /proc/self/fd")',
                                  'cat(system("ls -l /proc/self/fd", intern = TRUE), sep = "\\n")',
                                  'p <- pipe("ls -l /proc/self/fd"); cat(readLines(p), sep = "\\n"); close(p)'])
def test_programs_do_not_inherit_the_link(r, code):
    listed = r.run(code).stdout
    assert " 1 -> " in listed and "socket:" not in listed


def test_sinks_are_undone(r):
    assert "undone" in r.run('sink("/tmp/sunk"); cat("hidden\\n"); 1').stderr
    assert r.run('sink(stdout(), type = "message"); message("there")').stdout == "there\n"
    outcome = r.run('message("back"); readLines("/tmp/sunk")')
    assert outcome.stderr == "back\n" and outcome.text == '[1] "hidden" "[1] 1" '


def test_time_limits_end_with_their_cell(r):
    assert "time limit" in r.run("setTimeLimit(elapsed = 0.2); repeat {}").error["message"]
    assert r.run("Sys.sleep(0.4); 1").text == "[1] 1"


# Interrupts


@pytest.mark.parametrize("code", ["repeat {}", "Sys.sleep(100)", "f <- function() repeat sqrt(2); f()", "for (i in 1:1e6) plot(i)",
                                  'system("sleep 100"); Sys.sleep(100)', 'system("sleep 100", intern = TRUE)',
                                  "parallel::mclapply(1:2, function(i) Sys.sleep(100))", "repeat try(stop('x'), silent = TRUE)",
                                  'big <- strrep("x", 5e6); repeat display_html(big)'])
def test_interrupt_keeps_the_workspace(r, code):
    r.run("kept <- 8")
    outcome = r.run_interrupted(f'kept <- kept + 1; cat("go\\n"); {code}')
    assert outcome.error["type"] == "interrupt" and outcome.error["message"] == "Execution was interrupted"
    assert r.run("kept").text == "[1] 9"


def test_timeout_keeps_the_workspace(r):
    r.run("kept <- 10")
    outcome = r.run("repeat {}", 1)
    assert outcome.end["ending"] == "timeout" and outcome.end["kernel"] == "kept"
    assert r.run("kept").text == "[1] 10"


def test_interrupts_between_cells_are_ignored(own):
    kernel = own.run("kept <- 11; Sys.getpid()").text.split()[1]
    for _ in range(20):
        own.inside("kill", "-INT", kernel)
        assert own.run("kept").text == "[1] 11"


# Text


def test_utf8_everywhere(r):
    outcome = r.run('x <- "é 日本 \U0001f600"; cat(x, "\\n"); message(x); nchar(x); x')
    assert outcome.stdout == "é 日本 \U0001f600 \n[1] 6\n" and outcome.stderr == "é 日本 \U0001f600\n"
    assert outcome.text == '[1] "é 日本 \U0001f600"'
    assert r.run('stop("größer")').error["message"] == "größer"
    assert r.run("größe <- 1; größe").text == "[1] 1"


def test_escapes_and_line_ends(r):
    assert r.run('cat("a\\\\b\\"c\\td")').stdout == 'a\\b"c\td'
    assert r.run('x <- 1\r\nx\r\n').text == "[1] 1"


def test_invalid_bytes(r):
    assert r.run('stop("\\xff bad")').error["message"] == "\ufffd bad"
    assert r.run(r'x <- "\xe9"; Encoding(x) <- "latin1"; x').text == '[1] "é"'
    assert r.run("display_html(rawToChar(as.raw(c(65, 255))))").displays[0]["data"]["text/html"] == "A\ufffd"


def test_large_code_and_large_output(r):
    assert r.run(f'nchar("{"é" * 2_000_000}")').text == "[1] 2000000"
    assert r.run('for (i in 1:100000) cat("line", i, "\\n")').end["stdout_bytes"] > 1_000_000
    assert len(r.run('strrep("x", 3e6)').text) < 1_100_000


# The image


PACKAGES = ("jsonlite base64enc tidyverse data.table readxl haven httr2 DBI RSQLite rmarkdown knitr devtools glmnet randomForest "
            "ggplot2 lattice htmlwidgets survival")


@pytest.mark.parametrize("package", PACKAGES.split())
def test_packages_of_the_image(r, package):
    assert r.run(f'suppressMessages(isTRUE(requireNamespace("{package}")))').text == "[1] TRUE"


def test_rmarkdown_renders(r):
    r.run('writeLines(c("# T", "```{r}", "plot(1)", "```"), "/workspace/a.Rmd")')
    assert r.run('file.size(rmarkdown::render("/workspace/a.Rmd", quiet = TRUE)) > 1e5').text == "[1] TRUE"


def test_packages_install_into_the_home_folder(r):
    r.run('dir.create("/tmp/pk/R", recursive = TRUE)\n'
          'writeLines(c("Package: pk", "Version: 1.0", "Title: T", "Description: D.", "License: MIT", "Author: A",'
          ' "Maintainer: A <a@b.c>"), "/tmp/pk/DESCRIPTION")\n'
          'writeLines("export(hi)", "/tmp/pk/NAMESPACE")\nwriteLines("hi <- function() 1", "/tmp/pk/R/a.R")')
    assert r.run('install.packages("/tmp/pk", repos = NULL, type = "source"); pk::hi()').text == "[1] 1"
    assert r.terminal("Rscript -e 'cat(pk::hi(), find.package(\"pk\"))'").out == b"1 /home/sandbox/R/library/pk"


def test_rscript_in_the_terminal_has_its_default_packages(r):
    assert r.terminal("Rscript -e 'cat(sd(1:3))'").out == b"1"


def test_environment_has_no_secrets(r):
    assert r.run('Sys.getenv(c("HUSK_LINK", "HUSK_TOKEN_FD"), NA)').text.split()[-2:] == ["NA", "NA"]


def test_search_path_is_the_usual_one(own):
    assert own.run('cat(search(), sep = "\\n")').stdout.split() == [
        ".GlobalEnv", "husk", "package:stats", "package:graphics", "package:grDevices", "package:utils", "package:datasets",
        "package:methods", "Autoloads", "package:base"]


def test_default_packages_are_loaded_as_r_does_it(own):
    look = """spaces <- sort(setdiff(loadedNamespaces(), "base"))
        methods <- lapply(c("base", spaces), function(name) sort(ls(asNamespace(name)[[".__S3MethodsTable__."]])))
        cat(spaces, lengths(methods), unlist(methods), utils::osVersion, Sys.which("sh"), Sys.getenv("R_REPOSITORIES", NA),
            unlist(options("repos", "str", "contrasts", "unzip")), sep = "\\n")"""
    said = own.run(look).stdout
    assert said == own.terminal(f"Rscript -e '{look}'").out.decode()
    assert "print.lm" in said


def test_unit_tests_in_r_pass():
    """unit.R runs in a local R if there is one, or else in the image's R."""
    script, folder = "tests/kernel/unit.R", "runtimes/r"
    if shutil.which("Rscript"):
        done = subprocess.run(["Rscript", "--vanilla", script, folder], cwd=ROOT, capture_output=True, check=False)
    else:
        sources = subprocess.run(["tar", "-cf", "-", script, folder], cwd=ROOT, check=True, capture_output=True)
        done = subprocess.run(["docker", "run", "--rm", "--interactive", "--network", "none", "--tmpfs", "/tmp:mode=1777,exec",
                               "--workdir", "/tmp", "--entrypoint", "sh", images()["r"], "-c", f"tar -xf - && Rscript --vanilla {script}"],
                              input=sources.stdout, capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def test_costs_are_printed(monkeypatch, capsys):
    monkeypatch.setattr(measure, "STARTS", 1)
    monkeypatch.setattr(measure, "CELLS", 2)
    monkeypatch.setattr("sys.argv", ["measure.py", "r"])
    measure.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines if "result" in line or "memory" in line] == ["250", "56"]
    assert all(float(line.split()[-2]) > 0 for line in lines if "result" in line or "cell" in line or "memory" in line)


# evidence: clean-restart
def test_a_new_interpreter_runs_no_code_of_the_sessions_library(own):
    """Packages that R or the kernel loads by itself come from the image, even if ~/R/library has packages of the same
    names.
    """
    own.run("""
for (name in c("compiler", "utils", "stats", "methods", "grDevices", "rlang")) {
  file.copy(find.package(name, lib.loc = c(.Library.site, .Library)), "~/R/library", recursive = TRUE)
  code <- file.path("~/R/library", name, "R", name)
  writeLines(c(sprintf('cat("%s\\\\n", file = "/workspace/ran", append = TRUE)', name), readLines(code)), code)
}
writeLines('cat("profile\\n", file = "/workspace/ran", append = TRUE)', "~/.Rprofile")
file.copy("~/.Rprofile", "/workspace/.Rprofile")
""")
    assert own.finish(own.begin("40 + 2", restart=True)).text == "[1] 42"
    own.run("x <- 1; f <- function(x) x + 1; for (i in 1:5) f(i)")
    assert own.client.status()["variables"] and own.help("x")
    assert own.run('file.exists("/workspace/ran")').text == "[1] FALSE"
    assert own.run('library(rlang); readLines("/workspace/ran")').text == '[1] "rlang"', "a cell that asks for it gets it"
    assert own.run('unname(Sys.getenv(c("R_LIBS_USER", "HUSK_LATE_R_LIBS_USER")))').text.split()[1:] == ['"~/R/library:/opt/husk/deps"', '""']
