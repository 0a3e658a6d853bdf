/* Shared by the files of config. */
#ifndef HUSK_MANAGER_MODEL_CONFIG_PRIVATE_H
#define HUSK_MANAGER_MODEL_CONFIG_PRIVATE_H

#include "manager/model/config.h"

/* Without blanks at both ends; changes the text. */
char *config_trimmed(char *s);
/* Adds the pairs of a settings file to c->file. A missing file is an error only if must_exist. */
int config_load_file(struct config *c, const char *path, bool must_exist, struct fail *f);

#endif
