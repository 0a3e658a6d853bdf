/* Checks of this machine: the client, the settings, the folders. Never creates anything. */
#include <errno.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "manager/doctor/doctor-private.h"
#include "manager/store/store.h"

#define PROGRAM_PATH_DEFAULT "/usr/local/bin:/bin:/usr/bin"

static bool is_program(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *doctor_find_program(const char *name)
{
	const char *path = getenv("PATH");
	if (strchr(name, '/'))
		return is_program(name) ? xstrdup(name) : NULL;
	AUTO(freep) char *copy = xstrdup(path && *path ? path : PROGRAM_PATH_DEFAULT);
	for (char *rest = copy, *dir; (dir = strsep(&rest, ":"));) {
		char *full = xasprintf("%s/%s", *dir ? dir : ".", name);
		if (is_program(full))
			return full;
		free(full);
	}
	return NULL;
}

/* --- settings ---------------------------------------------------------------------------------------------------- */

static void add_changed(void *ctx, const char *name, const char *value)
{
	struct buf *list = ctx;
	buf_printf(list, "%s%s%s%s", list->len ? ", " : "", name, value ? "=" : " (set)", value ? value : "");
}

/* Lists unknown names in the settings file, most of which are misspelt. */
static void add_unknown(const struct config *config, struct buf *list)
{
	for (size_t i = 0; i < config->file.n; i++) {
		const char *pair = config->file.v[i];
		AUTO(freep) char *name = xstrndup(pair, strcspn(pair, "="));
		if (!config_knows(name))
			buf_printf(list, "%s%s", list->len ? ", " : "", name);
	}
}

void doctor_check_settings(struct checks *c, const struct config *config, const struct fail *f)
{
	AUTO(buf_release) struct buf changed = { 0 }, unknown = { 0 };
	if (f) {
		checks_add(c, "settings", CHECK_FAIL, f->hint ? f->hint : "correct it; husk(1) lists all settings",
			   "%s", f->message);
		return;
	}
	config_each_changed(config, add_changed, &changed);
	add_unknown(config, &unknown);
	if (unknown.len)
		checks_add(
			c, "settings", CHECK_WARN,
			"correct the names (husk(1) lists them); HUSK_LOG and docker's variables work only in the environment",
			"no effect in the settings file: %s", buf_str(&unknown));
	else if (changed.len)
		checks_add(c, "settings", CHECK_OK, NULL, "valid; changed: %s", buf_str(&changed));
	else
		checks_add(c, "settings", CHECK_OK, NULL, "valid; all at their defaults");
}

static bool holds_secrets(const struct config *config)
{
	static const char *const secrets[] = { "ENCRYPTION_KEY=", "DATABASE_URL=", "POSTGRES_PASSWORD=" };
	for (size_t i = 0; i < config->file.n; i++)
		for (size_t k = 0; k < ARRAY_LEN(secrets); k++)
			if (strncmp(config->file.v[i], secrets[k], strlen(secrets[k])) == 0)
				return true;
	return false;
}

static bool is_foreign(const struct stat *st)
{
	return st->st_uid != 0 && st->st_uid != geteuid();
}

void doctor_check_warm_pool(struct checks *c, const struct config *config)
{
	AUTO(buf_release) struct buf list = { 0 };
	const struct warm_pool *pool = &config->warm_pool;
	uint64_t most = 0;
	for (size_t i = 0; i < pool->n; i++) {
		const struct warm_size *s = &pool->v[i];
		most += s->max;
		if (s->max)
			buf_printf(&list, "%s%s: %llu to %llu", list.len ? ", " : "", s->runtime->name,
				   (unsigned long long)s->min, (unsigned long long)s->max);
	}
	if (!most)
		checks_add(c, "warm pool", CHECK_OK, NULL, "off");
	else if (most >= config->max_sessions)
		checks_add(c, "warm pool", CHECK_WARN, "lower WARM_POOL, or raise CONTAINER_MAX_SESSIONS",
			   "%s, of %llu sessions: sessions will keep displacing warm containers", buf_str(&list),
			   (unsigned long long)config->max_sessions);
	else
		checks_add(c, "warm pool", CHECK_OK, NULL, "%s", buf_str(&list));
}

void doctor_check_settings_file(struct checks *c, const char *env_file, const struct config *config)
{
	static const char name[] = "settings file";
	AUTO(freep) char *path = config_file_path(env_file);
	AUTO(freep) char *close_it = xasprintf("chmod go-w '%s'", path), *hide_it = xasprintf("chmod 600 '%s'", path);
	struct stat st;
	if (stat(path, &st) < 0 && errno == ENOENT)
		checks_add(c, name, env_file ? CHECK_FAIL : CHECK_OK, env_file ? "correct --env-file" : NULL,
			   "%s does not exist%s", path, env_file ? "" : "; the defaults apply");
	else if (access(path, R_OK) < 0)
		checks_add(c, name, CHECK_FAIL, "make it readable for the user who runs husk", "cannot read %s: %s",
			   path, strerror(errno));
	else if (st.st_mode & 022)
		checks_add(c, name, CHECK_FAIL, close_it, "%s: other users can change it", path);
	else if (is_foreign(&st))
		checks_add(c, name, CHECK_WARN, "make it your own file", "%s belongs to another user", path);
	else if ((st.st_mode & 044) && config && holds_secrets(config))
		checks_add(c, name, CHECK_WARN, hide_it, "%s has secrets that other users can read", path);
	else
		checks_add(c, name, CHECK_OK, NULL, "%s", path);
}

/* --- folders ----------------------------------------------------------------------------------------------------- */

/* The path itself or the nearest existing folder above it; *ret says what it is. */
static char *nearest(const char *path, struct stat *ret)
{
	char *at = xstrdup(path);
	while (stat(at, ret) < 0) {
		char *slash = strrchr(at, '/');
		if (errno != ENOENT || !slash || streq(at, "/"))
			return freep(&at), NULL;
		slash[slash == at] = '\0';
	}
	return at;
}

void doctor_check_folder(struct checks *c, const char *name, const char *path)
{
	struct stat st;
	AUTO(freep) char *at = nearest(path, &st);
	int error = errno;
	AUTO(freep) char *close_it = xasprintf("chmod go-w '%s'", path);
	bool there = at && streq(at, path);
	if (!at)
		checks_add(c, name, CHECK_WARN, "make it usable, or choose another folder", "cannot access %s: %s",
			   path, strerror(error));
	else if (!S_ISDIR(st.st_mode))
		checks_add(c, name, CHECK_WARN, "move it away", "%s is not a folder", at);
	else if (there && (st.st_mode & 02))
		checks_add(c, name, CHECK_FAIL, close_it, "%s: every user can change its content", path);
	else if (access(at, W_OK | X_OK) < 0)
		checks_add(c, name, CHECK_WARN, "make it writable for the user who runs husk",
			   there ? "cannot write to %s%s" : "cannot create %s: no permission to write to %s", path,
			   there ? "" : at);
	else
		checks_add(c, name, CHECK_OK, NULL, there ? "%s" : "%s, created when needed", path);
}

/* --- store ------------------------------------------------------------------------------------------------------- */

void doctor_judge_store(struct checks *c, const struct config *config, const struct fail *f)
{
	static const char name[] = "store";
	AUTO(freep) char *where = store_describe(config), *key = xasprintf("%s/settings.key", config->state_dir);
	AUTO(freep) char *close_it = xasprintf("chmod 600 '%s'", key);
	struct stat st;
	if (f)
		checks_add(c, name, CHECK_FAIL, f->hint ? f->hint : "check the database", "%s", f->message);
	else if (!config->encryption_key && stat(key, &st) == 0 && (st.st_mode & 077))
		checks_add(c, name, CHECK_FAIL, close_it, "%s, but other users can read %s", where, key);
	else if (!store_is_there(config))
		checks_add(c, name, CHECK_OK, NULL, "%s, created when needed", where);
	else
		checks_add(c, name, CHECK_OK, NULL, "%s, answers", where);
}
