#include "manager/model/runtime.h"

#include <ctype.h>
#include <strings.h>

static const struct runtime runtimes[] = {
#include "runtimes.inc"
};

const struct runtime *runtime_list(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(runtimes);
	return runtimes;
}

const struct runtime *runtime_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(runtimes); i++) {
		if (strcasecmp(runtimes[i].name, name) == 0)
			return &runtimes[i];
		for (const char *const *alias = runtimes[i].aliases; *alias; alias++)
			if (strcasecmp(*alias, name) == 0)
				return &runtimes[i];
	}
	return NULL;
}

void runtime_image_setting(const struct runtime *runtime, char name[RUNTIME_SETTING_MAX])
{
	size_t n = (size_t)snprintf(name, RUNTIME_SETTING_MAX, "HUSK_IMAGE_");
	for (const char *p = runtime->name; *p && n < RUNTIME_SETTING_MAX - 1; p++)
		name[n++] = isalnum((unsigned char)*p) ? (char)toupper((unsigned char)*p) : '_';
	name[n] = '\0';
}
