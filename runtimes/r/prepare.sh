#!/bin/sh
# Runs as root while the image is built, in /opt/husk/kernel, without a network.
# Compiles all of husk/ to one file of byte code, since reading and compiling the sources would slow down every start.
Rscript --vanilla - <<'END'
husk <- new.env(parent = baseenv())
for (file in list.files("husk", full.names = TRUE)) sys.source(file, husk, keep.source = FALSE)
for (name in ls(husk)) if (is.function(husk[[name]])) husk[[name]] <- compiler::cmpfun(husk[[name]])
saveRDS(husk, "husk.rds", compress = FALSE)
END
rm -r husk
# Makes the include paths of the source tree work.
mkdir -p tree/runtimes
ln -s ../.. tree/runtimes/r
gcc -O2 -Wall -Wextra -Werror -shared -fPIC -I tree "$(R CMD config --cppflags)" -o husk.so console.c copies.c link.c plots.c
rm -r tree console.c copies.c link.c link.h plots.c
# Makes every R process of a session use the operator's mirror.
cat >>/etc/R/Rprofile.site <<'END'
local({
  husk.repos <- strsplit(Sys.getenv("R_REPOS"), "[[:space:]]+")[[1]]
  if (any(nzchar(husk.repos))) options(repos = husk.repos[nzchar(husk.repos)])
})
END
