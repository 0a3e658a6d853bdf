# Prompts of an interactive cell go to PID 1, and the client that ran the cell answers them. In any other cell nobody
# can type, and every attempt to read fails at once.

END_OF_INPUT <- "\004" # typed by Ctrl-D
INTERRUPT <- "\003" # typed by Ctrl-C

# Fields: open (the cell may prompt), number (of the last prompt), typed (unread lines; NA = the end of input).
keyboard <- new.env(parent = emptyenv())

open_keyboard <- function(open) {
  keyboard$open <- open
  keyboard$typed <- character()
}

# The next line, or NA at the end of input.
type_line <- function(what, prompt = "") {
  if (!isTRUE(keyboard$open) || is_forked()) no_keyboard(what, prompt)
  if (length(keyboard$typed) == 0L) keyboard$typed <- typed_lines(prompt_user(valid_text(prompt)))
  line <- keyboard$typed[1L]
  keyboard$typed <- keyboard$typed[-1L]
  line
}

typed_lines <- function(text) {
  if (grepl(INTERRUPT, text, fixed = TRUE)) {
    link$interrupted <- TRUE
    raise_interrupt()
  }
  ended <- grepl(END_OF_INPUT, text, fixed = TRUE)
  text <- sub(paste0(END_OF_INPUT, ".*"), "", text)
  lines <- strsplit(text, "\n", fixed = TRUE)[[1L]]
  if (length(lines) == 0L && !ended) lines <- ""
  if (ended) c(lines, NA) else lines
}

# Sends a prompt and waits for the answer. An interrupt cancels the prompt.
prompt_user <- function(prompt) {
  number <- keyboard$number <- sum(keyboard$number, 1L)
  answered <- FALSE
  on.exit(if (!answered) send_prompt(number, cancel = "true"))
  send_prompt(number, prompt = json_string(prompt))
  repeat {
    while (!.Call(link$wait)) NULL
    message <- suspendInterrupts(link_receive())
    if (is.null(message)) link_lost()
    if (!identical(message$op, "input") || !identical(message$question, as.character(number))) next
    answered <- TRUE
    return(message$text)
  }
}

send_prompt <- function(number, ...) link_send(json_object(op = "\"input\"", id = cell$id, question = number, ...))

no_keyboard <- function(what, prompt = "") {
  if (nzchar(prompt)) writeLines(prompt)
  stop(what, ": nobody can type an answer here; run the cell with interactive=true to answer, or put the value into the code",
       call. = FALSE)
}

# Readers -----------------------------------------------------------------------------------------------------------

read_line <- function(prompt) {
  line <- type_line("readline()", prompt)
  if (is.na(line)) "" else line
}

# TRUE for R's terminal, and in an interactive cell for file("stdin") too.
is_keyboard <- function(con) {
  if (inherits(con, "terminal")) return(TRUE)
  isTRUE(keyboard$open) && (identical(con, "stdin") || inherits(con, "file") && identical(summary(con)$description, "stdin"))
}

# For readLines(): reads n lines, or all lines up to the end of input.
read_lines <- function(n) {
  lines <- character()
  while (n < 0L || length(lines) < n) {
    line <- type_line("readLines()")
    if (is.na(line)) break
    lines <- c(lines, line)
  }
  lines
}

# For scan(): reads lines up to an empty line.
read_values <- function() {
  lines <- character()
  repeat {
    line <- type_line("scan()", paste0(length(lines) + 1L, ": "))
    if (is.na(line) || !nzchar(line)) return(lines)
    lines <- c(lines, line)
  }
}

# For browser(): evaluates expressions in the calling frame until the command to continue. Stepping is not supported.
browse <- function(frame, call) {
  writeLines(paste0("Called from: ", paste(deparse(call), collapse = " ")))
  repeat {
    line <- type_line("browser()", "Browse[1]> ")
    if (is.na(line) || trimws(line) %in% c("", "c", "cont", "n", "s", "f")) return(invisible())
    if (trimws(line) == "Q") invokeRestart("abort")
    tryCatch({
      value <- withVisible(eval(parse(text = line), frame))
      if (value$visible) print_value(value$value)
    }, error = function(e) writeLines(error_line(e), stderr()))
  }
}
