/* The runtimes of this build, from a table generated from runtimes/NAME/runtime.json. A new runtime changes no C
 * code. */
#ifndef HUSK_MANAGER_MODEL_RUNTIME_H
#define HUSK_MANAGER_MODEL_RUNTIME_H

#include "base/defs.h"

/* How a runtime handles `dependencies`. Patterns are POSIX extended expressions that match the whole text. */
struct installer {
	const char *name;
	const char *version;
	const char *pinned; /* exact versions */
	const char *rules;  /* explains names and versions to a model */
	const char *const
		*settings; /* NULL-terminated: settings with package sources, whose URLs may contain a login */
};

/* One runtime that this build knows (runtimes/NAME/runtime.json). */
struct runtime {
	const char *name;
	const char *title;
	const char *const *aliases; /* NULL-terminated */
	const char *extension;
	const char *image;
	const char *describe; /* describes it to a model */
	/* How a program's file is run: a command line in which one word is {}, NULL-terminated, and NAME=value beside what every process
	 * gets. NULL if it has none. */
	const char *const *program, *const *program_env;
	const char
		*requirements; /* where a program states the packages it needs: pep723, package.json; NULL = nowhere */
	const struct installer *installer; /* NULL if it has no dependencies */
	const char *const *parts; /* NULL-terminated: images that it is built from, which the next build uses again */
	bool fits;		  /* can be fitted into other images by husk-fit */
	bool slow_start;	  /* its kernel starts more slowly than the engine attaches a network */
};

/* A package to install. version "" = any. */
struct dependency {
	const char *name;
	const char *version;
};

/* All of them, *ret_n, in a fixed order; the first is the default. */
const struct runtime *runtime_list(size_t *ret_n);
/* The setting that overrides its image, such as HUSK_IMAGE_PYTHON. */
#define RUNTIME_SETTING_MAX 64
void runtime_image_setting(const struct runtime *runtime, char name[RUNTIME_SETTING_MAX]);
/* By name or alias, any case; NULL if there is none. */
const struct runtime *runtime_find(const char *name);

#endif
