"""Checkpoints of R: what they keep, and what they name as lost."""

import statistics
import time

import pytest

from container import Container, forget_checkpoints, frames, save, text, wait_for

KILLED = "tools::pskill(Sys.getpid(), 9L); Sys.sleep(60)"


@pytest.fixture(scope="module")
def shared():
    with Container("r") as container:
        yield container


@pytest.fixture
def r(shared):
    """A new interpreter, without checkpoints."""
    client = forget_checkpoints(shared.client)
    client.execute("1")
    return client


KEPT = {
    "variables and packages": ("library(jsonlite)\nx <- list(a = 1:2)", "toJSON(x)", '{"a":[1,2]} '),
    "the directory and the environment": ("setwd('/tmp'); Sys.setenv(A = 'b')", "paste0(getwd(), Sys.getenv('A'))", '[1] "/tmpb"'),
    "random numbers": ("set.seed(1); invisible(runif(1))", "runif(1)", "[1] 0.3721239"),
    "options": ("options(digits = 3)", "pi", "[1] 3.14"),
    "an open file's position": ("writeBin(as.raw(rep(0:250, 100)), '/tmp/f'); f <- file('/tmp/f', 'rb'); invisible(readBin(f, 'raw', 2))",
                                "sum(as.integer(readBin(f, 'raw', 6000)))", "[1] 747730"),
    "an idle database": ("db <- DBI::dbConnect(RSQLite::SQLite(), '/tmp/db'); invisible(DBI::dbExecute(db, 'create table if not exists t (x)'))",
                         "DBI::dbGetQuery(db, 'select count(*) n from t')$n", "[1] 0"),
    "temporary files": ("p <- tempfile(); writeLines('kept', p)", "readLines(p)", '[1] "kept"'),
    "linear algebra": ("a <- matrix(1, 300, 300); b <- a %*% a", "(a %*% a)[1, 1]", "[1] 300"),
    "a frame": ("library(data.table)\nd <- data.table(x = 1:3)", "d[, sum(x)]", "[1] 6"),
    "an open device": ("pdf('/tmp/plots.pdf'); plot(1)", "{ plot(2); invisible(dev.off()); rawToChar(readBin('/tmp/plots.pdf', 'raw', 4)) }", '[1] "%PDF"'),
    "dplyr": ("suppressMessages(library(dplyr))", "nrow(filter(tibble(x = 1:4), x > 2))", "[1] 2"),
}

ENDS = {"a kill": KILLED, "a crash": "tools::pskill(Sys.getpid(), 11L); Sys.sleep(60)", "its own end": ".Internal(quit('no', 3L, FALSE))"}


@pytest.mark.parametrize("before, after, value", KEPT.values(), ids=KEPT.keys())
def test_a_restored_interpreter_is_as_it_was(r, before, after, value):
    assert r.execute(before).ending == "ok"
    save(r)
    r.execute("x <- d <- a <- 0; setwd('/'); Sys.setenv(A = 'c'); options(digits = 7); runif(1)\n"
              "if (exists('f')) invisible(readBin(f, 'raw', 20000))")
    reply = r.execute(KILLED)
    assert reply.ending == "kernel_died" and reply.end["kernel"] == "restored"
    assert text(r.execute(after)) == value


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_every_way_to_die_leaves_the_variables_and_temporary_files(r, end):
    r.execute("x <- 5; p <- tempfile(); writeLines('kept', p)")
    save(r)
    reply = r.execute(end)
    assert reply.ending == "kernel_died" and reply.end["restored"]["name"] == "a" and len(reply.end["restored"]["missing"]) == 1
    assert text(r.execute("paste(x, readLines(p), dirname(p) == tempdir())")) == '[1] "5 kept TRUE"'


LOST = {
    "a process": ("system('sleep 60 &')\nc <- callr::r_bg(function() Sys.sleep(60))", "the process R (pid"),
    "a connection": ("s <- serverSocket(7001L); a <- socketConnection(port = 7001L); b <- socketAccept(s)", "a connection to 127.0.0.1:"),
    "a socket": ("s <- serverSocket(7002L)", "a socket (descriptor"),
    "a pipe": ("p <- pipe('sleep 60', 'r')", "a pipe (descriptor"),
    "a transaction": ("db <- DBI::dbConnect(RSQLite::SQLite(), '/tmp/tr'); invisible(DBI::dbExecute(db, 'create table if not exists t (x)')); DBI::dbBegin(db)",
                      "the open transaction of db"),
    "callbacks": ("later::later(function() NULL, 60)", "callbacks of later"),
    "threads": ("data.table::setDTthreads(2L)", "threads of data.table (one from then on)"),
}


@pytest.mark.parametrize("code, said", LOST.values(), ids=LOST.keys())
def test_losses_are_named_before_and_after(r, code, said):
    assert r.execute(code).ending == "ok"
    lost = save(r)["lost"]
    assert any(one.startswith(said) for one in lost), lost
    reply = r.execute(KILLED)
    assert reply.end["restored"]["lost"] == lost and "Not restored: " in reply.detail


def test_a_quiet_session_lacks_nothing(r):
    r.execute("suppressMessages({library(tidyverse); library(data.table)})\nx <- matrix(1, 400, 400) %*% matrix(1, 400, 400)\nplot(1)")
    assert "lost" not in save(r)


