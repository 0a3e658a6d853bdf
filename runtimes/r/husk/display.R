# MIME bundles: the forms that R objects have besides their text, and the functions by which a cell displays something.

ROWS_SHOWN <- 50L
COLUMNS_SHOWN <- 50L
CELL_WIDTH <- 200L
DISPLAY_ID_MAX <- 256L
MIME_TYPE <- "^[[:alnum:]!#$&^_.+-]+/[[:alnum:]!#$&^_.+-]+$"

# Sends a bundle as a display of the running cell: a named list of MIME types with text, raw bytes or a value for JSON.
send_display <- function(data, id = NULL, update = FALSE) {
  if (is_forked()) {
    if (!is.null(data[["text/plain"]])) writeLines(valid_text(data[["text/plain"]]))
    return(invisible())
  }
  if (is.null(cell$id)) return(invisible()) # a callback between two cells
  good <- grepl(MIME_TYPE, names(data))
  if (length(good) == 0L || !all(good)) stop("not a MIME type: ", paste(names(data)[!good], collapse = ", "), call. = FALSE)
  more <- c(if (!is.null(id)) c(display_id = json_string(substr(valid_text(id), 1L, DISPLAY_ID_MAX))),
            if (isTRUE(update)) c(update = "true"))
  send_bundle("display", data, more)
  invisible()
}

send_bundle <- function(op, data, more = NULL) {
  data <- fit_pictures(data)
  members <- Map(json_entry, names(data), data)
  place_pages()
  head <- json_object(op = json_string(op), id = cell$id, more)
  repeat {
    # Sent in pieces: R keeps all strings in one table, so joining long strings takes longer than creating them.
    body <- c(substr(head, 1L, nchar(head) - 1L), ",\"data\":{", json_pieces(members), "}}")
    sent <- if (op == "result") link_send(body, more = TRUE) else .Call(console$show, body)
    if (is.null(sent)) link_lost()
    if (sent) return(invisible())
    members <- drop_largest(members)
  }
}

# Removes the largest part of a bundle that is too long for one message, and adds a note about that.
drop_largest <- function(members) {
  sizes <- vapply(members, function(pieces) sum(vapply(pieces, piece_size, 0)), 0) * (names(members) != "text/plain")
  largest <- which.max(sizes)
  note <- too_long_note(names(members)[largest], sizes[[largest]])
  text <- members[["text/plain"]]
  if (sizes[[largest]] == 0) return(list("text/plain" = json_string(too_long_note("text/plain", piece_size(text)))))
  members <- members[-largest]
  c(members[names(members) != "text/plain"],
    list("text/plain" = if (is.null(text)) json_string(note) else sub("\"$", paste0("\\\\n", note, "\""), text)))
}

too_long_note <- function(mime, size) {
  sprintf("[%s of %s bytes left out: one output holds 12 MiB at most. Write it to a file in /workspace and export that.]",
          mime, format(size, big.mark = ","))
}

piece_size <- function(piece) if (is.raw(piece)) 4 * ceiling(length(piece) / 3) else as.numeric(nchar(piece, "bytes"))

# The members of a bundle, one after the other, as JSON.
json_pieces <- function(members) {
  do.call(c, lapply(seq_along(members), function(i) c(if (i > 1L) ",", "\"", names(members)[i], "\":", members[[i]])))
}

# The value of a bundle's entry in JSON, perhaps in pieces (link_send).
json_entry <- function(mime, value) {
  if (mime == "application/json" || endsWith(mime, "+json")) return(json_value(value))
  if (startsWith(mime, "text/") || endsWith(mime, "+xml") || endsWith(mime, "/xml") || endsWith(mime, "/javascript")) {
    return(json_string(if (is.raw(value)) raw_text(value) else value))
  }
  if (is.raw(value)) return(list("\"", value, "\"")) # base64 has nothing to escape
  json_string(gsub("[[:space:]]", "", valid_text(value)))
}

# Leaves a string that is already JSON unchanged, and converts everything else to JSON.
json_value <- function(value) {
  text <- if (is.character(value)) paste(value, collapse = "\n")
  if (!is.null(text) && jsonlite::validate(text)) return(valid_text(text))
  jsonlite::toJSON(value, auto_unbox = TRUE, null = "null", na = "null", digits = NA, force = TRUE)
}

base64 <- function(bytes) base64enc::base64encode(bytes)

# Forms besides the text --------------------------------------------------------------------------------------------

# The entries of a value's bundle besides its text: html, LaTeX, Markdown or SVG if the value provides them, else NULL.
rich_forms <- function(value) {
  if (!is.object(value)) return(NULL)
  tryCatch(suppressWarnings(suppressMessages({
    if (is.data.frame(value)) {
      if (length(value) > 0L) list("text/html" = html_table(value))
    } else if (inherits(value, c("html", "shiny.tag", "shiny.tag.list"))) {
      list("text/html" = as.character(value))
    } else if (inherits(value, "svg") && is.character(value)) {
      list("image/svg+xml" = paste(value, collapse = "\n"))
    } else if (inherits(value, "knitr_kable")) {
      form <- KABLE_FORMS[attr(value, "format")]
      `names<-`(list(valid_text(value)), if (is.na(form)) "text/markdown" else form)
    } else if (inherits(value, c("Latex", "xtable"))) {
      `names<-`(list(valid_text(utils::capture.output(print(value)))), latex_or_html(value))
    } else {
      c(own_forms(value), knitted(value))
    }
  })), error = function(e) NULL)
}

KABLE_FORMS <- c(html = "text/html", latex = "text/latex")

