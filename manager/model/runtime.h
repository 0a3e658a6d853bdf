/* The runtimes of this build: a table made from runtimes/NAME/runtime.json, so that a new one changes no C code. */
#ifndef HUSK_MANAGER_MODEL_RUNTIME_H
#define HUSK_MANAGER_MODEL_RUNTIME_H

#include "base/defs.h"

/* How a runtime takes `dependencies`. Patterns are POSIX extended expressions for the whole text. */
struct installer {
	const char *name;
	const char *version;
	const char *pinned;	     /* versions that leave nothing open */
	const char *rules;	     /* for a model: what names and versions look like */
	const char *const *settings; /* NULL-terminated: where packages come from; URLs may hold a login */
};

/* One runtime that this build knows (runtimes/NAME/runtime.json). */
struct runtime {
	const char *name;
	const char *title;
	const char *const *aliases; /* NULL-terminated */
	const char *extension;
	const char *image;
	const char *describe; /* for a model: what it offers */
	/* How a program's file is run: a command line in which one word is {}, NULL-terminated, and NAME=value beside what every process
	 * gets. NULL if it has none. */
	const char *const *program, *const *program_env;
	const char
		*requirements; /* where a program says which packages it needs: pep723, package.json; NULL = nowhere */
	const struct installer *installer; /* NULL if it takes none */
	bool fits;			   /* into images other than its own: husk-fit knows how */
	bool slow_start; /* its kernel takes longer than the engine takes to put a container on a network */
};

/* What a session is to have installed. version "" = any. */
struct dependency {
	const char *name;
	const char *version;
};

/* All of them, *ret_n, in a fixed order; the first is for callers who name none. */
const struct runtime *runtime_list(size_t *ret_n);
/* The setting that names another image for it, such as HUSK_IMAGE_PYTHON. */
#define RUNTIME_SETTING_MAX 64
void runtime_image_setting(const struct runtime *runtime, char name[RUNTIME_SETTING_MAX]);
/* By name or alias, any case; NULL if there is none. */
const struct runtime *runtime_find(const char *name);

#endif
