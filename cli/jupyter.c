#include "cli/jupyter.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cli/exit.h"

/* Relative to the folder of this program: installed beside it, or in the build folder. */
static const char *const places[] = { "husk-jupyter-face", "jupyter/face/husk-jupyter-face" };

static char *find_face(void)
{
	AUTO(freep) char *self = realpath("/proc/self/exe", NULL);
	char *slash = self ? strrchr(self, '/') : NULL;
	if (!slash)
		return NULL;
	*slash = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		AUTO(freep) char *path = xasprintf("%s/%s", self, places[i]);
		if (access(path, X_OK) == 0)
			return take_ptr(path);
	}
	return NULL;
}

int jupyter_run(const struct options *o)
{
	AUTO(strv_release) struct strv argv = { 0 };
	AUTO(freep) char *face = find_face();
	if (!face) {
		log_error(
			"cannot find the program husk-jupyter-face beside husk\n"
			"Install its package, or build Husk where libzmq is installed (meson setup -Djupyter-face=enabled).");
		return EXIT_SYSTEM;
	}
	strv_add(&argv, face);
	if (o->env_file)
		strv_add_all(&argv, "--env-file", o->env_file, NULL);
	if (o->session)
		strv_add_all(&argv, "--session", o->session, NULL);
	else
		strv_add(&argv, o->install ? "--install" : "--uninstall");
	if (o->alone)
		strv_add(&argv, "--alone");
	if (o->tcp)
		strv_add(&argv, "--tcp");
	if (o->prefix)
		strv_add_all(&argv, "--prefix", o->prefix, NULL);
	execv(face, strv_argv(&argv));
	log_error("cannot run '%s': %s", face, strerror(errno));
	return EXIT_SYSTEM;
}
