# The kernel link (docs/protocol.md, section 2): one socket shared with PID 1, one JSON object per message. link.c reads
# and writes the data. The link works only in the process that opened it. It has its own JSON code, since loading a
# package would take longer than everything else.

PROTOCOL_VERSION <- 1L
# Fields: descriptor, taken (the descriptor HUSK_TAKEN_FD), owner (pid), library (the compiled C code, next to the
# kernel) and the addresses of its functions, interrupted (an interrupt was reported that R does not know about).
link <- new.env(parent = emptyenv())

# The address is fd:N, a descriptor that only this process has inherited.
link_open <- function(address) {
  link$library <- dyn.load(file.path(dirname(rev(commandArgs())[1L]), "husk.so"))
  for (name in c("open", "next", "wait", "send", "result", "forget_interrupt", "is_promise")) {
    link[[name]] <- getNativeSymbolInfo(paste0("link_", name), link$library)$address
  }
  link$descriptor <- as.integer(sub("fd:", "", address, fixed = TRUE))
  .Call(link$open, link$descriptor)
  link$owner <- Sys.getpid()
}

# TRUE in a child that a cell forked. Only the kernel's own process uses the link.
is_forked <- function() Sys.getpid() != link$owner

link_hello <- function() link_send(hello())

# The hello of this process, or that of a copy, which lacks some things.
hello <- function(lost = NULL) {
  version <- paste(R.version$major, R.version$minor, sep = ".")
  json_object(op = json_string("hello"), version = PROTOCOL_VERSION, language_version = json_string(version),
              looks = "true", queries = "true", forks = "true",
              lost = if (!is.null(lost)) paste0("[", paste0(vapply(lost, json_string, ""), collapse = ","), "]"))
}

# The next message as a list of strings, or NULL if PID 1 has closed the link or sent invalid data.
link_receive <- function() {
  repeat {
    message <- .Call(link$`next`)
    if (is.list(message)) return(message)
    if (is.raw(message)) return(tryCatch(json_read(message), error = function(e) NULL))
    if (is.logical(message)) return(NULL)
    link_wait()
  }
}

# Waits until there is something to read. Used if callbacks of event loops must run meanwhile (later, httpuv, Tk); their
# errors appear here. Interrupts reach R while it waits, even if they are suspended.
link_wait <- function() {
  told <- function(e) {
    if (inherits(e, "error")) writeLines(error_line(e), stderr())
    FALSE
  }
  while (!tryCatch(.Call(link$wait), condition = told)) NULL
}

# Sends one message, given in pieces: texts, or a list of texts and bytes, which become base64. Returns FALSE, and sends
# nothing, if the message is too long. With `more`, another message follows at once and is sent with this one.
link_send <- function(pieces, more = FALSE) {
  sent <- .Call(link$send, pieces, more)
  if (is.null(sent)) link_lost()
  sent
}

# Raises the reported interrupt, unless the caller has suspended interrupts.
raise_interrupt <- function() {
  if (is.null(link$interrupted) || .Internal(interruptsSuspended())) return()
  link$interrupted <- NULL
  signalCondition(structure(class = c("interrupt", "condition"), list(message = "", call = NULL)))
}

link_lost <- function() {
  writeLines("The R kernel lost its connection to the session and ends; variables are gone.", stderr())
  leave(1L)
}

# Ends this process at once. A forked child must not run its parent's exit code, which removes the parent's files.
leave <- function(status) {
  if (is_forked()) suppressWarnings(asNamespace("parallel")$mcexit(status))
  .Internal(quit("no", status, FALSE))
}

# JSON ------------------------------------------------------------------------------------------------------------

# A JSON object of named members whose values are already JSON.
json_object <- function(...) {
  members <- c(...)
  paste0("{", paste0("\"", names(members), "\":", members, collapse = ","), "}")
}

