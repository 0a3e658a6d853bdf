# Installs packages into /opt/husk/deps: run by PID 1 in the container that prepares a set of dependencies. fd 198 holds
# {"name": "version", ...}. With --later it is run in a session, and installs into the user's own library. installed.R
# then lists the installed versions. Packages of the image count as installed. If a version is not the repository's
# current one, it is fetched from the archive.

later <- "--later" %in% commandArgs(TRUE)
deps <- if (later) path.expand(sub(":.*", "", Sys.getenv("R_LIBS_USER"))) else "/opt/husk/deps"
dir.create(deps, showWarnings = FALSE, recursive = TRUE)
.libPaths(c(deps, .libPaths()))
options(warn = 1, timeout = 300)
Sys.setenv(MAKEFLAGS = "-j2")

wanted <- jsonlite::fromJSON(readLines("/proc/self/fd/198", warn = FALSE), simplifyVector = FALSE)
# The processes that build packages need not know where packages come from.
repos <- unlist(strsplit(Sys.getenv("R_REPOS"), "[[:space:]]+"))
repos <- if (any(nzchar(repos))) repos[nzchar(repos)] else getOption("repos")
Sys.unsetenv(c("R_REPOS", "HUSK_LOGIN_INDEXES"))
options(repos = repos)

give_up <- function(...) {
  message("Error: ", ...)
  quit(save = "no", status = 1)
}

base_packages <- rownames(installed.packages(.Library, priority = "base"))
version_of <- function(name) tryCatch(as.character(packageVersion(name)), error = function(e) NA_character_)
same <- function(a, b) !is.na(a) && package_version(a) == package_version(b)

offered <- NULL
available <- function() {
  if (is.null(offered)) {
    offered <<- available.packages(repos = repos, type = "source", filters = c("R_version", "OS_type", "duplicates"),
                                   ignore_repo_cache = TRUE)
    if (!nrow(offered)) give_up("no repository lists any packages: ", paste(repos, collapse = ", "))
  }
  offered
}

# Names and minimum versions ("" = any) of a package's dependencies, from its fields.
needs <- function(fields) {
  fields <- fields[intersect(c("Depends", "Imports", "LinkingTo"), names(fields))]
  parts <- trimws(unlist(strsplit(fields[!is.na(fields)], ",")))
  parts <- parts[nzchar(parts)]
  name <- sub("[[:space:]]*\\(.*", "", parts)
  least <- ifelse(grepl(">=", parts), gsub("[^0-9.-]", "", sub(".*>=", "", parts)), "")
  keep <- !(name %in% c("R", base_packages))
  data.frame(name = name[keep], least = least[keep])
}

is_missing <- function(name, least) {
  has <- version_of(name)
  is.na(has) || (nzchar(least) && package_version(has) < package_version(least))
}

# The names of further packages that these fields require, in their current versions.
missing_for <- function(fields, found = character()) {
  need <- needs(fields)
  for (i in seq_len(nrow(need))) {
    name <- need$name[i]
    if (name %in% c(found, names(pinned)) || !is_missing(name, need$least[i])) next
    if (!(name %in% rownames(available()))) give_up("'", name, "' is needed, but no repository has it")
    found <- missing_for(available()[name, ], c(found, name))
  }
  found
}

install_current <- function(names) {
  names <- unique(names)
  if (!length(names)) return()
  install.packages(names, lib = deps, repos = repos, type = "source", available = available(), dependencies = FALSE, Ncpus = 1L)
  for (name in names) if (is.na(version_of(name))) give_up("'", name, "' could not be installed")
}

fetch <- function(name, version) {
  file <- paste0(name, "_", version, ".tar.gz")
  target <- file.path(tempdir(), file)
  for (base in contrib.url(repos, "source")) {
    for (path in c(file, paste0("Archive/", name, "/", file))) {
      status <- tryCatch(suppressWarnings(download.file(paste0(base, "/", path), target, mode = "wb", quiet = TRUE)),
                         error = function(e) 1L)
      if (status == 0L) {
        message("fetched ", base, "/", path)
        return(target)
      }
    }
  }
  has <- if (name %in% rownames(available())) available()[name, "Version"] else NA
  give_up("there is no '", name, "' ", version, if (!is.na(has)) paste0("; the current one is ", has))
}

fields_of <- function(archive, name) {
  folder <- tempfile()
  untar(archive, files = paste0(name, "/DESCRIPTION"), exdir = folder)
  read.dcf(file.path(folder, name, "DESCRIPTION"))[1, ]
}

pinned <- list()
install_pinned <- function(name) {
  version <- pinned[[name]]
  if (same(version_of(name), version)) return()
  archive <- fetch(name, version)
  fields <- fields_of(archive, name)
  under_way[[name]] <<- TRUE
  for (other in intersect(needs(fields)$name, names(pinned))) if (is.null(under_way[[other]])) install_pinned(other)
  install_current(missing_for(fields))
  install.packages(archive, lib = deps, repos = NULL, type = "source")
  if (!same(version_of(name), version)) give_up("'", name, "' ", version, " could not be installed")
}
under_way <- list()

versions <- vapply(wanted, function(v) v, "")
pinned <- as.list(versions[nzchar(versions)])
for (name in names(pinned)) install_pinned(name)
any_version <- names(versions)[!nzchar(versions)]
any_version <- any_version[vapply(any_version, function(n) is.na(version_of(n)), NA)]
for (name in any_version)
  if (!(name %in% rownames(available()))) give_up("there is no package '", name, "' in ", paste(repos, collapse = ", "))
install_current(unlist(lapply(any_version, function(n) c(n, missing_for(available()[n, ])))))

for (name in names(versions)) if (is.na(version_of(name))) give_up("'", name, "' could not be installed")
