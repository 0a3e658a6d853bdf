/* The runtimes of this build, from a table generated from runtimes/NAME/runtime.json. Adding a runtime needs no
 * change to C code. */
#ifndef HUSK_MANAGER_MODEL_RUNTIME_H
#define HUSK_MANAGER_MODEL_RUNTIME_H

#include "base/defs.h"

/* How a runtime handles `dependencies`. Patterns are POSIX extended regular expressions, which match the whole
 * text. */
struct installer {
	const char *name;
	const char *version;
	const char *pinned;	     /* pattern of exact versions */
	const char *rules;	     /* explains names and versions to a model */
	const char *later;	     /* command that installs into a running session; NULL = there is none */
	const char *const *settings; /* NULL-terminated: settings of package sources; their URLs may contain logins */
};

/* One runtime that this build knows (runtimes/NAME/runtime.json). */
struct runtime {
	const char *name;
	const char *title;
	const char *const *aliases; /* NULL-terminated */
	const char *extension;
	const char *image;
	const char *describe; /* describes it to a model */
	/* How a program's file is run: a command line in which {} is the file, and NAME=value pairs in addition to
	 * the usual environment. NULL-terminated; NULL if the runtime defines none. */
	const char *const *program, *const *program_env;
	const char *requirements; /* where a program lists its packages: pep723, package.json; NULL = nowhere */
	const struct installer *installer; /* NULL if it cannot install packages */
	const char *const *parts; /* NULL-terminated: images that it is built from, which the next build reuses */
	bool fits;		  /* can be fitted into other images by husk-fit */
	bool slow_start;	  /* its kernel starts more slowly than the engine attaches a network */
};

/* A package to install. version "" = any. */
struct dependency {
	const char *name;
	const char *version;
};

/* All runtimes (*ret_n), in a fixed order; the first is the default. */
const struct runtime *runtime_list(size_t *ret_n);
/* The setting that overrides the runtime's image, such as HUSK_IMAGE_PYTHON. */
#define RUNTIME_SETTING_MAX 64
void runtime_image_setting(const struct runtime *runtime, char name[RUNTIME_SETTING_MAX]);
/* Finds a runtime by name or alias, ignoring case; NULL if there is none. */
const struct runtime *runtime_find(const char *name);

#endif
