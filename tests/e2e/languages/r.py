"""R's column."""

from . import absent

COLUMN = {
    # values and state
    "state": dict(set="kept <- 41", get="kept + 1", value="[1] 42"),
    "last_value": dict(code="x <- c(1, 2)\nx", value="[1] 1 2"),
    "no_value": dict(code="x <- 5", comment="# nothing"),
    "definitions": dict(first="f <- function() 1; C <- 1", second="f <- function() 2; C <- 2", use="c(f(), C)",
                        values=["[1] 1 1", "[1] 2 2"]),
    "unicode": dict(code='größe <- "größe → 日本 🎈"\ncat(größe, "\\n", sep = "")\nmessage(größe)\ngröße',
                    value='[1] "größe → 日本 🎈"'),
    "line_ends": dict(code="\ufeffx <- 1\r\nif (x > 0) {\r\n\tx <- 2\r\n}\r\nx", value="[1] 2"),
    "long_source": dict(first="total <- 0", line="total <- total + 1", get="total", value="[1] 5000"),
    "big_value": dict(code='strrep("z", 5e6)'),
    "asynchronous": absent("R has no await: a call returns when it is done. Promises of packages are served by later::run_now()."),
    "packages": dict(code="library(data.table)\n"
                          "for (p in c('tidyverse', 'ggplot2', 'readxl', 'haven', 'httr2', 'DBI', 'RSQLite', 'jsonlite', 'knitr',\n"
                          "            'rmarkdown', 'htmlwidgets', 'devtools', 'glmnet', 'randomForest', 'survival')) find.package(p)"),
    "queued": dict(first="count <- 0\nSys.sleep(0.1)", second="count <- count + 1\ncount", value="[1] 5"),
    # errors
    "error": dict(code='inner <- function() stop("the cause")\n\nouter <- function() inner()\n\nouter()', type="simpleError",
                  message="the cause", line="inner() at cell#3"),
    "work_before_an_error": dict(code='cat("before\\n")\nhalf <- "done"\nstop("x")', get="half", value='[1] "done"'),
    "syntax_error": dict(code="unrun <- 1\nprint(1 2)", type="parseError", where="cell:2:9", get="unrun"),
    "broken_value": dict(code='print.broken <- function(x, ...) stop("no picture of me")\nstructure(1, class = "broken")',
                         words="no picture of me"),
    "warning": dict(code='warning("careful"); 5', words="careful"),
    "recursion": dict(code="f <- function(n) f(n + 1)\nf(0)", words="StackOverflowError"),
    "huge_allocation": dict(code="numeric(1e13)", words="cannot allocate vector"),
    "keyboard": dict(code='readline("name? ")', words="nobody can type an answer"),
    "exit_call": dict(code="q(status = 4)", words="quit"),
    # time
    "endless_loop": dict(code='cat("before\\n")\nrepeat {}'),
    "endless_wait": dict(code='cat("before\\n")\nSys.sleep(100)'),
    "outliving": dict(code='cat("before\\n")\nSys.sleep(100)'),
    "endless_child": dict(code='cat("before\\n")\nsystem("sleep 100")\nSys.sleep(100)'),
    "cancelled": dict(code='cat("before\\n")\nrepeat {}'),
    "deaf": dict(code='cat("before\\n")\nrepeat tryCatch(repeat {}, interrupt = function(e) NULL)'),
    # output
    "streams": dict(code='cat("out\\n")\nmessage("err")'),
    "order": dict(code="cat('one\\n'); display_html('<b>x</b>'); cat('two\\n'); 42"),
    "order_of_streams": absent("R writes both streams itself: between them the order is the one in which PID 1 reads them."),
    "progress_bar": dict(code="bar <- txtProgressBar(0, 600, style = 3, width = 40); for (i in 1:600) setTxtProgressBar(bar, i)"),
    "cleared_output": absent("R has no function that clears what a cell has shown; a display can be updated."),
    "updated_display": dict(code="display('0', 'text/markdown', id = 'd'); cat('after\\n')\n"
                                 "for (i in 0:299) display(as.character(i), 'text/markdown', id = 'd', update = TRUE)"),
    "labels": dict(code="cat('\\u27e6note\\u27e7 all is well \\u202e\\n'); cat('\\u27e6note\\u27e7\\n')"),
    "full_text": dict(code="for (i in 0:4999) cat('line', i, fill = TRUE)"),
    "child_output": dict(code='cat("one\\n")\nsystem("echo child; echo \\"child\'s error\\" >&2")\ncat("two\\n")'),
    "long_line": dict(code='cat(strrep("z", 1e7), "\\n", sep = "")'),
    "many_lines": dict(code='cat(sprintf("line %d\\n", 0:99999), sep = "")'),
    "junk": dict(code='out <- pipe("cat", "wb")\nwriteBin(as.raw(0:255), out)\nclose(out)'),
    "nul_bytes": dict(code='system("printf \'a\\\\0\\\\0b\\\\n\'")'),
    "ansi": dict(code='cat("\\033[31mred\\033[0m\\n")'),
    "late_child": dict(code='system("{ until [ -e go ]; do sleep 0.02; done; echo late; touch went; }", wait = FALSE)'),
    "late_output": absent("R has no threads, and callbacks of the package later run only when later::run_now() is called."),
    "closed_streams": dict(code="parallel:::closeFD(1:2)"),
    "redirected_streams": dict(code='sink("/dev/null")\nsink(file("/dev/null", "w"), type = "message")'),
    # displays
    "image": dict(code='png("one.png", 30, 20); par(mar = rep(0, 4)); plot(1); invisible(dev.off())\ndisplay_png(file = "one.png")'),
    "figure": dict(code='plot(1:3)\nstop("x")'),
    "html": dict(code='display_html("<b>bold</b>")'),
    "json": dict(code="display_json(list(a = 1:2))"),
    "display_before_an_error": dict(code='display_html("<b>bold</b>")\nstop("x")'),
    "big_html": dict(code='display_html(strrep("h", 3e6))'),
    "table": dict(code='data.frame(name = c("a", "b"), count = 1:2)'),
    # processes and memory
    "memory_bomb": dict(code="b <- list()\nrepeat b[[length(b) + 1]] <- numeric(1e6) + 1"),
    "child_memory_bomb": dict(code='system("head -c 2G /dev/zero | tail")'),
    "fork_bomb": dict(code="repeat try(parallel:::mcfork(), silent = TRUE)"),
    "forked_child": dict(code='p <- parallel:::mcfork()\nif (inherits(p, "masterProcess")) "child" else "parent"', value='[1] "parent"'),
    "workers": dict(code='unlist(parallel::mclapply(2:3, function(n) { cat("worker\\n"); n * n }, mc.cores = 2))', value="[1] 4 9"),
    "hidden_link": dict(code='system("ls -l /proc/self/fd; env")'),
    "hard_exit": dict(code='cat("last words\\n")\n.Internal(quit("no", 3, FALSE))'),
    "crash": dict(code="tools::pskill(Sys.getpid(), 11)\nSys.sleep(100)"),
    "abort": dict(code="tools::pskill(Sys.getpid(), 6)\nSys.sleep(100)"),
    "killed": dict(code='system(paste("kill -9", Sys.getpid()))\nSys.sleep(100)'),
    # files and surroundings
    "surroundings": dict(code='cat(getwd(), path.expand("~"), Sys.getenv("USER"), Sys.getenv("LANG"),\n'
                              '    grep("^HUSK", names(Sys.getenv()), value = TRUE), sep = "\\n")'),
    "environment": dict(get="Sys.getenv('GREETING', 'none')", fail="stop('x')", change="Sys.setenv(GREETING = 'mine')",
                        values={"none": '[1] "none"', "given": '[1] "hello there"', "changed": '[1] "mine"'}),
    "shared_files": dict(write='writeLines("from a cell", "cell.txt")', read='writeLines(readLines("terminal.txt"))'),
    "terminal_beside": dict(code='while (!file.exists("go")) Sys.sleep(0.01)\ncat("went\\n")'),
    "terminal_language": dict(command="Rscript -e 'cat(6 * 7, fill = TRUE)'"),
    "deleted_workspace": dict(code='unlink("/workspace", recursive = TRUE)', write='writeLines("from a cell", "/workspace/cell.txt")'),
    "full_disk": dict(code='big <- file("big", "wb")\ntryCatch(for (i in 1:110) writeBin(raw(2^20), big), finally = close(big))\n'
                           'if (file.size("big") < 110 * 2^20) stop("No space left")', words="No space left"),
    "sessions": dict(set="mine <- %d\nSys.sleep(0.2)", get="mine", values=["[1] 0", "[1] 1"]),
}
