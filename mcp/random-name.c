#include "mcp/random-name.h"

#include <sys/random.h>

#include "base/defs.h"

void random_name(char name[RANDOM_NAME_SIZE])
{
	unsigned char bytes[RANDOM_NAME_SIZE / 2];
	if (getentropy(bytes, sizeof(bytes)) < 0)
		abort();
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(name + 2 * i, 3, "%02x", bytes[i]);
}
