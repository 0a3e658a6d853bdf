/* husk ui. */
#ifndef HUSK_CLI_UI_H
#define HUSK_CLI_UI_H

#include "cli/options.h"

int ui_run(const struct options *options);

#endif
