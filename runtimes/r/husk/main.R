# The kernel: loads, says hello and runs cells until PID 1 closes the link.

main <- function() {
  suspendInterrupts({
    link_open(Sys.getenv("HUSK_LINK"))
    link$taken <- as.integer(Sys.getenv("HUSK_TAKEN_FD"))
    Sys.unsetenv(c("HUSK_LINK", "HUSK_TAKEN_FD", "R_DEFAULT_PACKAGES"))
    restore_environment()
    load_packages() # R's own packages, before the session's libraries are added
    set_up_library()
    link_hello() # the remaining steps are done before PID 1 has answered
    set_up()
    serve()
  })
}

set_up <- function() {
  options(error = ERROR_OPTION, keep.source = TRUE, width = 120L, max.print = 10000L, pager = show_files,
          menu.graphics = FALSE, rlang_trace_top_env = husk_workspace)
  set_up_streams()
  set_up_guards()
  set_up_copies()
  set_up_figures()
  set_up_web()
  attach(tools, name = "husk", warn.conflicts = FALSE)
}

# Restores the names of variables that must not be set when R starts (docs/protocol.md): a package in the session's
# library, or a profile, would run before the kernel.
restore_environment <- function() {
  late <- Sys.getenv()
  late <- late[startsWith(names(late), "HUSK_LATE_")]
  if (length(late) == 0L) return()
  do.call(Sys.setenv, `names<-`(as.list(late), sub("HUSK_LATE_", "", names(late), fixed = TRUE)))
  Sys.unsetenv(names(late))
}

# install.packages() installs into the first library, and asks no question if that library exists.
set_up_library <- function() {
  own <- path.expand(strsplit(Sys.getenv("R_LIBS_USER"), ":", fixed = TRUE)[[1L]])
  own <- own[nzchar(own)]
  given <- strsplit(Sys.getenv("R_LIBS"), ":", fixed = TRUE)[[1L]]
  if (length(own) > 0L) {
    dir.create(own[1L], showWarnings = FALSE, recursive = TRUE)
  }
  .libPaths(c(given, own, .libPaths()))
}

# For options(pager=): prints help pages and the like to stdout.
show_files <- function(files, header, title, delete.file) {
  for (file in files) writeLines(gsub("_\b", "", readLines(file, warn = FALSE), fixed = TRUE))
  if (delete.file) unlink(files)
}

serve <- function() {
  repeat {
    message <- link_receive()
    if (identical(message$op, "look")) {
      send_variables(message$id)
      next
    }
    if (isTRUE(message$op %in% QUERIES)) {
      answer(message)
      next
    }
    if (identical(message$op, "fork")) {
      make_copy(message$id)
      next
    }
    if (identical(message$op, "wake")) {
      link_send(json_object(op = "\"woken\"", id = message$id))
      next
    }
    if (identical(message$op, "input")) next # the answer to a prompt that an interrupt has ended
    if (is.null(message) || !identical(message$op, "execute")) leave(0L)
    open_keyboard(identical(message$interactive, "true"))
    execute(message$id, message$code, message$env)
  }
}

# Sends the variables of the workspace, between two cells.
send_variables <- function(id) {
  found <- tryCatch(list_variables(), error = function(e) list(total = 0L, variables = list()))
  entries <- vapply(found$variables, function(v) {
    json_object(name = json_string(v$name), type = json_string(v$type), shape = json_string(v$shape),
                bytes = format(v$bytes, scientific = FALSE))
  }, "")
  link_send(json_object(op = "\"variables\"", id = id, variables = paste0("[", paste0(entries, collapse = ","), "]"),
                        more = format(found$total - length(entries), scientific = FALSE)))
}

execute <- function(id, code, env) {
  cell$id <- id
  console_cell(id)
  ignore_interrupts()
  if (!is.null(env)) cell$env <- set_env(env)
  failure <- run_cell(code)
  finish(failure)
}

# Sets the environment variables of one run, a list of strings. Returns what restore_env() needs.
set_env <- function(env) {
  env <- env[nzchar(names(env)) & !grepl("=", names(env), fixed = TRUE)]
  before <- Sys.getenv(names(env), NA, names = TRUE)
  if (length(env) > 0L) do.call(Sys.setenv, env)
  list(given = unlist(env), before = before)
}

# Restores the variables, except those that the cell itself has changed.
restore_env <- function(env) {
  now <- Sys.getenv(names(env$before), NA)
  before <- env$before[!is.na(now) & now == env$given]
  Sys.unsetenv(names(before)[is.na(before)])
  before <- before[!is.na(before)]
  if (length(before) > 0L) do.call(Sys.setenv, as.list(before))
}

# Ends the cell and continues after a jump to R's top level. Does nothing if called elsewhere: a debugger that waits for
# a command also reads the lines of kernel.R.
resume <- function() {
  if (!identical(parent.frame(), globalenv())) return(invisible())
  suspendInterrupts({
    if (!is.null(cell$id)) finish(report_abort())
    serve()
  })
}

# Drops interrupts that came between two cells.
ignore_interrupts <- function() {
  link$interrupted <- NULL
  if (.Call(link$forget_interrupt)) return()
  tryCatch(allowInterrupts(Sys.sleep(0)), interrupt = function(e) NULL)
}

finish <- function(failure) {
  if (is_forked()) leave_child(failure)
  tidy_up()
  open_keyboard(FALSE)
  if (!is.null(cell$env)) restore_env(cell$env)
  tryCatch({
    finish_figures()
    send_result()
    print_warnings()
  }, error = function(e) writeLines(error_line(e), stderr()))
  if (!is.null(failure)) {
    remember_traceback(cell$calls)
    texts <- vapply(failure[c("type", "message", "traceback")], json_string, "")
    link_send(json_object(op = "\"error\"", id = cell$id, texts, exit_code = failure$exit_code), more = TRUE)
  }
  done <- c("{\"op\":\"done\",\"id\":", cell$id, "}")
  console_cell(0)
  cell$id <- cell$text <- cell$bundle <- cell$calls <- cell$abort <- cell$env <- NULL
  link_send(done)
}

# Ends a child that the cell forked. The child sends no result.
leave_child <- function(failure) {
  if (!is.null(failure)) writeLines(c(failure$message, failure$traceback[nzchar(failure$traceback)]), stderr())
  leave(if (is.null(failure)) 0L else 1L)
}
