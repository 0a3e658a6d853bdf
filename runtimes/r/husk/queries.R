# Answers the queries of consoles and editors while a user types: completion, help, whether code is complete. The
# answers are R's own. Some queries run user code (names(), str()). The output of this code is dropped, and an interrupt
# ends it.

QUERIES <- c("complete", "inspect", "is_complete")
MATCHES_MAX <- 1000L
MATCHES_BYTES <- 150000L # including JSON's overhead, less than ANSWER_BYTES_MAX in kernels/protocol.h
HELP_MAX <- 30000L # characters
NAMES_BEFORE <- "(?:[[:alpha:]._][[:alnum:]._]*(?::{2,3}|[$@]))*[[:alpha:]._]?[[:alnum:]._]*$"

# Answers a query, between two cells.
answer <- function(message) {
  ignore_interrupts()
  fields <- tryCatch(
    c(status = "\"ok\"", allowInterrupts(muted(find_answer(message)))),
    interrupt = function(e) c(status = "\"timeout\""),
    error = function(e) c(status = "\"ok\"")
  )
  link_send(json_object(op = "\"answer\"", id = message$id, fields))
}

# The members of the answer, as JSON.
find_answer <- function(message) {
  code <- message$code
  cursor <- min(as.integer(message$cursor), nchar(code))
  switch(message$op,
    complete = complete_code(code, cursor),
    inspect = inspect_code(code, cursor, identical(message$detail, "1")),
    is_complete = judge_code(code)
  )
}

# Evaluates an expression and drops its output.
muted <- function(expr) {
  target <- rawConnection(raw(0L), "wb")
  before <- sinks()
  on.exit({
    while (sinks() > before) sink()
    sink(type = "message")
    close(target)
  })
  sink(target)
  sink(target, type = "message")
  suppressWarnings(expr)
}

# Completion --------------------------------------------------------------------------------------------------------

complete_code <- function(code, cursor) {
  before <- substr(code, 1L, cursor)
  line <- sub("(?s).*\n", "", before, perl = TRUE)
  word <- regmatches(line, regexpr("[[:alnum:]._]*$", line))
  found <- if (grepl("[^ -~]", word)) complete_foreign(word) else complete_line(line)
  found$matches <- found$matches[!is.na(found$matches) & nzchar(found$matches)]
  fits <- seq_along(found$matches) <= MATCHES_MAX & cumsum(nchar(found$matches, "bytes") + 4L) <= MATCHES_BYTES
  matches <- vapply(found$matches[fits], json_string, "", USE.NAMES = FALSE)
  c(matches = paste0("[", paste0(matches, collapse = ","), "]"), start = format(cursor - nchar(found$token)),
    end = format(cursor), more = if (all(fits)) "false" else "true")
}

# Returns list(token, matches): the text at the end of the line, and its possible replacements.
complete_line <- function(line) {
  utils <- asNamespace("utils")
  utils::rc.settings(ipck = TRUE) # also completes names of packages in library()
  utils$.assignLinebuffer(line)
  utils$.assignEnd(nchar(line))
  token <- utils$.guessTokenFromLine(update = FALSE)$token
  utils$.guessTokenFromLine()
  utils$.completeToken()
  list(token = token, matches = writable(unique(utils$.retrieveCompletions()), token))
}

# Puts backticks around names that are not valid in R. Removes the match `x$` for `x$`, which R returns if nothing
# matches.
writable <- function(matches, token) {
  matches <- matches[!(grepl("[$@:]$", matches) & startsWith(token, matches))]
  parts <- regmatches(matches, regexpr("^.*[$@]", matches), invert = NA)
  vapply(seq_along(matches), function(i) {
    if (length(parts[[i]]) == 3L) return(paste0(parts[[i]][2L], quoted(parts[[i]][3L])))
    if (exists(matches[i], envir = husk_workspace, inherits = FALSE)) quoted(matches[i]) else matches[i]
  }, "")
}

quoted <- function(name) {
  if (make.names(name) == name || startsWith(name, "`")) return(name)
  paste0("`", gsub("([\\\\`])", "\\\\\\1", name), "`")
}

# Completes names that are not ASCII, which R's own completion does not recognize.
complete_foreign <- function(word) {
  names <- unlist(lapply(seq_along(search()), ls, sorted = FALSE))
  list(token = word, matches = vapply(sort(unique(names[startsWith(names, word)])), quoted, "", USE.NAMES = FALSE))
}

# Help --------------------------------------------------------------------------------------------------------------

