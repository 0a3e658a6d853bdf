# R's default packages, which R is started without: attached here, as R does, in less time.

DEFAULT_PACKAGES <- c("datasets", "utils", "grDevices", "graphics", "stats", "methods")

# methods comes first on the search path and is loaded last: once it is loaded, R checks whether S4 has replaced any
# generic function of a package, and reads all of the package's classes for that.
load_packages <- function() {
  options(defaultPackages = DEFAULT_PACKAGES)
  load_utils()
  for (name in DEFAULT_PACKAGES) loadNamespace(name)
  for (name in c("methods", setdiff(DEFAULT_PACKAGES, "methods"))) attachNamespace(name)
}

# Its .onLoad() runs two programs to find the name of this system, and reads a table of repositories even if they are
# known.
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

# The value of utils::osVersion; NULL if utils must find out.
system_name <- function(file = "/etc/os-release") {
  if (!startsWith(R.version$os, "linux") || !file.exists(file)) return(NULL)
  line <- grep("^PRETTY_NAME=", readLines(file), value = TRUE)
  if (length(line) > 0L) sub("\"(.*)\"", "\\1", sub("^PRETTY_NAME=", "", line[1L]))
}
