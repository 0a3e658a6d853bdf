# Values that move to and from sessions of other languages (docs/design/values.md describes the file). The manager runs
# give_value() in one session and take_value() in another. Whatever is in the file is hostile.

VALUE_BYTES_MAX <- 268435456 # 256 MiB
VALUE_HEADER_MAX <- 1048576
VALUE_COLUMNS_MAX <- 10000L
PNG_SIGNATURE <- as.raw(c(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a))
VALUE_WIDTHS <- c(bool = 1, int32 = 4, int64 = 8, float64 = 8, time = 8, date = 4, duration = 8, category = 4)
SAFE_INTEGER <- 2^53

cannot_cross <- function(...) stop(..., call. = FALSE)

# Writes a variable to a file.
give_value <- function(name, path) {
  if (!exists(name, envir = husk_workspace, inherits = FALSE)) cannot_cross("there is no variable '", name, "'")
  packed <- pack_value(get(name, envir = husk_workspace))
  header <- jsonlite::toJSON(c(list(husk_value = 1L), packed$header), auto_unbox = TRUE, null = "null", digits = NA)
  head <- charToRaw(paste0(enc2utf8(as.character(header)), "\n"))
  size <- length(head) + sum(lengths(packed$parts))
  if (length(head) > VALUE_HEADER_MAX || size > VALUE_BYTES_MAX) {
    cannot_cross("'", name, "' takes ", size %/% 1048576, " MB; at most 256 MB can be copied as a variable. ",
                 "Export a file instead.")
  }
  target <- file(path, "wb")
  on.exit(close(target))
  for (part in c(list(head), packed$parts)) writeBin(part, target)
  invisible()
}

# Reads a variable from a file, which is deleted.
take_value <- function(name, path) {
  on.exit(unlink(path))
  if (make.names(name) != name) cannot_cross("'", name, "' is not a name of a variable in R")
  size <- file.size(path)
  if (is.na(size) || size > VALUE_BYTES_MAX) damaged_value()
  data <- readBin(path, "raw", size)
  assign(name, unpack_value(data), envir = husk_workspace)
  invisible()
}

# Out -----------------------------------------------------------------------------------------------------------------

pack_value <- function(value) {
  if (is.data.frame(value)) return(pack_frame(value))
  if (inherits(value, c("ggplot", "ggplot2::ggplot", "recordedplot", "grob"))) {
    return(list(header = list(kind = "png"), parts = list(draw_value(value))))
  }
  if (is.raw(value)) {
    is_png <- length(value) >= 8L && identical(value[1:8], PNG_SIGNATURE)
    return(list(header = list(kind = if (is_png) "png" else "bytes"), parts = list(as.vector(value))))
  }
  if (is_column(value) && (length(value) != 1L || is.object(value)) && is.null(names(value))) {
    packed <- pack_columns("vector", list(value), "", length(value))
    if (length(dim(value)) > 1L) packed$header$shape <- as.list(dim(value))
    return(packed)
  }
  list(header = list(kind = "json"), parts = list(charToRaw(enc2utf8(json_of_value(value)))))
}

is_column <- function(value) {
  inherits(value, c("factor", "Date", "POSIXt", "difftime", "integer64")) ||
    (!is.object(value) && (is.logical(value) || is.numeric(value) || is.character(value)))
}

json_of_value <- function(value) {
  value <- plain_value(value, "the value", 0L)
  as.character(jsonlite::toJSON(value, auto_unbox = TRUE, null = "null", na = "null", digits = I(17), factor = "string",
                                POSIXt = "ISO8601"))
}

