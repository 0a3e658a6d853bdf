/* Kernelspecs: what Jupyter lists as "Husk Python" and starts as a fresh session. */
#ifndef HUSK_JUPYTER_FACE_KERNELSPECS_H
#define HUSK_JUPYTER_FACE_KERNELSPECS_H

#include "base/fail.h"

struct kernelspecs_request {
	const char *env_file; /* NULL = the default place; the kernels are started with it */
	bool alone;	      /* kernels copy no folder into their session */
	const char *prefix;   /* PREFIX/share/jupyter; NULL = the user's own folder */
};

/* Writes one for each runtime whose image is there, and prints where. Asks the engine, so it may take seconds. An exit code, after words
 * on stderr if it is none of success. */
int kernelspecs_install(const struct kernelspecs_request *request);
/* Removes those that this program has written, wherever it was then. */
int kernelspecs_uninstall(const struct kernelspecs_request *request);

#endif
