/* husk gc --exports and --images: deletes old exports, and images of older builds, after showing their sizes. */
#ifndef HUSK_CLI_GC_OLD_H
#define HUSK_CLI_GC_OLD_H

#include "cli/options.h"

/* Returns an exit code. Without --yes, it asks at a terminal before it deletes. If there is no terminal either, it only
 * shows what it would delete. */
int gc_old_run(const struct options *options);

#endif
