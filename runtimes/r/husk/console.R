# R's output, by console.c: both streams in the order they are printed, and pages where they were begun.

# open, cell, page, place, placed: its functions; none in a source tree, which has no library.
console <- new.env(parent = emptyenv())

# `link` and `taken` are descriptors. The library is beside the kernel.
open_console <- function(link, taken) {
  file <- file.path(dirname(rev(commandArgs())[1L]), "console.so")
  if (!file.exists(file)) return()
  library <- dyn.load(file)
  for (name in c("open", "cell", "page", "place", "placed")) {
    console[[name]] <- getNativeSymbolInfo(paste0("console_", name), library)$address
  }
  .Call(console$open, link, taken)
}

console_cell <- function(id) if (!is.null(console$cell)) .Call(console$cell, as.numeric(id))

# What is shown next, or printed by a program, stands behind the pages that have begun.
place_pages <- function() if (!is.null(console$place) && !is_forked()) .Call(console$place)

# A page has begun, and keeps its place under this name.
begin_page <- function(name) {
  if (is.null(console$page)) return()
  console$pending <- name
  .Call(console$page, json_object(op = "\"display\"", id = cell$id, display_id = json_string(name), data = "{}"))
}

# Whether the page has a place: something came after its beginning.
is_placed <- function(name) {
  if (is.null(console$page)) return(FALSE)
  if (!identical(console$pending, name)) return(TRUE)
  console$pending <- NULL
  .Call(console$placed)
}
