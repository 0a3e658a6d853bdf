#include "cli/setup.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/dirs.h"
#include "base/log.h"
#include "base/strv.h"
#include "cli/exit.h"
#include "cli/report.h"
#include "manager/manager.h"

/* Where the recipes are, relative to the folder of this program: installed (bin beside share), or in the build
 * folder. */
static const struct {
	const char *script, *images;
} places[] = {
	{ "../share/husk/setup-docker.sh", "../share/husk/images.json" },
	{ "../setup-docker.sh", "images.json" },
};

static char *folder_of_self(void)
{
	char *self = realpath("/proc/self/exe", NULL);
	char *slash = self ? strrchr(self, '/') : NULL;
	if (slash)
		*slash = '\0';
	return self;
}

static int find_recipes(char **ret_script, char **ret_images)
{
	AUTO(freep) char *here = folder_of_self();
	for (size_t i = 0; here && i < ARRAY_LEN(places); i++) {
		AUTO(freep) char *script = xasprintf("%s/%s", here, places[i].script);
		AUTO(freep) char *images = xasprintf("%s/%s", here, places[i].images);
		if (access(script, X_OK) < 0 || access(images, R_OK) < 0)
			continue;
		*ret_script = take_ptr(script);
		*ret_images = take_ptr(images);
		return 0;
	}
	log_error(
		"cannot find the recipes of the images beside this program\n"
		"Install the complete Husk (make install, or one of its packages), or run ./setup-docker.sh in its folder.");
	return -1;
}

int setup_run(const struct options *options)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(strv_release) struct strv argv = { 0 };
	AUTO(freep) char *script = NULL;
	AUTO(freep) char *images = NULL;
	AUTO(freep) char *logs = NULL;
	AUTO(freep) char *registry = NULL;
	AUTO(freep) char *pool = NULL;
	struct config config = { 0 };
	if (settings_load(&config, options->env_file, &f) < 0)
		return report_refusal(&f, options->verb);
	logs = xasprintf("%s/setup", config.state_dir);
	registry = config.registry ? xstrdup(config.registry) : NULL;
	bool podman = streq(config.engine, "podman");
	pool = streq(config.engine, "pool") ? xstrdup(config.pool) : NULL;
	config_release(&config);
	if (find_recipes(&script, &images) < 0)
		return EXIT_SYSTEM;
	int r = dirs_make(logs);
	if (r < 0) {
		log_error("cannot create the folder '%s': %s", logs, strerror(-r));
		return EXIT_SYSTEM;
	}
	strv_add_all(&argv, script, "--images", images, "--logs", logs, NULL);
	if (options->runtime)
		strv_add_all(&argv, "--runtime", options->runtime, NULL);
	if (registry && !options->engine_only)
		strv_add_all(&argv, "--push", registry, NULL);
	if (podman)
		strv_add(&argv, "--podman");
	if (pool)
		strv_add_all(&argv, "--pool", pool, NULL);
	if (options->engine_only)
		strv_add(&argv, "--engine-only");
	execv(script, strv_argv(&argv));
	log_error("cannot run '%s': %s", script, strerror(errno));
	return EXIT_SYSTEM;
}
