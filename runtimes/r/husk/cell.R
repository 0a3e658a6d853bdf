# Runs one cell: parses it, then runs one top-level expression after the other in the workspace, as R's prompt does.

husk_workspace <- globalenv()
# Fields: id (NULL between cells), place (srcref of the running expression), depth (number of the kernel's frames below
# the user's), calls (the call stack of an error), abort (the restart that ends the cell), interrupted, warned, quit (a
# status), text (the result, as bytes), bundle (the result with its other forms, if it has any), env (variables that the
# run has set), handlers (globalCallingHandlers()).
cell <- new.env(parent = emptyenv())
PARSING <- .Machine$integer.max # a depth that means: no frame is the user's

# Runs a cell. Returns NULL or the fields of an error message. No control flow of the user's code leaves this function.
run_cell <- function(code) {
  cell$calls <- list()
  cell$text <- cell$bundle <- cell$place <- cell$quit <- NULL
  cell$warned <- cell$interrupted <- FALSE
  tryCatch(
    withCallingHandlers(
      until_abort(allowInterrupts(run_expressions(parse_cell(code)))),
      error = on_error, interrupt = on_interrupt, warning = on_warning
    ),
    error = function(e) if (cell$depth == PARSING) report_syntax(e) else report_error(e, cell$calls)
  )
}

# withRestarts(expr, abort = ) in a tenth of the time. In R itself the restart leads to the next prompt. An interrupt
# uses the restart too, since a second class of conditions would double the time of tryCatch().
until_abort <- function(expr) {
  run <- function(expr) {
    restart <- list(name = "abort", exit = environment(), handler = NULL, description = "", interactive = NULL)
    cell$abort <- `class<-`(restart, "restart")
    .Internal(.addRestart(cell$abort))
    expr
  }
  run(return(expr))
  if (cell$interrupted) report_interrupt(cell$calls) else if (is.null(cell$quit)) report_abort() else report_quit(cell$quit)
}

# If parsing fails, nothing has run. The error message has the line and column, and shows the place.
parse_cell <- function(code) {
  cell$depth <- PARSING
  if (grepl("\r", code, fixed = TRUE)) code <- gsub("\r\n?", "\n", code)
  if (startsWith(code, "\ufeff")) code <- substring(code, 2L)
  lines <- strsplit(code, "\n", fixed = TRUE)[[1L]]
  parse(text = lines, keep.source = TRUE, srcfile = source_of(lines), encoding = "UTF-8")
}

# srcfilecopy("cell", lines) without its checks.
source_of <- function(lines) {
  source <- new.env(parent = emptyenv())
  source$filename <- "cell"
  source$wd <- getwd()
  source$isFile <- FALSE
  source$lines <- lines
  source$fixedNewlines <- TRUE
  source$timestamp <- Sys.time()
  source$Enc <- "unknown"
  class(source) <- c("srcfilecopy", "srcfile")
  source
}

run_expressions <- function(expressions) {
  n <- length(expressions)
  places <- attr(expressions, "srcref")
  for (i in seq_len(n)) {
    cell$place <- places[[i]]
    run_expression(expressions[[i]], last = i == n)
    show_finished_pages()
    print_warnings()
  }
  NULL
}

run_expression <- function(expression, last) {
  handlers <- cell$handlers # active until this function returns; called before the kernel's own
  if (length(handlers) > 0L) .Internal(.addCondHands(names(handlers), handlers, husk_workspace, NULL, TRUE))
  value <- evaluate(expression)
  assign(".Last.value", value$value, envir = baseenv())
  if (value$visible) show_value(value$value, last)
}

evaluate <- function(husk_expression) {
  cell$depth <- sys.nframe() + 3L # withVisible and the two frames of eval
  withVisible(eval(husk_expression, husk_workspace))
}

# Prints all values but the last to stdout, in order with other output. The last value is the cell's result.
show_value <- function(value, last) {
  if (inherits(value, "htmlwidget")) return(print_widget(value)) # some have a print method that needs a browser
  if (!last || sinks() > 0L) return(print_value(value))
  text <- print_captured(value)
  forms <- if (length(text) > 0L) rich_forms(value)
  cell$text <- text
  if (length(forms) > 0L) cell$bundle <- c(list("text/plain" = result_text()), forms)
}