json_string <- function(text) {
  text <- valid_text(text)
  if (grepl("[\\\\\"\001-\037\177]", text, perl = TRUE, useBytes = TRUE)) {
    text <- gsub("\\", "\\\\", text, fixed = TRUE)
    text <- gsub("\"", "\\\"", text, fixed = TRUE)
    text <- gsub("\n", "\\n", text, fixed = TRUE)
    text <- gsub("\r", "\\r", text, fixed = TRUE)
    text <- gsub("\t", "\\t", text, fixed = TRUE)
    if (grepl("[\001-\037\177]", text)) {
      for (code in c(1:8, 11:12, 14:31, 127L)) {
        text <- gsub(intToUtf8(code), sprintf("\\u%04x", code), text, fixed = TRUE)
      }
    }
  }
  paste0("\"", text, "\"")
}

# Converts text to one string of valid UTF-8.
valid_text <- function(text) {
  if (length(text) != 1L) text <- paste(as.character(text), collapse = "\n")
  if (is.na(text)) return("NA")
  if (Encoding(text) == "bytes") Encoding(text) <- "UTF-8"
  text <- enc2utf8(text)
  if (!validUTF8(text)) text <- iconv(text, "UTF-8", "UTF-8", sub = "\ufffd")
  text
}

# Reads an object of strings and numbers as a list of strings. An object in it (env) becomes such a list too. Fails on
# anything else.
json_read <- function(bytes) {
  text <- rawToChar(bytes)
  Encoding(text) <- "UTF-8"
  if (!validUTF8(text)) stop("no UTF-8")
  at <- gregexpr("\"(?:[^\"\\\\]++|\\\\.)*+\"|[^\\s{}:,\"]++|[{}]", text, perl = TRUE)[[1L]]
  ends <- at + attr(at, "match.length") - 1L
  first <- substring(text, at, at)
  quoted <- first == "\""
  tokens <- substring(text, at + quoted, ends - quoted)
  for (i in grep("\\", tokens, fixed = TRUE)) tokens[i] <- json_unescape(tokens[i])
  open <- which(first == "{")
  if (length(open) == 1L) return(json_pairs(tokens[-c(1L, length(tokens))]))
  close <- which(first == "}")
  inner <- seq.int(open[2L] + 1L, length.out = close[1L] - open[2L] - 1L)
  outer <- json_pairs(tokens[-c(1L, open[2L], inner, length(tokens))]) # the inner "}" is kept in its place
  outer[[tokens[open[2L] - 1L]]] <- json_pairs(tokens[inner])
  outer
}

json_pairs <- function(tokens) {
  if (length(tokens) == 0L) return(structure(list(), names = character()))
  odd <- seq.int(1L, length(tokens), by = 2L)
  `names<-`(as.list(tokens[odd + 1L]), tokens[odd])
}

json_unescape <- function(text) {
  # Replaces a backslash until the end. Unicode reserves this character for internal use, so text does not contain it.
  backslash <- "\ufdd0"
  text <- gsub("\\\\", backslash, text, fixed = TRUE)
  simple <- c("\\\"" = "\"", "\\/" = "/", "\\n" = "\n", "\\r" = "\r", "\\t" = "\t", "\\b" = "\b", "\\f" = "\f")
  for (escape in names(simple)) text <- gsub(escape, simple[[escape]], text, fixed = TRUE)
  if (grepl("\\u", text, fixed = TRUE)) {
    hex <- "\\\\u[dD][89abAB][[:xdigit:]]{2}\\\\u[dD][c-fC-F][[:xdigit:]]{2}|\\\\u[[:xdigit:]]{4}"
    found <- unique(regmatches(text, gregexpr(hex, text))[[1L]])
    for (escape in found[order(-nchar(found))]) { # surrogate pairs first
      units <- strtoi(strsplit(substring(escape, 3L), "\\u", fixed = TRUE)[[1L]], 16L)
      code <- if (length(units) == 2L) 65536L + (units[1L] - 55296L) * 1024L + units[2L] - 56320L else units
      if (code == 0L || code >= 55296L && code <= 57343L) code <- 65533L # NUL (not possible in R), or half of a pair
      text <- gsub(escape, if (code == 92L) backslash else intToUtf8(code), text, fixed = TRUE)
    }
  }
  if (grepl("\\", text, fixed = TRUE)) stop("an unknown escape")
  gsub(backslash, "\\", text, fixed = TRUE)
}
