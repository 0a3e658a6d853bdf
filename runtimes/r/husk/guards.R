# Keeps R's own functions from harming a session: from ending it, waiting for a keyboard, closing the link, or having
# effects after their cell.

# R is not interactive here and would end at an uncaught error. This option prevents that, and kernel.R continues.
ERROR_OPTION <- quote(invisible())

guard <- function(name, value) {
  unlockBinding(name, baseenv())
  assign(name, value, envir = baseenv())
  lockBinding(name, baseenv())
}

set_up_guards <- function() {
  for (name in c(".Last.value", ".Traceback")) unlockBinding(name, baseenv())
  for (name in names(guards)) guard(name, guards[[name]])
  before("scan", quote(if (missing(text) && (identical(file, "") || inherits(file, "terminal"))) {
    text <- .husk$read_values()
  }))
  before("readLines", quote(if (.husk$is_keyboard(con)) return(.husk$read_lines(n))))
  before("close.connection", quote(if (.husk$is_kept(con)) .husk$refuse_close()))
  # Does what registerS3method() does, but without loading all classes of the package methods.
  assign("close.connection", get("close.connection", envir = baseenv()), envir = .BaseNamespaceEnv[[".__S3MethodsTable__."]])
  before("pipe", quote(description <- .husk$without_ours(description)))
  for (name in c("system", "system2")) guard(name, mark_system(get(name, envir = baseenv())))
  guard("globalCallingHandlers", mark_handlers(globalCallingHandlers))
  setHook(packageEvent("parallel", "onLoad"), function(...) count_cores(asNamespace("parallel")))
}

# Makes parallel::detectCores(), which counts the host's cores, return the number that the session may use, like nproc.
count_cores <- function(parallel) {
  own <- suppressWarnings(as.integer(Sys.getenv("OMP_NUM_THREADS")))
  if (is.na(own)) return()
  count <- parallel$detectCores
  unlockBinding("detectCores", parallel)
  counted <- function(all.tests = FALSE, logical = TRUE) min(own, do.call(count, list(all.tests, logical)), na.rm = TRUE)
  assign("detectCores", counted, envir = parallel)
  lockBinding("detectCores", parallel)
}

# R accepts global calling handlers only at its own prompt, where no other handler is active. Here they are set for each
# top-level expression (run_expression).
mark_handlers <- function(fun) {
  mark <- function(code) {
    if (!is.call(code)) return(code)
    if (identical(code[[1L]], quote(.Internal))) return(quote(.husk$keep_handlers(gh)))
    for (i in which(vapply(code, is.call, NA))) code[[i]] <- mark(code[[i]])
    code
  }
  body(fun) <- mark(body(fun))
  fun
}

keep_handlers <- function(handlers) cell$handlers <- handlers

# Replacements for functions of base.
guards <- list(
  q = function(save = "default", status = 0, runLast = TRUE) quit_cell(status),
  quit = function(save = "default", status = 0, runLast = TRUE) quit_cell(status),
  readline = function(prompt = "") read_line(prompt),
  browser = function(text = "", condition = NULL, expr = TRUE, skipCalls = 0L) {
    if (!isTRUE(as.logical(expr))) return(invisible())
    if (isTRUE(keyboard$open)) browse(parent.frame(), sys.call(-1L)) else no_debugger("browser()")
  },
  debug = function(fun, text = "", condition = NULL, signature = NULL) no_debugger("debug()"),
  debugonce = function(fun, text = "", condition = NULL, signature = NULL) no_debugger("debugonce()"),
  getAllConnections = function() setdiff(.Internal(getAllConnections()), streams$numbers)
)

no_debugger <- function(what) message(what, ": no debugger here; the code continues")

# Runs a check before a function of base. The check can use the arguments and, through the search path, the kernel.
before <- function(name, check) {
  fun <- get(name, envir = baseenv())
  body(fun) <- call("{", check, body(fun))
  guard(name, fun)
}

is_kept <- function(con) as.integer(con) %in% streams$numbers

refuse_close <- function() stop("this connection belongs to the R kernel: without it the session would end", call. = FALSE)

quit_cell <- function(status) {
  if (is_forked()) leave(as.integer(status))
  cell$quit <- if (is.null(status)) 0L else status
  invokeRestart("abort")
}

# R ignores interrupts while system() waits for its shell, so the shell's exit status must report them.
INTERRUPTED_STATUS <- 130L

run_system <- function(command, intern, run) {
  place_pages()
  if (intern) {
    output <- run(without_ours(command))
    Sys.sleep(0) # lets R handle an interrupt now that it would handle later
    return(output)
  }
  status <- run(without_ours(paste0("trap 'exit 130' INT; ", command)))
  if (identical(as.integer(status), INTERRUPTED_STATUS)) {
    link$interrupted <- TRUE
    raise_interrupt()
  }
  invisible(status)
}

# Makes system() and system2() run their .Internal(system(command, intern, ...)) through run_system().
mark_system <- function(code) {
  if (is.function(code)) {
    body(code) <- mark_system(body(code))
  } else if (is.call(code) && identical(code[[1L]], quote(.Internal)) && identical(code[[2L]][[1L]], quote(system))) {
    run <- call("function", as.pairlist(alist(command = )), code)
    return(as.call(list(quote(.husk$run_system), code[[2L]][[2L]], code[[2L]][[3L]], run)))
  } else if (is.call(code)) {
    for (i in which(vapply(code, is.call, NA))) code[[i]] <- mark_system(code[[i]])
  }
  code
}

# Called after each cell: undoes time limits, sinks and options that must not affect the next cell.
tidy_up <- function() {
  setTimeLimit()
  setSessionTimeLimit()
  if (sinks() > 0L || message_sink() != 2L) {
    while (sinks() > 0L) sink()
    sink(type = "message")
    writeLines("[sink() was still active at the end of the cell; it was undone]", stderr())
  }
  options(error = ERROR_OPTION)
  restore_streams()
}

# sink.number() without its match.arg().
sinks <- function() .Internal(sink.number(TRUE))
message_sink <- function() .Internal(sink.number(FALSE))
