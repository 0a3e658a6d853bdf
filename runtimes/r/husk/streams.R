# Descriptors: 0, 1 and 2 are restored after each cell, and programs that a cell starts get only those three.

DESCRIPTORS <- "/proc/self/fd"

# Fields: links (targets of 0, 1 and 2), spares (other paths to these files), connections and numbers (R's connections
# to the spares and to reopened files, and their numbers), ours (descriptors that programs must not inherit).
streams <- new.env(parent = emptyenv())

set_up_streams <- function() {
  standard <- file.path(DESCRIPTORS, 0:2)
  streams$links <- Sys.readlink(standard)
  before <- descriptors()
  for (i in 1:3) keep_open(standard[i], if (i == 1L) "rb" else "wb")
  opened <- setdiff(descriptors(), before) # in the order of 0:2, since each took the lowest free number
  streams$spares <- file.path(DESCRIPTORS, opened)
  streams$ours <- c(link$descriptor, opened)
  open_console(link$library, link$taken)
}

descriptors <- function() {
  found <- sort(as.integer(list.files(DESCRIPTORS)))
  found[file.exists(file.path(DESCRIPTORS, found))] # without the descriptor of the listing itself
}

# Opens a file and keeps a reference, since R closes a connection that has none.
keep_open <- function(path, mode) {
  connection <- file(path, mode, raw = TRUE)
  streams$connections <- c(streams$connections, list(connection))
  streams$numbers <- c(streams$numbers, as.integer(connection))
}

# Restores 0, 1 and 2, which a cell can close (parallel:::closeFD) or redirect (parallel:::closeStdout).
restore_streams <- function() {
  if (.Call(console$is_whole) || is_forked()) return()
  now <- Sys.readlink(file.path(DESCRIPTORS, 0:2))
  wrong <- which(is.na(now) | now != streams$links)
  asNamespace("parallel")$closeFD(wrong[!is.na(now[wrong])] - 1L)
  for (i in wrong) keep_open(streams$spares[i], if (i == 1L) "rb" else "wb") # takes the lowest free number
}

# A shell command that first closes the kernel's descriptors, which R leaves open in every program that it starts.
without_ours <- function(command) {
  closed <- streams$ours[streams$ours < 10L] # the shell only supports these numbers
  paste0("exec ", paste0(closed, "<&-", collapse = " "), "; ", command)
}
