#include "manager/model/image.h"

#include <ctype.h>

const char *runtime_image(const struct runtime *runtime, const struct config *config)
{
	char name[64] = "HUSK_IMAGE_";
	size_t n = strlen(name);
	for (const char *p = runtime->name; *p && n < sizeof(name) - 1; p++)
		name[n++] = isalnum((unsigned char)*p) ? (char)toupper((unsigned char)*p) : '_';
	name[n] = '\0';
	const char *image = config_lookup(config, name);
	return image ? image : runtime->image;
}
