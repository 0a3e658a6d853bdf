#!/bin/sh
# Runs as root while the image is built, in /opt/husk/kernel, without a network.
# All of husk/ as one file of byte code: reading and compiling the sources would cost every start.
Rscript --vanilla - <<'END'
husk <- new.env(parent = baseenv())
for (file in list.files("husk", full.names = TRUE)) sys.source(file, husk, keep.source = FALSE)
for (name in ls(husk)) if (is.function(husk[[name]])) husk[[name]] <- compiler::cmpfun(husk[[name]])
saveRDS(husk, "husk.rds", compress = FALSE)
END
rm -r husk
# Headers are named as in the tree of sources.
mkdir -p tree/runtimes
ln -s ../.. tree/runtimes/r
gcc -O2 -Wall -Wextra -Werror -shared -fPIC -I tree "$(R CMD config --cppflags)" -o husk.so console.c link.c
rm -r tree console.c link.c link.h
# The operator's mirror applies to every R of a session.
cat >>/etc/R/Rprofile.site <<'END'
local({
  husk.repos <- strsplit(Sys.getenv("R_REPOS"), "[[:space:]]+")[[1]]
  if (any(nzchar(husk.repos))) options(repos = husk.repos[nzchar(husk.repos)])
})
END
