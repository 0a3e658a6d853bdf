#include "cli/config.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cli/exit.h"
#include "cli/report.h"
#include "cli/typed.h"
#include "manager/json/codec.h"

#define VALUE_MAX 65536u
#define HIDDEN "(hidden: husk config get shows it)"

/* --- the verbs --------------------------------------------------------------------------------------------------- */

/* Passwords must be piped, because every user of the machine can read argument lists. */
static bool must_be_piped(const char *name, const char *value)
{
	const char *scheme = strstr(value, "://");
	return streq(name, "POSTGRES_PASSWORD") || (scheme && strchr(scheme, '@'));
}

static int set(const struct options *o, struct fail *f)
{
	AUTO(buf_wipe) struct buf typed = { 0 };
	if (!o->setting_value && typed_value(o->setting, VALUE_MAX, &typed) < 0)
		return fail_set(
			f, FAIL_INVALID,
			"cannot read the value of %s from standard input: it is missing or longer than %u bytes",
			o->setting, VALUE_MAX);
	const char *value = o->setting_value ? o->setting_value : buf_str(&typed);
	if (o->setting_value && must_be_piped(o->setting, o->setting_value)) {
		fail_set(
			f, FAIL_INVALID,
			"cannot take the value of %s from the command line: every user of this machine can read it there",
			o->setting);
		return fail_hint(f, "Leave the value out: husk then reads it from standard input.");
	}
	return settings_keep(o->env_file, o->setting, value, f);
}

/* The value in force. The caller frees *own. */
static const char *effective(const struct config *c, const char *name, char **own)
{
	const char *value = config_effective(c, name);
	if (!value && streq(name, "HUSK_THREAD_ID"))
		value = *own = manager_own_conversation(c);
	return value;
}

static int get(const struct options *o, const struct config *c, struct fail *f)
{
	AUTO(freep) char *own = NULL;
	const char *value = effective(c, o->setting, &own);
	if (!config_knows(o->setting))
		return fail_set(f, FAIL_INVALID, "there is no setting '%.100s': husk config list shows all of them",
				o->setting);
	if (!value)
		return fail_set(f, FAIL_NOT_FOUND, "setting %s is not set", o->setting);
	puts(value);
	return 0;
}

/* --- the list ---------------------------------------------------------------------------------------------------- */

static json_t *describe(const struct config *c, const char *name)
{
	AUTO(freep) char *own = NULL;
	json_t *out = setting_encode(c, name);
	const char *value = effective(c, name, &own);
	if (own)
		json_object_set_new(out, "value", json_text(value));
	return out;
}

/* All settings of this build, and stored settings for runtimes that only another build has. */
static json_t *describe_all(const struct config *c)
{
	json_t *list = json_array();
	AUTO(strv_release) struct strv names = { 0 };
	config_names(&names);
	for (size_t i = 0; i < c->kept.n; i++) {
		AUTO(freep) char *kept = xstrndup(c->kept.v[i], strcspn(c->kept.v[i], "="));
		if (strv_find(&names, kept) == SIZE_MAX)
			strv_add(&names, kept);
	}
	for (size_t i = 0; i < names.n; i++)
		json_array_append_new(list, describe(c, names.v[i]));
	return list;
}

static void print_list(const json_t *list)
{
	size_t i;
	const json_t *o;
	json_array_foreach(list, i, o) {
		const char *value = json_string_value(json_object_get(o, "value"));
		const char *origin = json_string_value(json_object_get(o, "from"));
		bool hidden = json_is_true(json_object_get(o, "set"));
		printf("%-37s %-12s ", json_string_value(json_object_get(o, "name")), origin);
		puts(hidden ? HIDDEN : value ? value : "-");
	}
}

static void list(const struct options *o, const struct config *c)
{
	json_auto_t *found = describe_all(c);
	if (!o->json) {
		print_list(found);
		return;
	}
	json_auto_t *all = json_pack("{s:O}", "settings", found);
	json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
}

static int show(const struct options *o, struct fail *f)
{
	AUTO(config_release) struct config c = { 0 };
	if (settings_load(&c, o->env_file, f) < 0)
		return -1;
	if (o->action == CONFIG_GET)
		return get(o, &c, f);
	list(o, &c);
	return 0;
}

int config_run(const struct options *o)
{
	AUTO(fail_release) struct fail f = { 0 };
	int r;
	switch (o->action) {
	case CONFIG_SET:
		r = set(o, &f);
		break;
	case CONFIG_UNSET:
		r = settings_keep(o->env_file, o->setting, /* value= */ NULL, &f);
		break;
	default:
		r = show(o, &f);
		break;
	}
	if (r == 0)
		return EXIT_DONE;
	return report_refusal(&f, o->verb);
}
