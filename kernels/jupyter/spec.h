/* A kernelspec, as `jupyter kernelspec install` leaves it: a folder with a kernel.json. */
#ifndef HUSK_KERNELS_JUPYTER_SPEC_H
#define HUSK_KERNELS_JUPYTER_SPEC_H

#include "base/fail.h"
#include "base/strv.h"

struct spec {
	struct strv argv; /* {connection_file} and {resource_dir} are replaced by spec_command() */
	struct strv env;  /* NAME=value, ${NAME} replaced by this process's variable */
	char *folder;
	bool interrupt_by_message; /* interrupt_mode "message": a request on the control channel instead of a signal */
};

/* `path` is the folder or the file itself. Call spec_release() even after a failure. */
int spec_load(struct spec *ret, const char *path, struct fail *f);
void spec_release(struct spec *s);
/* The command that starts a kernel on this connection file. */
void spec_command(const struct spec *s, const char *connection_file, struct strv *ret);

#endif