# The value with nothing but lists and vectors without names.
plain_value <- function(value, where, depth) {
  if (depth > 100L) cannot_cross(where, " is nested too deeply")
  if (is.null(value) || is_column(value) && !inherits(value, "integer64")) {
    if (is.double(value) && any(is.infinite(value))) {
      cannot_cross(where, " has an infinite number, which JSON does not have. Use NA, or a vector.")
    }
    return(if (is.null(names(value))) value else as.list(value))
  }
  if (!is.list(value) || (is.object(value) && !is.data.frame(value))) {
    cannot_cross(where, " is of the class ", class(value)[1L], ", which other languages do not have. ",
                 "Data frames, vectors, plots, raw bytes, and lists of numbers and text can be copied.")
  }
  labels <- names(value)
  if (!is.null(labels) && (anyDuplicated(labels) || any(!nzchar(labels)))) {
    cannot_cross(where, " has names that are missing or not unique")
  }
  parts <- lapply(seq_along(value), function(i) {
    plain_value(.subset2(value, i), substr(paste0(where, "[[", i, "]]"), 1L, 200L), depth + 1L)
  })
  `names<-`(parts, labels)
}

# A picture of a plot.
draw_value <- function(plot) {
  settings <- plot_settings()
  path <- tempfile("husk-picture")
  current <- grDevices::dev.cur()
  grDevices::png(path, settings$width, settings$height, units = "in", res = settings$resolution, type = "cairo", bg = "white")
  own <- grDevices::dev.cur()
  on.exit({
    if (own %in% grDevices::dev.list()) grDevices::dev.off(own)
    if (current > 1L) grDevices::dev.set(current)
    unlink(path)
  })
  draws <- if (inherits(plot, "recordedplot")) grDevices::replayPlot else if (inherits(plot, "grob")) grid::grid.draw else print
  do.call(draws, list(plot))
  grDevices::dev.off(own)
  readBin(path, "raw", file.size(path))
}

pack_frame <- function(frame) {
  columns <- as.list(frame)
  if (.row_names_info(frame) > 0L) columns <- c(list(rowname = row.names(frame)), columns)
  if (anyDuplicated(names(columns))) cannot_cross("the data frame has two columns of the same name")
  if (length(columns) > VALUE_COLUMNS_MAX) cannot_cross("the data frame has more than ", VALUE_COLUMNS_MAX, " columns")
  pack_columns("frame", columns, names(columns), nrow(frame))
}

pack_columns <- function(kind, columns, names, rows) {
  packed <- Map(function(column, name) {
    pack_column(column, if (kind == "frame") paste0("the column '", name, "'") else "the value")
  }, columns, names)
  described <- Map(function(one, name) c(list(name = valid_text(name)), one$description), packed, names)
  parts <- unlist(unname(lapply(packed, `[[`, "parts")), recursive = FALSE)
  list(header = list(kind = kind, rows = rows, columns = unname(described)), parts = parts)
}

pack_column <- function(column, where) {
  if (!is_column(column) || length(dim(column)) > 1L && is.object(column)) {
    cannot_cross(where, " is of the class ", class(column)[1L], ", which cannot be copied. Convert it to numbers or text.")
  }
  more <- list()
  gone <- is.na(column)
  if (is.factor(column)) {
    labels <- enc2utf8(levels(column))
    if (sum(nchar(labels, "bytes")) < VALUE_HEADER_MAX / 16) {
      codes <- as.integer(column) - 1L
      codes[is.na(codes)] <- -1L
      description <- list(type = "category", levels = as.list(labels), ordered = is.ordered(column))
      return(list(description = description, parts = list(little(codes))))
    }
    column <- as.character(column)
  }
  if (inherits(column, "POSIXt")) {
    zone <- attr(as.POSIXlt(column[0L]), "tzone")[1L]
    more <- list(zone = if (is.null(zone) || !nzchar(zone)) "UTC" else zone)
    type <- "time"
    data <- int64_bytes(unclass(as.POSIXct(column)) * 1e6, gone)
  } else if (inherits(column, "Date")) {
    type <- "date"
    data <- little(as.integer(floor(ifelse(gone, 0, unclass(column)))))
  } else if (inherits(column, "difftime")) {
    type <- "duration"
    units(column) <- "secs"
    data <- int64_bytes(unclass(column) * 1e6, gone)
  } else if (inherits(column, "integer64")) {
    type <- "int64"
    column[gone] <- bit64::as.integer64(0L)
    data <- writeBin(as.vector(unclass(column)), raw(), endian = "little") # 64-bit integers that R keeps in doubles
  } else if (is.character(column)) {
    text <- lapply(ifelse(gone, "", enc2utf8(column)), charToRaw)
    ends <- cumsum(c(0, lengths(text)))
    if (ends[length(ends)] > VALUE_BYTES_MAX) cannot_cross(where, " has more than 256 MB of text")
    description <- list(type = "text", size = ends[length(ends)], nulls = any(gone))
    data <- list(little(as.integer(ends)), unlist(c(list(raw()), text)))
    return(list(description = description, parts = c(valid_bytes(gone), data)))
  } else if (is.logical(column)) {
    type <- "bool"
    data <- as.raw(ifelse(gone, 0L, as.integer(column)))
  } else if (is.integer(column)) {
    type <- "int32"
    data <- little(ifelse(gone, 0L, as.vector(column)))
  } else {
    type <- "float64"
    gone <- gone & !is.nan(column)
    data <- little(as.vector(ifelse(gone, 0, column)))
  }
  list(description = c(list(type = type, nulls = any(gone)), more), parts = c(valid_bytes(gone), list(data)))
}

