/* husk gc --exports: deletes old exports, after showing how much they hold. */
#ifndef HUSK_CLI_GC_EXPORTS_H
#define HUSK_CLI_GC_EXPORTS_H

#include "cli/options.h"

/* Returns an exit code. Without --yes it asks at a terminal, and elsewhere it only shows what would go. */
int gc_exports_run(const struct options *options);

#endif