inspect_code <- function(code, cursor, detail) {
  for (name in names_at(code, cursor)) {
    text <- describe_name(name, detail)
    if (is.null(text)) next
    text <- shorten(text, HELP_MAX, "characters")
    return(c(found = "true", data = json_object("text/plain" = json_string(text))))
  }
  c(found = "false")
}

# The name at the cursor, such as a$b or stats::lm, and the name of the function that is being called there.
names_at <- function(code, cursor) {
  before <- substr(code, 1L, cursor)
  after <- regmatches(substring(code, cursor + 1L), regexpr("^[[:alnum:]._]*", substring(code, cursor + 1L)))
  at <- paste0(regmatches(before, regexpr(NAMES_BEFORE, before, perl = TRUE)), after)
  letters <- rev(strsplit(before, "", fixed = TRUE)[[1L]])
  depth <- cumsum(letters %in% c(")", "]", "}")) - cumsum(letters %in% c("(", "[", "{"))
  open <- match(-1L, depth)
  called <- character()
  if (!is.na(open) && letters[open] == "(") {
    head <- sub("\\s+$", "", substr(before, 1L, nchar(before) - open))
    called <- regmatches(head, regexpr(NAMES_BEFORE, head, perl = TRUE))
  }
  names <- c(at, called)
  names[nzchar(names)]
}

# Describes the value of a name; NULL if nothing has that name.
describe_name <- function(name, detail) {
  first <- sub("[$@:].*", "", name)
  if (exists(first, envir = husk_workspace, inherits = FALSE)) {
    if (bindingIsActive(as.name(first), husk_workspace)) return("An active binding, which was not read")
    if (is_promise(first)) return("A promise, which was not read")
  }
  value <- tryCatch(list(eval(str2lang(name), husk_workspace)), error = function(e) NULL)
  help <- help_page(name, value)
  if (is.null(value)) return(help)
  paste(c(describe_value(value[[1L]], detail), help), collapse = "\n")
}

describe_value <- function(value, detail) {
  if (is.function(value)) {
    home <- environmentName(environment(value))
    signature <- sub("^function ", "", utils::head(deparse(args(value)), -1L))
    return(c(paste0("Signature: ", paste(signature, collapse = "\n")),
             if (nzchar(home) && home != "R_GlobalEnv") paste0("Package:   ", home),
             if (detail) c("Source:", deparse(value, control = "useSource"))))
  }
  c(paste0("Class: ", paste(class(value), collapse = ", ")),
    utils::capture.output(utils::str(value, max.level = if (detail) 3L else 1L, list.len = 50L, give.attr = detail)))
}

# The help page as text, if the value belongs to a package or the name is a topic; otherwise NULL.
help_page <- function(name, value) {
  parts <- strsplit(name, ":{2,3}")[[1L]]
  if (grepl("[$@]", name) || (length(parts) == 1L && exists(name, envir = husk_workspace, inherits = FALSE))) return(NULL)
  package <- if (length(parts) == 2L) parts[1L]
  pages <- tryCatch(utils::help((parts[length(parts)]), (package), help_type = "text"), error = function(e) character())
  if (length(pages) == 0L) return(NULL)
  page <- tryCatch(asNamespace("utils")$.getHelpFile(pages[[1L]]), error = function(e) NULL)
  if (is.null(page)) return(NULL)
  lines <- utils::capture.output(tools::Rd2txt(page, options = list(underline_titles = FALSE, width = 100L)))
  paste(gsub("_\b", "", c("", lines), fixed = TRUE), collapse = "\n")
}

# Whether code is complete ------------------------------------------------------------------------------------------

UNFINISHED <- "unexpected end of input|unexpected INCOMPLETE_STRING|malformed raw string literal"

judge_code <- function(code) {
  why <- tryCatch({
    parse(text = code, keep.source = FALSE, encoding = "UTF-8")
    ""
  }, error = conditionMessage)
  state <- if (!nzchar(why)) "complete" else if (grepl(UNFINISHED, why)) "incomplete" else "invalid"
  c(completeness = json_string(state), indent = json_string(if (state == "incomplete") indent_after(code) else ""))
}

indent_after <- function(code) {
  lines <- strsplit(code, "\n", fixed = TRUE)[[1L]]
  last <- utils::tail(c("", lines[grepl("[^[:space:]]", lines)]), 1L)
  indent <- sub("[^[:space:]].*", "", last)
  if (grepl("[{(\\[]\\s*$", last, perl = TRUE)) paste0(indent, "  ") else indent
}