# Sends the result, in one write with `done`.
send_result <- function() {
  if (length(cell$text) == 0L) return()
  if (is.null(cell$bundle)) {
    place_pages()
    if (.Call(link$result, cell$id, cell$text)) return()
    cell$bundle <- list("text/plain" = result_text())
  }
  send_bundle("result", cell$bundle)
}

result_text <- function() shorten(raw_text(cell$text), TEXT_MAX, CUT_NOTE)

# Prints as R's prompt does: finds methods in the workspace, and uses show() for S4 objects (generics too).
print_value <- function(value) {
  cell$depth <- sys.nframe() + 1L
  source(value)
}
# The name of this function matters: after `:=`, a data.table prints nothing only at R's own prompt and if source()
# calls print(). `::` would take longer than printing a number.
source <- function(x) if (.BaseNamespaceEnv$isS4(x)) methods::show(x) else .BaseNamespaceEnv$print(x)
environment(source) <- husk_workspace

CUT_NOTE <- "characters (print a part of it, or write it to a file in /workspace)"

# The output of print(), as bytes without the last line break. If print() fails, its output so far goes to stdout.
print_captured <- function(value) {
  target <- capture_target()
  if (is.null(target)) {
    print_value(value)
    return(raw(0L))
  }
  done <- FALSE
  before <- sinks()
  on.exit(end_capture(target, before, done)) # a single call, because R does not compile this code
  sink_to(target)
  print_value(value)
  sink_to(-1L)
  done <- TRUE
  bytes <- rawConnectionValue(target)
  n <- length(bytes)
  if (n > 0L && bytes[n] == 10L) bytes[-n] else bytes
}

end_capture <- function(target, before, done) {
  while (sinks() > before) sink_to(-1L)
  if (!done) cat(raw_text(rawConnectionValue(target)))
  .Internal(close(target, "rw"))
}

# rawConnection(raw(0L), "wb") without the deparse() of its argument. NULL if the user's code has opened all connections
# that R allows.
capture_target <- function() {
  if (length(.Internal(getAllConnections())) < CONNECTIONS_SURE) return(.Internal(rawConnection("cell", raw(0L), "wb")))
  tryCatch(.Internal(rawConnection("cell", raw(0L), "wb")), error = function(e) NULL)
}

CONNECTIONS_SURE <- 100L # R allows 128 or more

# sink(target) without its match.arg(); a target of -1 ends the last sink.
sink_to <- function(target) .Internal(sink(target, FALSE, FALSE, FALSE))

raw_text <- function(bytes) {
  text <- rawToChar(bytes[bytes != 0L]) # a string of R cannot contain NUL
  Encoding(text) <- "UTF-8"
  valid_text(text)
}

# Handlers ----------------------------------------------------------------------------------------------------------

on_error <- function(condition) {
  cell$calls <- users_calls(cell$depth)
  handler <- getOption("error")
  if (!is.null(handler) && !identical(handler, ERROR_OPTION)) { # the user's own handler, which R would also run here
    try(if (is.function(handler)) do.call(handler, list()) else eval(handler, husk_workspace))
  }
}

on_interrupt <- function(condition) {
  cell$interrupted <- TRUE # set first, because another signal may come while the calls are looked up
  cell$calls <- users_calls(cell$depth)
  .Internal(.invokeRestart(cell$abort, NULL))
}

# When this returns, R keeps the warning for later, or prints it or makes it an error, as options(warn=) says.
on_warning <- function(condition) {
  cell$warned <- TRUE
  if (identical(conditionCall(condition), EVAL_CALL)) { # from top-level code: R's prompt names no call
    condition$call <- NULL
    warning(condition)
    invokeRestart("muffleWarning")
  }
}

# Prints the warnings that R has kept, as R does after a top-level expression. The only function that prints them also
# prints "In addition: ", as after an error; that prefix is removed.
print_warnings <- function() {
  if (!cell$warned) return()
  cell$warned <- FALSE
  target <- if (message_sink() == 2L) capture_target()
  if (is.null(target)) return(.Internal(printDeferredWarnings()))
  on.exit(close(target))
  suspendInterrupts({
    sink(target, type = "message")
    .Internal(printDeferredWarnings())
    sink(type = "message")
  })
  cat(sub("^In addition: ", "", raw_text(rawConnectionValue(target))), file = stderr())
}
