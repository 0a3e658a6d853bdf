# Lists the versions in /opt/husk/deps: run by PID 1 after an install, when all processes of the install have ended.
# fd 198 holds the requested {"name": "version", ...}; the installed {"name": "version", ...} goes to fd 199. No package
# code runs here: the packages are not on the library path, and a DESCRIPTION is text.

libraries <- c("/opt/husk/deps", .libPaths())
version_of <- function(name) {
  for (file in file.path(libraries, name, "DESCRIPTION"))
    if (file.exists(file)) return(as.character(package_version(read.dcf(file, "Version")[1, 1])))
  message("Error: '", name, "' could not be installed")
  quit(save = "no", status = 1)
}

wanted <- jsonlite::fromJSON(readLines("/proc/self/fd/198", warn = FALSE), simplifyVector = FALSE)
found <- lapply(structure(names(wanted), names = names(wanted)), version_of)
cat(jsonlite::toJSON(found, auto_unbox = TRUE), file = "/proc/self/fd/199")
