# Prepares an image that was not built by Husk for this runtime. husk-fit runs this file with the image's own R, first
# to check the image, then to prepare it. An output line that begins with "lacks " names something that the image lacks.

oldest <- "4.2"

lacks <- function(...) cat("lacks ", ..., "\n", sep = "")

check <- function() {
  if (getRversion() < oldest) lacks("R ", oldest, " or newer: it has ", as.character(getRversion()))
  # These packages cannot be shipped, because they are compiled for one version of R.
  for (name in c("base64enc", "jsonlite"))
    if (!requireNamespace(name, quietly = TRUE)) lacks("the R package ", name)
  tryCatch(dyn.load("/opt/husk/kernel/husk.so"),
           error = function(e) lacks("a C library that can load Husk's own (glibc 2.33 or newer): ", conditionMessage(e)))
}

# Makes every R process of a session use the operator's mirror.
prepare <- function() {
  cat('local({
  husk.repos <- strsplit(Sys.getenv("R_REPOS"), "[[:space:]]+")[[1]]
  if (any(nzchar(husk.repos))) options(repos = husk.repos[nzchar(husk.repos)])
})\n', file = file.path(R.home("etc"), "Rprofile.site"), append = TRUE)
}

switch(commandArgs(trailingOnly = TRUE)[1], check = check(), prepare = prepare())
