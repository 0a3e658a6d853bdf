# Unit tests of the R kernel's own functions. They need an R with jsonlite and base64enc and a C compiler, no container and no link:
#   Rscript tests/kernel/unit.R [runtimes/r], in the root of the sources
# Prints each test that failed. Exits with 1 if any did.

folder <- c(commandArgs(trailingOnly = TRUE), "runtimes/r")[1L]
husk <- new.env(parent = baseenv())
for (file in list.files(file.path(folder, "husk"), full.names = TRUE)) sys.source(file, husk)
failed <- 0L
passed <- 0L

# Checks that the expression, run among the kernel's functions, has this value.
expect <- function(what, code, value) {
  same(what, tryCatch(eval(substitute(code), husk), error = function(e) paste("error:", conditionMessage(e))), value)
}

same <- function(what, got, value) {
  if (identical(got, value)) {
    passed <<- passed + 1L
  } else {
    failed <<- failed + 1L
    cat("FAILED ", what, "\n  expected: ", deparse1(value), "\n  got:      ", deparse1(got), "\n", sep = "")
  }
}

# Text ----------------------------------------------------------------------------------------------------------------

expect("valid text stays", valid_text("größe \U1F388"), "größe \U1F388")
expect("several lines are one text", valid_text(c("a", "b")), "a\nb")
expect("NA is text", valid_text(NA_character_), "NA")
expect("broken bytes are marked", valid_text("a\xffb"), "a\ufffdb")
expect("Latin-1 becomes UTF-8", valid_text(`Encoding<-`("\xe9", "latin1")), "é")
expect("bytes are text", valid_text(`Encoding<-`("\xc3\xa9", "bytes")), "é")
expect("NULs are left out", raw_text(as.raw(c(97, 0, 98))), "ab")
expect("short text is not cut", shorten("abc", 3L), "abc")
expect("long text keeps head and tail", shorten("abcdefghijkl", 8L), "ab\n[... 4 characters left out ...]\nghijkl")
expect("calls are one line", one_line(quote(f(x, {
  y
}))), "f(x, { y })")
expect("of many lines the first", one_line(quote(f({
  a
  b
  c
}))), "f({ a ...")
expect("long calls are cut", nchar(one_line(quote(f("0123456789012345678901234567890123456789")), 20L)), 20L)

# Code ----------------------------------------------------------------------------------------------------------------

fields <- function(source) lapply(sort(setdiff(names(source), "timestamp")), get, envir = source)
same("the source of a cell is as R makes it", fields(husk$source_of("1")), fields(srcfilecopy("cell", "1")))
expect("and its class", class(source_of("1")), class(srcfilecopy("cell", "1")))
expect("and its time", class(source_of("1")$timestamp), class(srcfilecopy("cell", "1")$timestamp))

# JSON ----------------------------------------------------------------------------------------------------------------

expect("an object", json_object(op = json_string("done"), id = "7"), "{\"op\":\"done\",\"id\":7}")
expect("escapes", json_string("a\"b\\c\nd\te\r"), "\"a\\\"b\\\\c\\nd\\te\\r\"")
expect("control characters", json_string("\001\037\177"), "\"\\u0001\\u001f\\u007f\"")
expect("what was written is read", json_read(charToRaw(json_object(code = json_string("x <- \"a\\nb\"\n\t{}[],:"))))$code, "x <- \"a\\nb\"\n\t{}[],:")
expect("a request", json_read(charToRaw("{\"op\": \"execute\", \"id\": 12, \"code\": \"1\"}")), list(op = "execute", id = "12", code = "1"))
expect("with an environment", json_read(charToRaw("{\"id\":1,\"env\":{\"A\":\"x{}\",\"B\":\"\"},\"code\":\"{\"}")),
       list(id = "1", env = list(A = "x{}", B = ""), code = "{"))
