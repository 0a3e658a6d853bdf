# Attaches R's default packages as R does, but in less time. R is started without them.

DEFAULT_PACKAGES <- c("datasets", "utils", "grDevices", "graphics", "stats", "methods")

# methods is attached first on the search path but loaded last. Once methods is loaded, R checks for each attached
# package whether S4 has replaced any of its generic functions, and reads all of the package's classes for that.
load_packages <- function() {
  options(defaultPackages = DEFAULT_PACKAGES)
  load_utils()
  for (name in DEFAULT_PACKAGES) loadNamespace(name)
  for (name in c("methods", setdiff(DEFAULT_PACKAGES, "methods"))) attachNamespace(name)
}

# The .onLoad() of utils runs two programs to find the name of this system, and reads a table of repositories even if
# they are known. This function avoids both.
load_utils <- function() {
  version <- system_name()
  find <- Sys.which
  if (!is.null(version)) guard("Sys.which", function(names) "")
  repositories <- !is.null(getOption("repos")) && is.na(Sys.getenv("R_REPOSITORIES", NA))
  if (repositories) Sys.setenv(R_REPOSITORIES = "NULL")
  utils <- loadNamespace("utils")
  if (repositories) Sys.unsetenv("R_REPOSITORIES")
  if (is.null(version)) return()
  guard("Sys.which", find)
  unlockBinding("osVersion", utils)
  assign("osVersion", version, envir = utils)
  lockBinding("osVersion", utils)
}

# The value of utils::osVersion; NULL if utils must determine it.
system_name <- function(file = "/etc/os-release") {
  if (!startsWith(R.version$os, "linux") || !file.exists(file)) return(NULL)
  line <- grep("^PRETTY_NAME=", readLines(file), value = TRUE)
  if (length(line) > 0L) sub("\"(.*)\"", "\\1", sub("^PRETTY_NAME=", "", line[1L]))
}
