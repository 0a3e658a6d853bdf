/* The kinds of requests. */
#ifndef HUSK_ATTACH_SERVED_PRIVATE_H
#define HUSK_ATTACH_SERVED_PRIVATE_H

#include "attach/served.h"

extern const struct served_type served_run;
extern const struct served_type served_run_text;
extern const struct served_type served_info;
extern const struct served_type served_query;
extern const struct served_type served_list;
extern const struct served_type served_create;
extern const struct served_type served_stop;
extern const struct served_type served_copy;
extern const struct served_type served_exports;
extern const struct served_type served_read_export;
extern const struct served_type served_terminal;

#endif
