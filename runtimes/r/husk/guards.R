# Keeps R's own functions from harming a session: ending it, waiting for a keyboard, closing the link, outliving their
# cell.

# Keeps R, which is not interactive here, from ending at an uncaught error (kernel.R continues).
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
  # As registerS3method() does, but without consulting methods, which would read all of its classes.
  assign("close.connection", get("close.connection", envir = baseenv()), envir = .BaseNamespaceEnv[[".__S3MethodsTable__."]])
  before("pipe", quote(description <- .husk$without_ours(description)))
  for (name in c("system", "system2")) guard(name, mark_system(get(name, envir = baseenv())))
  guard("globalCallingHandlers", mark_handlers(globalCallingHandlers))
  setHook(packageEvent("parallel", "onLoad"), function(...) count_cores(asNamespace("parallel")))
}

# parallel::detectCores() counts the host's cores; the session may use as many as nproc says.
count_cores <- function(parallel) {
  own <- suppressWarnings(as.integer(Sys.getenv("OMP_NUM_THREADS")))
  if (is.na(own)) return()
  count <- parallel$detectCores
  unlockBinding("detectCores", parallel)
  counted <- function(all.tests = FALSE, logical = TRUE) min(own, do.call(count, list(all.tests, logical)), na.rm = TRUE)
  assign("detectCores", counted, envir = parallel)
  lockBinding("detectCores", parallel)
}

# R sets these only at its own prompt, where no handler is active. Here they are set for each top-level expression
# (run_expression).
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
  getAllConnections = function() setdiff(.Internal(getAllConnections()), c(link$number, streams$numbers))
)

no_debugger <- function(what) message(what, ": no debugger here; the code continues")

# Runs a check before a function of base; the check sees the arguments and, on the search path, the kernel.
before <- function(name, check) {
  fun <- get(name, envir = baseenv())
  body(fun) <- call("{", check, body(fun))
  guard(name, fun)
}

is_kept <- function(con) as.integer(con) %in% c(link$number, streams$numbers)

refuse_close <- function() stop("this connection belongs to the R kernel: without it the session would end", call. = FALSE)

quit_cell <- function(status) {
  if (is_forked()) leave(as.integer(status))
  cell$quit <- status
  invokeRestart("abort")
}

# While system() waits for its shell R ignores interrupts: the shell's exit status must show them.
INTERRUPTED_STATUS <- 130L

run_system <- function(command, intern, run) {
  place_pages()
  if (intern) {
    output <- run(without_ours(command))
    Sys.sleep(0) # R noted the interrupt and would handle it later
    return(output)
  }
  status <- run(without_ours(paste0("trap 'exit 130' INT; ", command)))
  if (identical(as.integer(status), INTERRUPTED_STATUS)) {
    link$interrupted <- TRUE
    raise_interrupt()
  }
  invisible(status)
}

# system() and system2() with their .Internal(system(command, intern, ...)) in run_system().
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

# After each cell: cleans up what the next one must not find.
tidy_up <- function() {
  setTimeLimit()
  setSessionTimeLimit()
  if (sinks() > 0L || message_sink() != 2L) {
    while (sinks() > 0L) sink()
    sink(type = "message")
    writeLines("[sink() still took the output at the end of the cell; it was undone]", stderr())
  }
  options(error = ERROR_OPTION)
  restore_streams()
}

# sink.number() without its match.arg().
sinks <- function() .Internal(sink.number(TRUE))
message_sink <- function() .Internal(sink.number(FALSE))