valid_bytes <- function(gone) if (any(gone)) list(as.raw(!gone))

little <- function(numbers) if (length(numbers) == 0L) raw() else writeBin(as.vector(numbers), raw(), endian = "little")

# 64-bit integers from doubles.
int64_bytes <- function(numbers, gone) {
  numbers <- round(ifelse(gone, 0, as.vector(numbers)))
  high <- floor(numbers / 2^32)
  low <- numbers - high * 2^32
  low <- ifelse(low >= 2^31, low - 2^32, low)
  minimum <- !is.na(low) & low == -2^31 # R's NA, whose bytes are these
  words <- as.integer(rbind(ifelse(minimum, NA, low), high))
  little(words)
}

# In ------------------------------------------------------------------------------------------------------------------

damaged_value <- function() stop("the other session sent a value that is damaged", call. = FALSE)

unpack_value <- function(data) {
  end <- which(data[seq_len(min(length(data), VALUE_HEADER_MAX))] == as.raw(10L))[1L]
  if (is.na(end)) damaged_value()
  header <- read_json(data[seq_len(end - 1L)], simplifyVector = FALSE)
  if (!is.list(header) || !identical(header$husk_value, 1L)) damaged_value()
  body <- data[-seq_len(end)]
  kind <- if (is_text(header$kind)) header$kind else ""
  switch(kind,
    json = read_json(body, simplifyVector = TRUE, simplifyDataFrame = FALSE, simplifyMatrix = FALSE),
    bytes = body,
    png = tryCatch(grDevices::as.raster(png::readPNG(body)), error = function(e) damaged_value()),
    frame = , vector = read_columns(header, body, kind),
    damaged_value())
}

read_json <- function(bytes, ...) {
  tryCatch(jsonlite::parse_json(raw_text(bytes), ...), error = function(e) damaged_value())
}

is_text <- function(x) is.character(x) && length(x) == 1L && !is.na(x)

is_count <- function(x, max) is.numeric(x) && length(x) == 1L && !is.na(x) && x >= 0 && x <= max && x == floor(x)

read_columns <- function(header, body, kind) {
  rows <- header$rows
  columns <- header$columns
  if (!is_count(rows, VALUE_BYTES_MAX) || !is.list(columns) || length(columns) > VALUE_COLUMNS_MAX) damaged_value()
  at <- 0
  take <- function(size) {
    if (!is_count(size, VALUE_BYTES_MAX) || at + size > length(body)) damaged_value()
    at <<- at + size
    body[seq.int(at - size + 1, length.out = size)]
  }
  values <- lapply(columns, read_column, rows, take)
  if (kind == "vector") {
    if (length(values) != 1L) damaged_value()
    value <- values[[1L]]
    shape <- unlist(header$shape)
    if (!is.null(shape)) {
      if (!is.numeric(shape) || anyNA(shape) || prod(shape) != length(value)) damaged_value()
      dim(value) <- as.integer(shape)
    }
    return(value)
  }
  names <- vapply(columns, function(column) if (is_text(column$name)) column$name else damaged_value(), "")
  structure(`names<-`(values, names), row.names = .set_row_names(as.integer(rows)), class = "data.frame")
}

