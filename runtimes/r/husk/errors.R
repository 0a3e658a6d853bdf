# Converts conditions to the fields of the link's `error` message, in the words of R's prompt.

TEXT_MAX <- 2^20 # characters of text/plain
ERROR_MAX <- 16384L # characters of a message
TRACEBACK_MAX <- 32768L
CALLS_SHOWN <- 12L # calls at each end of a long traceback
RUN_SHOWN <- 3L # consecutive calls of packages; of more, only the first and the one that raised are shown
FRAMES_SEARCHED <- 200L
LINE_WIDTH <- 77L # R breaks longer error lines

# The call that runs all top-level code. R names this call in errors for which R's prompt would name none.
EVAL_CALL <- quote(eval(husk_expression, husk_workspace))

# Reduces a text that is too long to its head and tail.
shorten <- function(text, limit, what = "characters") {
  size <- nchar(text, "chars", allowNA = TRUE)
  if (is.na(size) || size <= limit) return(text)
  head <- limit %/% 4L
  note <- sprintf("\n[... %s %s left out ...]\n", format(size - limit, big.mark = ","), what)
  paste0(substr(text, 1L, head), note, substr(text, size - (limit - head) + 1L, size))
}

error_message <- function(condition) {
  text <- tryCatch(valid_text(conditionMessage(condition)), error = function(e) "<no message: conditionMessage() failed>")
  shorten(text, ERROR_MAX)
}

error_call <- function(condition) {
  call <- tryCatch(conditionCall(condition), error = function(e) NULL)
  if (identical(call, EVAL_CALL)) NULL else call
}

one_line <- function(call, width = 150L) {
  lines <- tryCatch(deparse(call, width.cutoff = 120L, nlines = 4L), error = function(e) "<call>")
  if (length(lines) > 3L) lines <- c(lines[1:2], "...")
  text <- gsub("[[:space:]]+", " ", valid_text(lines))
  if (nchar(text) > width) paste0(substr(text, 1L, width - 3L), "...") else text
}

# "Error in f(x) : message", broken into two lines as R does.
error_line <- function(condition) {
  message <- error_message(condition)
  call <- error_call(condition)
  if (is.null(call)) return(paste0("Error: ", message))
  text <- one_line(call, 100L)
  first <- strsplit(message, "\n", fixed = TRUE)[[1L]][1L]
  long <- 14L + nchar(text, "width") + nchar(first, "width") > LINE_WIDTH
  paste0("Error in ", text, " : ", if (isTRUE(long)) "\n  ", message)
}

# The user's part of the call stack. Its attribute `foreign` marks calls of package functions. Called by a handler; the
# `depth` frames at the bottom belong to the kernel.
users_calls <- function(depth) {
  end <- sys.nframe() - 2L # this function and the handler
  if (end <= depth) return(list())
  calls <- sys.calls()
  if (identical(calls[[end]][[1L]], quote(.handleSimpleError))) end <- end - 1L # R adds this frame to its own errors
  frames <- seq.int(depth + 1L, length.out = end - depth)
  # From the first frame of the kernel on, all frames are the kernel's. That first one is shown only if the user called
  # it by name.
  ours <- which(vapply(frames[seq_len(min(length(frames), FRAMES_SEARCHED))], is_ours, NA))
  if (length(ours) > 0L) frames <- frames[seq_len(ours[1L] - !is.symbol(calls[[frames[ours[1L]]]][[1L]]))]
  calls <- calls[frames]
  compiling <- Position(is_compiling, calls)
  if (!is.na(compiling)) calls <- calls[seq_len(compiling - 1L)]
  searched <- seq_len(min(length(calls), FRAMES_SEARCHED))
  structure(calls, foreign = c(vapply(frames[searched], is_foreign, NA), logical(length(calls) - length(searched))))
}

# TRUE if the function is part of R or of an installed package, not written by the user.
is_foreign <- function(frame) {
  home <- environment(sys.function(frame))
  if (is.null(home)) return(TRUE)
  home <- topenv(home)
  isNamespace(home) || identical(home, baseenv())
}

# TRUE for a call of R's compiler, which compiles loops and functions when they run.
is_compiling <- function(call) is.call(call[[1L]]) && identical(call[[1L]][[2L]], quote(compiler))

is_ours <- function(frame) identical(environment(sys.function(frame)), environment(is_ours))

