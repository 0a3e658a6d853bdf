#include "manager/model/env.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "manager/model/cause.h"

#define NAME_MAX_BYTES 255

static bool is_name(const char *name)
{
	size_t n = strlen(name);
	for (const char *at = name; *at; at++)
		if (*at == '=' || (unsigned char)*at <= ' ' || *at == 0x7f)
			return false;
	return n > 0 && n <= NAME_MAX_BYTES;
}

int env_check(const struct env_var *v, size_t n, struct fail *f)
{
	size_t total = 0;
	for (size_t i = 0; i < n; i++) {
		if (!is_name(v[i].name))
			return cause_set(
				f, FAIL_INVALID, CAUSE_ENV_NAME,
				"env has an invalid name: \"%.80s\" (1 to %d bytes without '=', blanks or control characters)",
				v[i].name, NAME_MAX_BYTES);
		total += strlen(v[i].name) + 1 + strlen(v[i].value) + 1;
	}
	if (total > ENV_BYTES_MAX)
		return cause_set(f, FAIL_INVALID, CAUSE_ENV_SIZE, "env has %zu bytes with its names; the limit is %u",
				 total, ENV_BYTES_MAX);
	return 0;
}

void env_copy(struct strv *out, const struct env_var *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		strv_addf(out, "%s=%s", v[i].name, v[i].value);
}

char *env_names(const struct env_var *v, size_t n)
{
	struct buf names = { 0 };
	for (size_t i = 0; i < n; i++)
		buf_printf(&names, "%s%s", i ? " " : "", v[i].name);
	return n ? buf_steal_str(&names) : NULL;
}
