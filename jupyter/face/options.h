/* The command line of husk-jupyter-face. */
#ifndef HUSK_JUPYTER_FACE_OPTIONS_H
#define HUSK_JUPYTER_FACE_OPTIONS_H

#include "base/fail.h"
#include "base/help.h"

struct face_options {
	const char *env_file;	     /* NULL = the default place */
	const char *session;	     /* NULL = a fresh one, and */
	const char *runtime;	     /* of this runtime */
	const char *connection_file; /* NULL = one of our own */
	bool alone;		 /* of a fresh one: the working directory is not copied into it; with install, of all */
	bool tcp;		 /* of our own: 127.0.0.1 in place of sockets in a folder */
	bool install, uninstall; /* kernelspecs, instead of serving */
	const char *prefix;	 /* of these; NULL = the user's own folder */
	bool help, version;
};

/* One table for --help, husk-jupyter-face(1) and the parser. */
extern const struct help_program face_help;

/* All point into argv. -1 with f saying what is wrong. */
int face_options_parse(struct face_options *o, int argc, char **argv, struct fail *f);

#endif