traceback_lines <- function(calls) {
  n <- length(calls)
  shown <- shown_calls(calls)
  if (identical(calls[[1L]], quote(.BaseNamespaceEnv$print(x)))) calls[[1L]] <- quote(print(x)) # as R's prompt shows it
  attr(calls[[1L]], "srcref") <- cell$place
  folded <- shown > 1L & !c(TRUE, diff(shown) == 1L) # TRUE if calls before this one are left out
  long <- if (length(shown) > 2L * CALLS_SHOWN) seq.int(CALLS_SHOWN + 1L, length(shown) - CALLS_SHOWN)
  lines <- vapply(shown, function(i) sprintf("%*d: %s%s", nchar(n), i, one_line(calls[[i]]), place(calls[[i]])), "")
  lines[folded] <- paste0(FOLDED, "\n", lines[folded])
  if (length(long) == 0L) return(lines)
  left_out <- shown[long[length(long)] + 1L] - shown[long[1L] - 1L] - 1L
  append(lines[-long], sprintf("[... %d calls left out ...]", left_out), CALLS_SHOWN)
}

FOLDED <- "[... calls of packages left out, traceback() shows them ...]"

# The calls to show: of many consecutive calls outside of the user's code, the first and the last. At the end, calls
# that only signal the error are left out.
shown_calls <- function(calls) {
  foreign <- attr(calls, "foreign")
  if (is.null(foreign)) return(seq_along(calls))
  runs <- rle(foreign)
  ends <- cumsum(runs$lengths)
  starts <- ends - runs$lengths + 1L
  if (runs$values[length(ends)]) ends[length(ends)] <- raising(calls, starts[length(ends)], ends[length(ends)])
  unlist(Map(function(start, end, foreign) {
    if (foreign && end - start >= RUN_SHOWN) c(start, end) else seq.int(start, end)
  }, starts, ends, runs$values))
}

SIGNALLING <- c("signalCondition", "signal_abort", "cnd_signal", "abort", "cli_abort", ".handleSimpleError", "h", "stop")

# The last call from `start` to `end` that does more than signal an error.
raising <- function(calls, start, end) {
  while (end > start) {
    called <- calls[[end]][[1L]]
    if (is.call(called) && identical(called[[1L]], quote(`::`))) called <- called[[3L]]
    if (is.symbol(called) && !as.character(called) %in% SIGNALLING) break
    end <- end - 1L
  }
  end
}

# " at file#line", as traceback() prints it.
place <- function(call) {
  source <- attr(call, "srcref")
  if (is.null(source)) return("")
  file <- tryCatch(basename(attr(source, "srcfile")$filename), error = function(e) "")
  paste0(" at ", if (length(file) == 1L && nzchar(file)) file, "#", source[1L])
}

# The fields of the `error` message. The traceback says where the error occurred, and only the message gives the reason.
report_error <- function(condition, calls) {
  call <- error_call(condition)
  line <- if (!is.null(call)) paste("Error in", one_line(call, 100L))
  failure(class(condition)[1L], error_message(condition), c(line, call_lines(calls, "Calls")))
}

# Leaves out the call: R names the kernel's own call of parse(), and R's prompt would name none.
report_syntax <- function(condition) {
  failure("parseError", error_message(condition))
}

report_interrupt <- function(calls) {
  message <- "Execution was interrupted"
  lines <- call_lines(calls, "in")
  failure("interrupt", message, lines)
}

# The calls that led to the error. A single call is shown only if it gives the place in a long cell.
call_lines <- function(calls, title) {
  if (length(calls) > 1L) return(c(paste0(title, ", outermost first:"), traceback_lines(calls)))
  if (is.null(cell$place) || length(attr(cell$place, "srcfile")$lines) < 2L) return(NULL)
  sub("^ ", "", place(structure(0, srcref = cell$place)))
}

report_quit <- function(status) {
  message <- "q() was called with status %s: the cell ended here; the session keeps its variables"
  c(failure("quit", sprintf(message, valid_text(format(status)))), exit_code = exit_code(status))
}

# The exit code of a process that calls q(status = status): the last eight bits, or 0 if the status is not a number.
exit_code <- function(status) {
  number <- tryCatch(suppressWarnings(as.integer(status)[1L]), error = function(e) 0L)
  if (is.na(number)) 0L else bitwAnd(number, 255L)
}

report_abort <- function() failure("abort", "The cell was aborted; the session keeps its variables")

failure <- function(type, message, lines = NULL) {
  list(type = type, message = message, traceback = shorten(paste(lines, collapse = "\n"), TRACEBACK_MAX))
}

# Stores the calls for traceback() in the next cell.
remember_traceback <- function(calls) {
  calls <- lapply(rev(calls[seq_len(min(length(calls), FRAMES_SEARCHED))]), function(call) {
    text <- tryCatch(deparse(call, nlines = 5L), error = function(e) "<call>")
    structure(text, srcref = attr(call, "srcref"))
  })
  assign(".Traceback", calls, envir = baseenv())
}
