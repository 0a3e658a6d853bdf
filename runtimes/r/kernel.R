# The persistent R interpreter of a session: PID 1 starts this file, husk/ does the work.
# husk.rds is the compiled form of husk/ (prepare.sh); a source tree does not have this file.

# A silent error at the top level creates R's variable .Traceback, which only R itself can add to base.
options(show.error.messages = FALSE, error = quote(invisible()))
stop()
options(show.error.messages = TRUE)
local({
  folder <- dirname(rev(commandArgs())[1L])
  compiled <- file.path(folder, "husk.rds")
  if (file.exists(compiled)) {
    husk <- readRDS(compiled)
  } else {
    husk <- new.env(parent = baseenv())
    for (file in list.files(file.path(folder, "husk"), full.names = TRUE)) sys.source(file, husk)
  }
  assign(".husk", husk, envir = .AutoloadEnv) # always on the search path
})
.husk$main()
# R reaches each of the next lines only by a jump from a running cell to the top level, which no handler can catch.
.husk$resume()
.husk$resume()
.husk$resume()
.husk$resume()
.husk$resume()
.husk$resume()
.husk$resume()
.husk$resume()
