# Converts html that needs other files (htmlwidgets, browsable tags, saved pages) to one self-contained document.

RESOURCE_TYPES <- c(png = "image/png", jpg = "image/jpeg", jpeg = "image/jpeg", gif = "image/gif", svg = "image/svg+xml",
                    woff = "font/woff", woff2 = "font/woff2", ttf = "font/ttf", otf = "font/otf",
                    eot = "application/vnd.ms-fontobject", css = "text/css", js = "text/javascript")

# For options(viewer=) and options(browser=), which packages call with a page that they have written to a file.
show_page <- function(url, ...) {
  file <- sub("^file://", "", url)
  if (!grepl("\\.html?$", file) || !file.exists(file)) {
    message("There is no browser here; not opened: ", url)
    return(invisible())
  }
  send_display(list("text/html" = inline_page(file), "text/plain" = paste0("<html page ", basename(file), ">")))
}

# The print method of htmlwidgets. Their own method shows something only if R is interactive.
print_widget <- function(x, ...) {
  show <- function(url, ...) {
    name <- paste0("<htmlwidget ", class(x)[1L], ">")
    send_display(list("text/html" = inline_page(url), "text/plain" = name))
  }
  htmltools::html_print(htmltools::as.tags(x, standalone = TRUE), viewer = show)
  invisible(x)
}

set_up_web <- function() {
  options(viewer = show_page, browser = show_page)
  setHook(packageEvent("htmlwidgets", "onLoad"), function(...) {
    registerS3method("print", "htmlwidget", print_widget, envir = asNamespace("htmlwidgets"))
  })
}

# Scripts are inlined last, because text in them may look like a tag.
inline_page <- function(file) {
  html <- read_text(file)
  folder <- dirname(file)
  html <- replace_each(html, "<img\\b[^>]*\\bsrc=\"[^\"]*\"[^>]*>", function(tag) {
    source <- attribute(tag, "src")
    inline(tag, folder, source, function(picture) sub(source, data_uri(picture), tag, fixed = TRUE))
  })
  html <- replace_each(html, "<link\\b[^>]*\\brel=\"stylesheet\"[^>]*>", function(tag) {
    inline(tag, folder, attribute(tag, "href"), function(style) paste0("<style>\n", inline_style(style), "\n</style>"))
  })
  replace_each(html, "<script\\b[^>]*\\bsrc=\"[^\"]*\"[^>]*>\\s*</script>", function(tag) {
    inline(tag, folder, attribute(tag, "src"), function(script) {
      paste0("<script>\n", gsub("</(script)", "<\\\\/\\1", read_text(script), ignore.case = TRUE), "\n</script>")
    })
  })
}

# The replacement of a tag: the tag itself if it refers to the web, nothing if the file is missing (Debian leaves some
# files out).
inline <- function(tag, folder, reference, content) {
  if (is_remote(reference)) return(tag)
  file <- local_file(folder, reference)
  if (is.null(file)) "" else content(file)
}

inline_style <- function(file) {
  replace_each(read_text(file), "url\\([^)]*\\)", function(reference) {
    path <- gsub("^url\\([\"']?|[\"']?\\)$", "", reference)
    resource <- local_file(dirname(file), sub("[?#].*$", "", path))
    if (is.null(resource)) reference else paste0("url(", data_uri(resource), ")")
  })
}

attribute <- function(tag, name) sub(paste0(".*\\b", name, "=\"([^\"]*)\".*"), "\\1", tag)

is_remote <- function(reference) grepl("^([a-z][a-z0-9+.-]*:|//|#)", reference)

# The file that a relative reference points to, or NULL.
local_file <- function(folder, reference) {
  if (!nzchar(reference) || is_remote(reference)) return(NULL)
  file <- file.path(folder, utils::URLdecode(reference))
  if (file.exists(file) && !dir.exists(file)) file
}

data_uri <- function(file) {
  type <- RESOURCE_TYPES[tolower(sub(".*\\.", "", file))]
  bytes <- readBin(file, "raw", file.size(file))
  paste0("data:", if (is.na(type)) "application/octet-stream" else type, ";base64,", base64(bytes))
}

read_text <- function(file) raw_text(readBin(file, "raw", file.size(file)))

replace_each <- function(text, pattern, replacement) {
  at <- gregexpr(pattern, text, perl = TRUE)
  found <- regmatches(text, at)[[1L]]
  if (length(found) > 0L) regmatches(text, at) <- list(vapply(found, replacement, "", USE.NAMES = FALSE))
  text
}