read_column <- function(column, rows, take) {
  type <- if (is_text(column$type)) column$type else ""
  gone <- if (isTRUE(column$nulls)) take(rows) == as.raw(0L) else logical(rows)
  if (type == "text") return(read_texts(rows, column$size, take, gone))
  width <- VALUE_WIDTHS[type]
  if (is.na(width)) damaged_value()
  data <- take(rows * width)
  value <- switch(type,
    bool = data != as.raw(0L),
    int32 = readBin(data, "integer", rows, endian = "little"),
    float64 = readBin(data, "double", rows, endian = "little"),
    int64 = read_int64(data, rows),
    time = .POSIXct(read_wide(data, rows) / 1e6, zone_of(column$zone)),
    duration = .difftime(read_wide(data, rows) / 1e6, "secs"),
    date = .Date(as.numeric(readBin(data, "integer", rows, endian = "little"))),
    category = read_category(data, rows, column))
  value[gone] <- NA
  value
}

zone_of <- function(zone) if (is_text(zone) && zone %in% OlsonNames()) zone else "UTC"

# 64-bit integers as doubles.
read_wide <- function(data, rows) {
  words <- matrix(readBin(data, "integer", 2 * rows, endian = "little"), nrow = 2L)
  low <- ifelse(is.na(words[1L, ]), -2^31, words[1L, ])
  high <- ifelse(is.na(words[2L, ]), -2^31, words[2L, ])
  ifelse(low < 0, low + 2^32, low) + high * 2^32
}

# Integers if they fit, or doubles if these are exact, or bit64's integers.
read_int64 <- function(data, rows) {
  wide <- read_wide(data, rows)
  if (all(abs(wide) < 2^31)) return(as.integer(wide))
  if (all(abs(wide) < SAFE_INTEGER)) return(wide)
  if (!requireNamespace("bit64", quietly = TRUE)) {
    cannot_cross("the value has integers beyond 2^53, for which R needs the package bit64")
  }
  structure(readBin(data, "double", rows, endian = "little"), class = "integer64")
}

read_category <- function(data, rows, column) {
  codes <- readBin(data, "integer", rows, endian = "little")
  levels <- column$levels
  if (!is.list(levels) || !all(vapply(levels, is.character, NA)) || !all(lengths(levels) == 1L)) damaged_value()
  levels <- unlist(c(list(character()), levels))
  if (anyDuplicated(levels) || any(codes >= length(levels), na.rm = TRUE)) damaged_value()
  codes <- ifelse(is.na(codes) | codes < 0L, NA_integer_, codes + 1L)
  structure(as.integer(codes), levels = levels, class = if (isTRUE(column$ordered)) c("ordered", "factor") else "factor")
}

read_texts <- function(rows, size, take, gone) {
  ends <- readBin(take(4 * (rows + 1)), "integer", rows + 1, endian = "little")
  data <- take(size)
  if (anyNA(ends) || is.unsorted(ends) || ends[1L] != 0L || ends[length(ends)] != size) damaged_value()
  if (any(data == as.raw(0L))) damaged_value()
  whole <- rawToChar(data)
  Encoding(whole) <- "bytes"
  texts <- substring(whole, ends[-length(ends)] + 1L, ends[-1L])
  Encoding(texts) <- "UTF-8"
  if (!all(validUTF8(texts))) texts <- iconv(texts, "UTF-8", "UTF-8", sub = "\ufffd")
  texts[gone] <- NA
  texts
}
