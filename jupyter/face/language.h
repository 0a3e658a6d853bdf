/* What Jupyter wants to know of a runtime's language, to colour it, to name its files and to export its notebooks. */
#ifndef HUSK_JUPYTER_FACE_LANGUAGE_H
#define HUSK_JUPYTER_FACE_LANGUAGE_H

#include <jansson.h>

#include "manager/manager.h"

/* The `language_info` of a kernel_info_reply; a new reference. */
json_t *language_info(const struct runtime *runtime);
/* "python", "javascript", "R": what notebooks call it. */
const char *language_name(const struct runtime *runtime);
/* "Python", "Node.js", "R": its title without its version; the caller frees it. */
char *language_title(const struct runtime *runtime);

#endif
