# R's output through console.c: both streams in the order of printing, and each page at the place where it began.

# The addresses of console.c's functions, and the page that began last (pending).
console <- new.env(parent = emptyenv())

open_console <- function(library, taken) {
  for (name in c("open", "cell", "page", "place", "placed", "show", "is_whole")) {
    console[[name]] <- getNativeSymbolInfo(paste0("console_", name), library)$address
  }
  console$operations <- getNativeSymbolInfo("plots_operations", library)$address
  .Call(console$open, taken)
}

console_cell <- function(id) .Call(console$cell, as.numeric(id))

# Makes the next display or output of a program come after the pages that have begun.
place_pages <- function() if (!is_forked()) .Call(console$place)

# Called when a page has begun: reserves its place under this name.
begin_page <- function(name) {
  console$pending <- name
  .Call(console$page, json_object(op = "\"display\"", id = cell$id, display_id = json_string(name), data = "{}"))
}

# TRUE if the place of the page was sent, because other output followed the beginning of the page.
is_placed <- function(name) {
  if (!identical(console$pending, name)) return(TRUE)
  console$pending <- NULL
  .Call(console$placed)
}