expect("with an empty one", json_read(charToRaw("{\"id\":1,\"env\":{}}"))$env, structure(list(), names = character()))
expect("an empty text", json_read(charToRaw("{\"code\":\"\"}"))$code, "")
expect("escaped text", json_unescape("\\u00e9\\n\\\\n\\/\\\""), "é\n\\n/\"")
expect("pairs of surrogates", json_unescape("\\ud83c\\udf88"), "\U1F388")
expect("half a pair", json_unescape("\\ud83c."), "\ufffd.")
expect("an escaped NUL", json_unescape("a\\u0000b"), "a\ufffdb")
expect("an unknown escape", json_unescape("\\x"), "error: an unknown escape")
expect("no UTF-8", json_read(as.raw(c(123, 255, 125))), "error: no UTF-8")

# Bundles -------------------------------------------------------------------------------------------------------------

expect("text of a bundle", json_entry("text/html", "<b>"), "\"<b>\"")
expect("bytes stay bytes until they are sent", json_entry("image/png", as.raw(1:3)), list("\"", as.raw(1:3), "\""))
expect("base64 without line breaks", json_entry("audio/wav", "AQ\nID\n"), "\"AQID\"")
expect("a value as JSON", as.character(json_entry("application/json", list(a = 1:2, b = NULL, c = NA))), "{\"a\":[1,2],\"b\":null,\"c\":null}")
expect("JSON as it is", json_entry("application/vnd.x+json", "{\"a\":1}"), "{\"a\":1}")
expect("a text that is no JSON", as.character(json_entry("application/json", "a b")), "\"a b\"")
expect("the largest entry goes", names(drop_largest(c("text/html" = "\"aaaa\"", "text/plain" = "\"p\""))), "text/plain")
expect("and is told", grepl("^\"p\\\\n\\[text/html of 6 bytes left out", drop_largest(c("text/html" = "\"aaaa\"", "text/plain" = "\"p\""))), TRUE)
expect("text that is all there is gives way too", grepl("^\"\\[text/plain of 3 bytes left out", drop_largest(c("text/plain" = "\"p\""))), TRUE)
expect("bytes count as base64", names(drop_largest(list("text/html" = "\"aaaaa\"", "image/png" = list("\"", raw(4), "\"")))), c("text/html", "text/plain"))
expect("html is escaped", html_escape("<a href=\"x\">&</a>"), "&lt;a href=\"x\"&gt;&amp;&lt;/a&gt;")
expect("a table", html_table(data.frame(x = 1:2, y = c("<", NA))), paste(c("<table>", "<thead><tr><th>x</th><th>y</th></tr></thead>",
  "<tbody>", "<tr><td>1</td><td>&lt;</td></tr>\n<tr><td>2</td><td>NA</td></tr>", "</tbody>", "</table>"), collapse = "\n"))
expect("names of rows", grepl("<th>first</th>", html_table(data.frame(x = 1, row.names = "first"))), TRUE)
expect("long tables are cut", grepl("<p>50 of 60 rows, 1 of 1 columns</p>", html_table(data.frame(x = 1:60)), fixed = TRUE), TRUE)
expect("no rows", grepl("<tbody>\n</tbody>", html_table(data.frame(x = integer()))), TRUE)
expect("the size of a picture", png_size(as.raw(c(0x89, 0x50, 0x4e, 0x47, rep(0, 12), 0, 0, 1, 0, 0, 0, 0, 9))), c(256L, 9L))
expect("no picture", png_size(as.raw(1:30)), c(0, 0))
expect("references to the web", is_remote(c("https://a", "//a", "data:x", "#a", "a/b.js")), c(TRUE, TRUE, TRUE, TRUE, FALSE))
expect("attributes of tags", attribute("<img src=\"a.png\" alt=\"b\">", "src"), "a.png")
expect("replacing", replace_each("a1b22", "[0-9]+", function(x) paste0("<", x, ">")), "a<1>b<22>")

# Errors --------------------------------------------------------------------------------------------------------------

expect("an error of nobody", error_line(simpleError("m")), "Error: m")
expect("an error of a call", error_line(simpleError("m", quote(f(x)))), "Error in f(x) : m")
expect("a long line breaks", error_line(simpleError(strrep("m", 70), quote(f(x)))), paste0("Error in f(x) : \n  ", strrep("m", 70)))
expect("the kernel is not blamed", error_line(simpleError("m", EVAL_CALL)), "Error: m")
expect("a message that fails", suppressWarnings(error_message(structure(class = c("x", "error", "condition"), list(message = quote(x()))))),
       "<no message: conditionMessage() failed>")
