# Descriptors: 0, 1 and 2 are restored after each cell, and programs that a cell starts get only those three.

DESCRIPTORS <- "/proc/self/fd"

# links (targets of 0, 1 and 2), spares (other paths to them), connections and numbers (R's own of the spares and of
# reopened files), ours (descriptors that no program needs)
streams <- new.env(parent = emptyenv())

set_up_streams <- function() {
  standard <- file.path(DESCRIPTORS, 0:2)
  streams$links <- Sys.readlink(standard)
  before <- descriptors()
  for (i in 1:3) keep_open(standard[i], if (i == 1L) "rb" else "wb")
  opened <- setdiff(descriptors(), before) # in this order, since each took the lowest free number
  streams$spares <- file.path(DESCRIPTORS, opened)
  streams$ours <- c(link$descriptor, opened)
  open_console(link$library, link$taken)
}

descriptors <- function() {
  found <- sort(as.integer(list.files(DESCRIPTORS)))
  found[file.exists(file.path(DESCRIPTORS, found))] # except that of the listing itself
}

# R closes a connection without references.
keep_open <- function(path, mode) {
  connection <- file(path, mode, raw = TRUE)
  streams$connections <- c(streams$connections, list(connection))
  streams$numbers <- c(streams$numbers, as.integer(connection))
}

# A cell can close them (parallel:::closeFD) or redirect them (parallel:::closeStdout).
restore_streams <- function() {
  if (.Call(console$is_whole) || is_forked()) return()
  now <- Sys.readlink(file.path(DESCRIPTORS, 0:2))
  wrong <- which(is.na(now) | now != streams$links)
  asNamespace("parallel")$closeFD(wrong[!is.na(now[wrong])] - 1L)
  for (i in wrong) keep_open(streams$spares[i], if (i == 1L) "rb" else "wb") # takes the lowest free number
}

# A shell command with our descriptors closed. R leaves them open in every program that it starts.
without_ours <- function(command) {
  closed <- streams$ours[streams$ours < 10L] # the shell only supports these numbers
  paste0("exec ", paste0(closed, "<&-", collapse = " "), "; ", command)
}
