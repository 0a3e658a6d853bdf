#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "kernels/fit/fit.h"
#include "kernels/protocol.h"

#define FIRST_ON_PATH HOME_PATH "/.local/bin:" DEPENDENCIES_PATH "/bin"

/* A command of the manifest's `fit` section, with the path of its program. A new reference. */
static json_t *placed(const struct fit *f, const char *name)
{
	json_t *words = json_deep_copy(json_object_get(json_object_get(f->manifest, "fit"), name));
	const char *first = json_string_value(json_array_get(words, 0));
	AUTO(freep) char *found = first ? fit_find(f, first) : NULL;
	if (found)
		json_array_set_new(words, 0, json_string(found));
	return words;
}

/* The installer's command. If packages cannot be installed, it prints the reason and fails. */
static json_t *installer_command(const struct fit *f, const char *name)
{
	return f->no_installer ? json_pack("[s, s, s]", FIT_PATH, "refuse", f->no_installer) : placed(f, name);
}

static void set_env(const struct fit *f)
{
	json_t *env = json_object_get(f->manifest, "env");
	AUTO(freep) char *path = xasprintf(FIRST_ON_PATH ":%s", f->path);
	json_object_set_new(env, "PATH", json_string(path));
	json_object_set_new(env, "HOME", json_string(HOME_PATH));
	json_object_set_new(env, "USER", json_string("sandbox"));
	if (!getenv("LANG"))
		json_object_set_new(env, "LANG", json_string("C.UTF-8"));
}

/* Writes a new file and renames it, so that runtime.json is never half written. */
static int write_manifest(const struct fit *f)
{
	AUTO(freep) char *path = fit_place(f, RUNTIME_MANIFEST_PATH);
	AUTO(freep) char *beside = xasprintf("%s.new", path);
	if (json_dump_file(f->manifest, beside, JSON_INDENT(2)) < 0)
		return -EIO;
	return chmod(beside, 0644) < 0 || rename(beside, path) < 0 ? -errno : 0;
}

void fit_manifest(struct fit *f)
{
	json_t *installer = json_object_get(f->manifest, "installer");
	if (!json_is_object(json_object_get(f->manifest, "env")))
		json_object_set_new(f->manifest, "env", json_object());
	json_object_set_new(f->manifest, "kernel", placed(f, "kernel"));
	if (installer) {
		json_object_set_new(installer, "command", installer_command(f, "installer"));
		json_object_set_new(installer, "installed", installer_command(f, "installed"));
	}
	set_env(f);
	int r = write_manifest(f);
	if (r < 0)
		strv_addf(&f->lacks, "a writable " RUNTIME_MANIFEST_PATH " (%s)", strerror(-r));
}

void fit_release(struct fit *f)
{
	json_decref(f->manifest);
	free(f->interpreter);
	free(f->no_installer);
	strv_release(&f->lacks);
	*f = (struct fit){ 0 };
}