expect("the type of an error", report_error(simpleError("m"), list())$type, "simpleError")
expect("many calls", length(traceback_lines(rep(list(quote(f())), 100L))), 25L)
folded <- function(foreign) husk$shown_calls(structure(rep(list(quote(f())), length(foreign)), foreign = foreign))
same("calls of packages between the user's", folded(c(FALSE, TRUE, TRUE, TRUE, TRUE, TRUE, FALSE)), c(1L, 2L, 6L, 7L))
same("a few are shown", folded(c(FALSE, TRUE, TRUE, TRUE, FALSE)), 1:5)
expect("what signals is left out", raising(list(quote(a()), quote(b()), quote(rlang::abort("x")), quote((function() 1)()),
                                                quote(signalCondition(cnd))), 1L, 5L), 2L)
expect("quitting", grepl("status 3: the cell ended here; the session keeps its variables", report_quit(3)$message), TRUE)

# Programs ------------------------------------------------------------------------------------------------------------

expect("our descriptors are closed", {
  streams$ours <- c(4L, 7L, 12L)
  without_ours("echo")
}, "exec 4<&- 7<&-; echo")

# Packages ------------------------------------------------------------------------------------------------------------

expect("the name of the system", system_name(), utils::osVersion)
expect("of one that has none", system_name("/dev/null"), NULL)

# The kernel's folder, with its library of C code.
build_kernel <- function() {
  file.copy(folder, tempdir(), recursive = TRUE)
  built <- file.path(tempdir(), basename(folder))
  flags <- system2(file.path(R.home("bin"), "R"), c("CMD", "config", "--cppflags"), stdout = TRUE)
  files <- file.path(built, c("husk.so", "console.c", "copies.c", "link.c", "plots.c"))
  stopifnot(system2("gcc", c("-shared", "-fPIC", "-I", ".", flags, "-o", files)) == 0L)
  built
}

built <- build_kernel()

# Variables -----------------------------------------------------------------------------------------------------------

husk$link$is_promise <- getNativeSymbolInfo("link_is_promise", dyn.load(file.path(built, "husk.so")))$address
big <- as.numeric(1:100000)
table <- data.frame(x = 1:3, y = letters[1:3])
grid <- matrix(0, 20, 3)
touched <- FALSE
delayedAssign("lazy", touched <<- TRUE)
makeActiveBinding("active", function() touched <<- TRUE, globalenv())
dim.strange <- length.strange <- function(x) stop("the user's own")
strange <- structure(list(1), class = "strange")
described <- function(name) {
  found <- Filter(function(variable) variable$name == name, husk$list_variables(1000L)$variables)[[1L]]
  unlist(found[c("type", "shape")], use.names = FALSE)
}
expect("the largest variable first", list_variables(1L)$variables[[1L]]$name, "big")
expect("not more than asked for", length(list_variables(2L)$variables), 2L)
expect("how many there are", list_variables(2L)$total, length(ls(globalenv())))
expect("its size", list_variables(1L)$variables[[1L]]$bytes > 8e5, TRUE)
same("a vector", described("big"), c("numeric", "100000"))
same("a table", described("table"), c("data.frame", "3 x 2"))
same("a matrix", described("grid"), c("matrix", "20 x 3"))
same("a function", described("described"), c("function", ""))
same("an object with methods of its own", described("strange"), c("strange", ""))
same("an active binding", described("active"), c("active binding", ""))
same("a promise", described("lazy"), c("promise", ""))
same("nothing of the user's has run", touched, FALSE)

# A kernel on its link ------------------------------------------------------------------------------------------------

