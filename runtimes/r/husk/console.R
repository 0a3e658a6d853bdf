# R's output through console.c: both streams in the order of printing, and pages where they began.

# Its functions (their addresses), and the page that began last (pending).
console <- new.env(parent = emptyenv())

open_console <- function(library, taken) {
  for (name in c("open", "cell", "page", "place", "placed", "show", "is_whole")) {
    console[[name]] <- getNativeSymbolInfo(paste0("console_", name), library)$address
  }
  .Call(console$open, taken)
}

console_cell <- function(id) .Call(console$cell, as.numeric(id))

# The next display, or output of a program, comes after the pages that have begun.
place_pages <- function() if (!is_forked()) .Call(console$place)

# A page has begun, and its place is reserved under this name.
begin_page <- function(name) {
  console$pending <- name
  .Call(console$page, json_object(op = "\"display\"", id = cell$id, display_id = json_string(name), data = "{}"))
}

# TRUE if the page has a place: something came after its beginning.
is_placed <- function(name) {
  if (!identical(console$pending, name)) return(TRUE)
  console$pending <- NULL
  .Call(console$placed)
}