def test_libraries_that_would_hang_prevent_checkpoints(r):
    r.execute("file.copy(file.path(R.home('library'), 'tools/libs/tools.so'), '/tmp/libjvm.so'); invisible(dyn.load('/tmp/libjvm.so'))")
    answer = r.checkpoint("save", name="a")
    assert answer["status"] == "cannot" and "a Java machine is loaded" in answer["why"]


def test_a_checkpoint_shows_nothing_in_the_session(r):
    """No output, no warning, no child and no descriptor."""
    look = "sort(paste(list.files('/proc/self/fd'), Sys.readlink(list.files('/proc/self/fd', full.names = TRUE))))"
    r.execute(f"options(warn = 2); look <- function() Filter(function(fd) !grepl('/proc', fd), {look}); before <- look()")
    save(r)
    reply = r.execute("c(setdiff(look(), before), setdiff(before, look()), readLines(sprintf('/proc/self/task/%d/children', Sys.getpid())))")
    assert text(reply) == "character(0)" and not reply.err


def test_output_after_a_restore_arrives_in_order(r):
    save(r)
    r.execute(KILLED)
    reply = r.execute("cat('a\\n'); system('echo b'); message('c'); display_html('d'); cat('e\\n')\nplot(1)\ncat('f\\n')")
    assert reply.out == b"a\nb\ne\nf\n" and reply.err == b"c\n"
    assert len([d for d in reply.displays if d["data"]]) == 2


def test_pictures_after_a_restore_are_its_own(r):
    r.execute("plot(1)")
    save(r)
    r.execute("plot(2); " + KILLED)
    reply = r.execute("plot(3); cat('x\\n'); plot(4)")
    assert len([d for d in reply.displays if "image/png" in d["data"]]) == 2


def test_an_interrupt_reaches_a_restored_interpreter(r):
    save(r)
    r.execute(KILLED)
    number = r.start(frames.EXECUTE, "x <- 5\ncat('on\\n')\nSys.sleep(60)")
    r.expect(lambda f: f.call == number and f.type == frames.OUT)
    r.send(frames.INTERRUPT, number)
    assert r.finish(number).ending == "interrupted" and text(r.execute("x")) == "[1] 5"


def test_a_forked_child_of_a_restored_interpreter_stays_a_child(r):
    save(r)
    r.execute(KILLED)
    assert text(r.execute("unlist(parallel::mclapply(2:3, function(n) n * n, mc.cores = 2))")) == "[1] 4 9"
    reply = r.execute("p <- parallel:::mcfork()\nif (inherits(p, 'masterProcess')) 'child' else 'parent'")
    assert text(reply) == '[1] "parent"'


def test_parallel_loops_work_after_a_restore(r):
    """The threads of OpenMP do not survive."""
    code = "sum(data.table(x = 1:2e6 %% 7)[, .N, by = x]$N)"
    r.execute(f"library(data.table); setDTthreads(2L); {code}")
    save(r)
    r.execute(KILLED)
    assert text(r.execute(code)) == "[1] 2000000"


def test_progress_bars_move_after_a_restore(r):
    r.execute("Sys.setenv(CLI_TICK_TIME = '100'); loadNamespace('cli')")
    save(r)
    r.execute(KILLED)
    assert text(r.execute(".Call(cli:::ccli_tick_reset); Sys.sleep(0.5); .Call(cli:::clic_update_due)")) == "[1] TRUE"


def test_an_oom_is_survived(r):
    r.execute("x <- 'kept'")
    save(r)
    reply = r.execute("b <- list(); repeat b[[length(b) + 1L]] <- numeric(1e7) + 1")
    assert reply.ending in ("oom", "error"), reply.end
    assert text(r.execute("x")) == '[1] "kept"'


def test_it_works_automatically(r):
    r.execute("x <- 1; Sys.sleep(0.3)")
    wait_for(lambda: r.status()["checkpoints"])
    reply = r.execute(KILLED)
    assert reply.ending == "kernel_died" and reply.end["restored"]["missing"] and text(r.execute("x")) == "[1] 1"


def test_costs(r, capsys):
    """Printed; only bounds with a wide margin are checked."""
    r.execute("x <- numeric(12e6) + 1\n1+1")

    def took(do):
        begun = time.monotonic()
        do()
        return (time.monotonic() - begun) * 1000

    before = [took(lambda: r.execute("1+1")) for _ in range(10)]
    saves = [took(lambda: save(r)) for _ in range(10)]
    firsts = []
    for _ in range(10):
        save(r)
        firsts.append(took(lambda: r.execute("1+1")))
    death = took(lambda: r.execute(KILLED))
    with capsys.disabled():
        print(f"\nR: 1+1 {min(before):.1f} ms (p50 {statistics.median(before):.1f}), save {min(saves):.1f} ms "
              f"(p50 {statistics.median(saves):.1f}), first 1+1 after it {min(firsts):.1f} ms "
              f"(p50 {statistics.median(firsts):.1f}), death and recovery {death:.1f} ms")
    assert min(saves) < 200 and min(firsts) < 100 and death < 3000
