# Copies of this kernel, which PID 1 keeps as checkpoints. copies.c makes them and says what they lack.

# Libraries whose threads hold locks, so a copy would hang: a part of a library's path, and its name.
NEVER_COPIED <- c("libjvm.so" = "a Java machine", "polars" = "polars", "libtensorflow" = "tensorflow", "jaxlib" = "jax",
                  "libtorch" = "torch", "liblantern" = "torch")
COPY_FDS <- 4L
LOSSES_MAX <- 20L
LOSS_WIDTH <- 100L

copies <- new.env(parent = emptyenv())

set_up_copies <- function() {
  for (name in c("receive", "close", "losses", "loaded", "fork")) {
    copies[[name]] <- getNativeSymbolInfo(paste0("copies_", name), link$library)$address
  }
}

# Answers PID 1's request for a copy. Returns in the kernel at once, and in the copy once it takes the kernel's place.
make_copy <- function(id) {
  fds <- .Call(copies$receive)
  why <- if (length(fds) == COPY_FDS) obstacle() else "the descriptors for a copy are missing"
  if (is.null(why)) {
    copied <- .Call(copies$fork, fds, hello(losses(fds)))
    if (isTRUE(copied)) return(begin_as_kernel())
    if (is.null(copied)) why <- "a copy of the interpreter did not come to life"
  }
  .Call(copies$close, fds)
  link_send(json_object(op = "\"forked\"", id = id, cannot = if (!is.null(why)) json_string(why)))
}

# Why this process cannot be copied; NULL if it can.
obstacle <- function() {
  found <- which(.Call(copies$loaded, names(NEVER_COPIED)))
  if (length(found) == 0L) return(NULL)
  paste(NEVER_COPIED[[found[1L]]], "is loaded, whose threads do not survive a copy of the interpreter")
}

# Texts that name the losses of a copy; `fds` are the descriptors for it.
losses <- function(fds) {
  found <- c(lost_threads(), .Call(copies$losses, as.integer(c(streams$ours, link$taken, fds))), lost_transactions())
  if (length(found) > LOSSES_MAX) found <- c(found[seq_len(LOSSES_MAX - 1L)], paste(length(found) - LOSSES_MAX + 1L, "more"))
  substr(found, 1L, LOSS_WIDTH)
}

lost_threads <- function() {
  c(if (isNamespaceLoaded("later")) "callbacks of later that wait for their time",
    if (isNamespaceLoaded("data.table") && data.table::getDTthreads() > 1L) "threads of data.table (one from then on)")
}

lost_transactions <- function() {
  if (!isNamespaceLoaded("RSQLite")) return(NULL)
  open <- function(name) {
    if (bindingIsActive(as.name(name), husk_workspace) || is_promise(name)) return(FALSE)
    value <- get(name, envir = husk_workspace)
    inherits(value, "SQLiteConnection") && RSQLite::dbIsValid(value) && RSQLite::sqliteIsTransacting(value)
  }
  names <- Filter(function(name) tryCatch(open(name), error = function(e) FALSE), ls(husk_workspace))
  if (length(names) > 0L) paste("the open transaction of", valid_texts(names))
}

valid_texts <- function(texts) vapply(texts, valid_text, "", USE.NAMES = FALSE)

# This process is a copy that takes the place of the kernel. PID 1's message about that is the next one.
begin_as_kernel <- function() {
  before <- link$owner
  link$owner <- Sys.getpid()
  if (identical(figures$owner, before)) figures$owner <- link$owner
  renew_cli()
}

# The thread that makes progress bars of cli move does not survive the copy.
renew_cli <- function() {
  if (!isNamespaceLoaded("cli")) return()
  cli <- asNamespace("cli")
  tryCatch(.Call(cli$clic_start_thread, environment(cli$dummy), cli$clienv$tick_time, cli$clienv$speed_time),
           error = function(e) NULL)
}
