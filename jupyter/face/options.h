/* The command line of husk-jupyter-face. */
#ifndef HUSK_JUPYTER_FACE_OPTIONS_H
#define HUSK_JUPYTER_FACE_OPTIONS_H

#include "base/fail.h"
#include "base/help.h"

struct face_options {
	const char *env_file;	     /* NULL = the default file */
	const char *session;	     /* NULL = make a new session */
	const char *runtime;	     /* the runtime of a new session */
	const char *connection_file; /* NULL = write a new one */
	bool alone; /* do not copy the working directory into a new session; with install: for all kernels */
	bool tcp;   /* without a connection file: listen on 127.0.0.1 instead of sockets in a folder */
	bool install, uninstall; /* write or remove kernelspecs instead of serving */
	const char *prefix;	 /* where to install kernelspecs; NULL = the user's own folder */
	bool help, version;
};

/* One table for --help, husk-jupyter-face(1) and the parser. */
extern const struct help_program face_help;

/* The strings of the result point into argv. -1 with f if an argument is wrong. */
int face_options_parse(struct face_options *o, int argc, char **argv, struct fail *f);

#endif
