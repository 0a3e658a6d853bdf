/* Kernelspecs, which Jupyter lists as "Husk Python" and so on. Jupyter starts each kernel as a new session. */
#ifndef HUSK_JUPYTER_FACE_KERNELSPECS_H
#define HUSK_JUPYTER_FACE_KERNELSPECS_H

#include "base/fail.h"

struct kernelspecs_request {
	const char *env_file; /* passed on to the kernels; NULL = the default file */
	bool alone;	      /* kernels do not copy the notebook's folder into their session */
	const char *prefix;   /* PREFIX/share/jupyter; NULL = the user's own folder */
};

/* Writes a kernelspec for each language whose image exists, and prints its path. Asks the engine, so it may take
 * seconds. Returns an exit code; after a failure the reason is on stderr. */
int kernelspecs_install(const struct kernelspecs_request *request);
/* Removes the kernelspecs that this program has written, even if the program has been moved since. */
int kernelspecs_uninstall(const struct kernelspecs_request *request);

#endif