# Plays PID 1 for a kernel from the source tree. run(code, env) and send(body) return the kernel's messages for one
# cell, each as a text.
start_kernel <- function() {
  folder <- built
  port <- 20000L + Sys.getpid() %% 20000L
  listener <- serverSocket(port)
  on.exit(close(listener))
  Sys.setenv(HUSK_LINK = "fd:7", R_DEFAULT_PACKAGES = "NULL", R_LIBS_USER = tempdir())
  # R cannot make a socket pair. bash opens any socket for its child.
  system2("bash", c("-c", shQuote(paste0("exec ", file.path(R.home("bin"), "R"),
                                         " --no-echo --no-save --no-restore --no-environ --no-init-file -f ",
                                         file.path(folder, "kernel.R"), " 7<>/dev/tcp/127.0.0.1/", port))), wait = FALSE)
  link <- socketAccept(listener, blocking = TRUE, open = "r+b", timeout = 60)
  receive <- function() {
    size <- readBin(link, "integer", 1L, size = 4L, endian = "big")
    rawToChar(readBin(link, "raw", size))
  }
  receive() # hello
  number <- 0L
  send <- function(body) {
    bytes <- charToRaw(body)
    writeBin(c(writeBin(length(bytes), raw(), endian = "big"), bytes), link)
    messages <- character()
    while (!any(grepl("\"op\":\"done\"", messages, fixed = TRUE))) messages <- c(messages, receive())
    `Encoding<-`(messages, "UTF-8")
  }
  run <- function(code, env = NULL) {
    number <<- number + 1L
    send(husk$json_object(op = "\"execute\"", id = number, code = husk$json_string(code), env = env))
  }
  list(run = run, send = send, close = function() close(link))
}

kernel <- start_kernel()
shows <- function(text, ...) any(grepl(text, kernel$run(...), fixed = TRUE))
get_env <- "paste(Sys.getenv(c('HUSK_A', 'HUSK_B'), 'unset'), collapse = ' ')"
same("variables of a call are set", shows("one two words", get_env, "{\"HUSK_A\":\"one\",\"HUSK_B\":\"two words\"}"), TRUE)
same("and gone after it", shows("unset unset", get_env), TRUE)
invisible(kernel$run("Sys.setenv(HUSK_A = 'before')"))
invisible(kernel$run("stop('x')", "{\"HUSK_A\":\"one\"}"))
same("restored after a failure", shows("before unset", get_env), TRUE)
invisible(kernel$run("Sys.setenv(HUSK_A = 'mine'); Sys.unsetenv('HUSK_B')", "{\"HUSK_A\":\"one\",\"HUSK_B\":\"\"}"))
same("what the cell changed stays", shows("mine unset", get_env), TRUE)
invisible(kernel$run("invokeRestart('abort')", "{\"HUSK_B\":\"two\"}"))
same("restored after a jump", shows("mine unset", get_env), TRUE)
result <- function(id, text) {
  c(sprintf("{\"op\":\"result\",\"id\":%s,\"data\":{\"text/plain\":\"%s\"}}", id, text), sprintf("{\"op\":\"done\",\"id\":%s}", id))
}
same("a cell as PID 1 writes it", kernel$send("{\"op\":\"execute\",\"id\":12,\"code\":\"nchar('é\\\"\\n\\t\\\\\\\\\\/')\"}"), result("12", "[1] 6"))
same("with spaces", kernel$send(" { \"op\" : \"execute\", \"id\" : 13 , \"code\" : \"1\" } "), result("13", "[1] 1"))
same("in another order", kernel$send("{\"id\":14,\"code\":\"1\",\"op\":\"execute\"}"), result("14", "[1] 1"))
same("with an escape by number", kernel$send("{\"op\":\"execute\",\"id\":15,\"code\":\"1\\n\\u0032\\n\"}"), result("15", "[1] 2"))
same("no code", kernel$send("{\"op\":\"execute\",\"id\":16,\"code\":\"\"}")[1L], "{\"op\":\"done\",\"id\":16}")
written <- function(bytes) {
  kernel$run(paste0("print.odd <- function(x, ...) cat(rawToChar(as.raw(c(", bytes, "))), '\\n', sep = '')"))
  kernel$send("{\"op\":\"execute\",\"id\":20,\"code\":\"structure(0, class = 'odd')\"}")
}
same("a result is escaped", written("34, 92, 10, 13, 9, 1, 31, 127, 195, 169"), result("20", "\\\"\\\\\\n\\r\\t\\u0001\\u001f\\u007fé"))
same("a result is UTF-8", written("97, 255, 237, 160, 128, 192, 128, 98"), result("20", strrep("\ufffd", 6L) |> sprintf(fmt = "a%sb")))
kernel$close()

cat(passed, "passed,", failed, "failed\n")
quit(status = as.integer(failed > 0L))
