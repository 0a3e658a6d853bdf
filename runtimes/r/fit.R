# Prepares an image of other people for this runtime: run by husk-fit with the image's own R, first to check, then to
# prepare. A line that begins with "lacks " names something that the image lacks.

oldest <- "4.2"

lacks <- function(...) cat("lacks ", ..., "\n", sep = "")

check <- function() {
  if (getRversion() < oldest) lacks("R ", oldest, " or newer: it has ", as.character(getRversion()))
  # Compiled for one version of R: they cannot be shipped.
  for (name in c("base64enc", "jsonlite"))
    if (!requireNamespace(name, quietly = TRUE)) lacks("the R package ", name)
  tryCatch(dyn.load("/opt/husk/kernel/husk.so"),
           error = function(e) lacks("a C library that Husk's own fits (glibc 2.33 or newer): ", conditionMessage(e)))
}

# The operator's mirror applies to every R of a session.
prepare <- function() {
  cat('local({
  husk.repos <- strsplit(Sys.getenv("R_REPOS"), "[[:space:]]+")[[1]]
  if (any(nzchar(husk.repos))) options(repos = husk.repos[nzchar(husk.repos)])
})\n', file = file.path(R.home("etc"), "Rprofile.site"), append = TRUE)
}

switch(commandArgs(trailingOnly = TRUE)[1], check = check(), prepare = prepare())
