# Rscript check-r.R FILE…: prints what codetools finds in the functions of these files taken together, and what our own
# checks find. Exits with 1 if anything was found.

COLUMNS_MAX <- 130L
FUNCTION_LINES_MAX <- 60L
# Called by kernel.R.
ENTRIES <- c("main", "resume", "list_variables")

found <- character()
complain <- function(file, line, ...) found <<- c(found, sprintf("%s:%s: %s", file, line, paste0(...)))

check_tokens <- function(file, tokens) {
  terminal <- tokens[tokens$terminal, ]
  report <- function(rows, what) for (i in which(rows)) complain(file, terminal$line1[i], what)
  report(terminal$token == "EQ_ASSIGN", "assigns by =, not by <-")
  report(terminal$token == "SYMBOL" & terminal$text %in% c("T", "F"), "TRUE and FALSE in full")
  report(terminal$token == "SYMBOL_FUNCTION_CALL" & terminal$text == "sapply", "sapply() returns what it likes: vapply()")
  report(terminal$token == "';'", "a semicolon")
  report(terminal$token == "RIGHT_ASSIGN", "assigns to the right")
  functions <- tokens[tokens$id %in% tokens$parent[tokens$token == "FUNCTION"], ]
  long <- functions[functions$line2 - functions$line1 >= FUNCTION_LINES_MAX, ]
  for (line in long$line1) complain(file, line, "a function of more than ", FUNCTION_LINES_MAX, " lines")
}

check_lines <- function(file, lines) {
  for (i in which(nchar(lines) > COLUMNS_MAX)) complain(file, i, "more than ", COLUMNS_MAX, " columns")
  for (i in grep("\t|[[:blank:]]$", lines)) complain(file, i, "a tab, or white space at the end")
}

# Files that parse are checked; a file that does not parse ends the check.
read_source <- function(file) {
  lines <- readLines(file, encoding = "UTF-8")
  check_lines(file, lines)
  parsed <- tryCatch(parse(text = lines, keep.source = TRUE), error = function(e) complain(file, 1L, conditionMessage(e)))
  if (is.character(parsed)) return(NULL)
  check_tokens(file, utils::getParseData(parsed))
  parsed
}

check_usage <- function(env) {
  codetools::checkUsageEnv(env, all = TRUE, suppressParamUnused = TRUE, suppressParamAssigns = TRUE, skipWith = TRUE,
                           report = function(text) found <<- c(found, trimws(text)))
}

# Finds names of the kernel that are used nowhere in it.
check_unused <- function(env, texts) {
  words <- table(unlist(regmatches(texts, gregexpr("[[:alpha:].][[:alnum:]._]*", texts))))
  for (name in setdiff(ls(env), ENTRIES)) if (words[[name]] < 2L) complain("kernel", 0L, name, " is used nowhere")
}

# Evaluates a definition. The files share one environment, so a second definition of a name would replace the first.
define <- function(expression, env) {
  if (is.call(expression) && identical(expression[[1L]], as.name("<-")) && is.name(expression[[2L]])) {
    name <- as.character(expression[[2L]])
    if (exists(name, env, inherits = FALSE)) complain("kernel", 0L, name, " is defined twice")
  }
  eval(expression, env)
}

files <- commandArgs(trailingOnly = TRUE)
for (folder in unique(dirname(files))) {
  env <- new.env(parent = baseenv())
  mine <- files[dirname(files) == folder]
  sources <- lapply(mine, read_source)
  if (basename(folder) == "husk" && length(found) == 0L) {
    for (expression in unlist(lapply(sources, as.list))) define(expression, env)
    check_usage(env)
    check_unused(env, unlist(lapply(mine, readLines)))
  }
}
writeLines(found)
quit(status = as.integer(length(found) > 0L))
