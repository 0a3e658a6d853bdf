#include "kernels/cells/mime.h"

#include <string.h>

bool mime_valid(const char *mime)
{
	size_t n = strlen(mime);
	if (!n || n > MIME_MAX || !strchr(mime, '/'))
		return false;
	for (; *mime; mime++)
		if (*mime <= ' ' || *mime >= 0x7f || *mime == '"' || *mime == '\\')
			return false;
	return true;
}