latex_or_html <- function(value) {
  if (inherits(value, "xtable") && identical(getOption("xtable.type"), "html")) "text/html" else "text/latex"
}

# Forms from methods of IRkernel's package repr, such as repr_html.myclass <- function(obj, ...) "<b>…</b>". The package
# need not be installed.
own_forms <- function(value) {
  forms <- list()
  for (form in names(OWN_FORMS)) {
    method <- find_method(paste0("repr_", form), value)
    if (is.null(method) && form == "latex") {
      method <- find_method("toLatex", value, asNamespace("utils")[[".__S3MethodsTable__."]])
    }
    if (is.null(method)) next
    forms[[OWN_FORMS[[form]]]] <- paste(valid_text(do.call(method, list(value), quote = TRUE)), collapse = "\n")
  }
  forms
}

OWN_FORMS <- c(html = "text/html", latex = "text/latex", markdown = "text/markdown", svg = "image/svg+xml")

# The form from a method for R Markdown, such as those of gt and flextable.
knitted <- function(value) {
  if (!isNamespaceLoaded("knitr")) return(NULL)
  method <- find_method("knit_print", value, asNamespace("knitr")[[".__S3MethodsTable__."]])
  if (is.null(method)) return(NULL)
  shown <- do.call(method, list(value, options = list()), quote = TRUE)
  if (inherits(shown, "knit_asis") && grepl("^\\s*<", shown[1L])) list("text/html" = valid_text(as.character(shown)))
}

# A method of the workspace or of an attached package. `table` has the methods that packages have registered.
find_method <- function(generic, value, table = NULL) {
  for (name in paste(generic, class(value), sep = ".")) {
    method <- get0(name, husk_workspace, mode = "function")
    if (is.null(method)) method <- table[[name]]
    if (!is.null(method)) return(method)
  }
}

html_table <- function(table) {
  size <- dim(table)
  rows <- seq_len(min(size[1L], ROWS_SHOWN))
  columns <- seq_len(min(size[2L], COLUMNS_SHOWN))
  cells <- lapply(columns, function(i) html_column(.subset2(table, i), rows))
  titles <- html_escape(names(table)[columns])
  labels <- attr(table, "row.names")
  if (is.character(labels)) {
    cells <- c(list(paste0("<th>", html_escape(labels[rows]), "</th>")), cells)
    titles <- c("", titles)
  }
  lines <- if (length(rows) > 0L && length(cells) > 0L) paste0("<tr>", do.call(paste0, cells), "</tr>")
  cut <- if (size[1L] > length(rows) || size[2L] > length(columns)) {
    sprintf("<p>%d of %d rows, %d of %d columns</p>", length(rows), size[1L], length(columns), size[2L])
  }
  paste(c("<table>", paste0("<thead><tr>", paste0("<th>", titles, "</th>", collapse = ""), "</tr></thead>"),
          "<tbody>", lines, "</tbody>", "</table>", cut), collapse = "\n")
}

html_column <- function(column, rows) {
  if (!is.null(dim(column))) {
    text <- apply(format(as.matrix(column[rows, , drop = FALSE])), 1L, paste, collapse = " ")
  } else if (is.character(column)) {
    text <- column[rows]
  } else {
    text <- format(column[rows], trim = TRUE)
  }
  text <- as.character(text)
  text[is.na(text)] <- "NA"
  long <- nchar(text, "chars", allowNA = TRUE) > CELL_WIDTH
  long[is.na(long)] <- FALSE
  text[long] <- paste0(substr(text[long], 1L, CELL_WIDTH - 3L), "...")
  paste0("<td>", html_escape(text), "</td>")
}

html_escape <- function(text) {
  text <- gsub("&", "&amp;", text, fixed = TRUE)
  gsub(">", "&gt;", gsub("<", "&lt;", text, fixed = TRUE), fixed = TRUE)
}

# Used by cells -----------------------------------------------------------------------------------------------------

# Displays a bundle with one entry of this type: raw bytes, text or the content of a file.
display_as <- function(data, mime, file = NULL, id = NULL, update = FALSE) {
  if (!is.null(file)) data <- readBin(file, "raw", file.size(file))
  if (is.character(data) && !grepl("json$", mime)) data <- paste(data, collapse = "\n")
  send_display(`names<-`(list(data), mime), id, update)
}

# Attached to the search path as "husk".
tools <- list(
  display = function(value, mime = NULL, file = NULL, id = NULL, update = FALSE) {
    if (!is.null(mime)) return(display_as(value, mime, file, id, update))
    forms <- rich_forms(value)
    if (length(forms) == 0L && is.null(id)) return(invisible(print_value(value)))
    send_display(c(list("text/plain" = raw_text(print_captured(value))), forms), id, update)
  },
  display_html = function(data = NULL, file = NULL, ...) display_as(data, "text/html", file, ...),
  display_markdown = function(data = NULL, file = NULL, ...) display_as(data, "text/markdown", file, ...),
  display_latex = function(data = NULL, file = NULL, ...) display_as(data, "text/latex", file, ...),
  display_json = function(data = NULL, file = NULL, ...) display_as(data, "application/json", file, ...),
  display_svg = function(data = NULL, file = NULL, ...) display_as(data, "image/svg+xml", file, ...),
  display_png = function(data = NULL, file = NULL, ...) display_as(data, "image/png", file, ...),
  display_jpeg = function(data = NULL, file = NULL, ...) display_as(data, "image/jpeg", file, ...),
  publish_mimebundle = function(data, metadata = NULL) send_display(as.list(data)),
  View = function(x, title) invisible(print_value(x))
)
