/* Loads the settings, including those that `husk config` has stored, and stores one. */
#include "base/alloc.h"
#include "base/log.h"
#include "manager/manager.h"
#include "manager/store/kept.h"

static struct kept_place place_of(const struct config *c)
{
	return (struct kept_place){ .state_dir = c->state_dir, .secret = config_lookup(c, "ENCRYPTION_KEY") };
}

static int read_kept(const struct config *c, struct strv *ret, struct fail *f)
{
	struct kept_place place = place_of(c);
	return kept_read(&place, ret, f);
}

int settings_load_from(struct config *c, const struct config_source *source, struct fail *f)
{
	struct config_source with_kept = *source;
	with_kept.read_kept = source->file ? read_kept : NULL;
	return config_load_from(c, &with_kept, f);
}

int settings_load(struct config *c, const char *env_file, struct fail *f)
{
	struct config_source source = { .environment = true, .file = true, .env_file = env_file };
	if (settings_load_from(c, &source, f) < 0)
		return -1;
	log_set_level((enum log_level)c->log);
	return 0;
}

static int check_name(const char *name, struct fail *f)
{
	if (!config_knows(name))
		return fail_set(f, FAIL_INVALID, "there is no setting '%.100s'", name);
	if (streq(name, "ENCRYPTION_KEY"))
		return fail_set(f, FAIL_INVALID,
				"setting ENCRYPTION_KEY: it encrypts stored settings, so it cannot be stored itself");
	return 0;
}

static int check_value(const char *name, const char *value, const char *env_file, struct fail *f)
{
	if (!*value)
		return fail_set(f, FAIL_INVALID,
				"setting %s: an empty value means that the setting is not set: use unset instead",
				name);
	AUTO(freep) char *pair = xasprintf("%s=%s", name, value);
	AUTO(config_release) struct config c = { 0 };
	return config_load_from(&c,
				&(struct config_source){ .values = (const char *[]){ pair, NULL },
							 .environment = true,
							 .file = true,
							 .env_file = env_file },
				f);
}

int settings_keep(const char *env_file, const char *name, const char *value, struct fail *f)
{
	if (check_name(name, f) < 0 || (value && check_value(name, value, env_file, f) < 0))
		return -1;
	/* Stored settings are not loaded here. So a setting that can no longer be unsealed can be replaced or
	 * removed. */
	AUTO(config_release) struct config c = { 0 };
	if (config_load(&c, env_file, f) < 0)
		return -1;
	struct kept_place place = place_of(&c);
	return kept_put(&place, name, value, f);
}
