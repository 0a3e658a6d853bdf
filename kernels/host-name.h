/* Names of hosts that a session may ask the gate for. PID 1 and the manager check them with the same function, since
 * neither trusts the other. */
#ifndef HUSK_KERNELS_HOST_NAME_H
#define HUSK_KERNELS_HOST_NAME_H

#include "base/defs.h"

#define HOST_NAME_MAX_LEN 253u
#define HOST_NAME_SIZE (HOST_NAME_MAX_LEN + 1)
#define HOST_LABEL_MAX 63u

static inline bool host_name_takes(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* True for a name in lower case without a dot at its end: labels of letters, digits, '-' and '_'. An IPv4 address is
 * not a name: its last label has only digits. */
static inline bool host_name_valid(const char *name, size_t n)
{
	size_t label = 0;
	bool digits = true;
	if (!n || n > HOST_NAME_MAX_LEN)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (name[i] == '.') {
			if (!label)
				return false;
			label = 0;
			digits = true;
			continue;
		}
		if (!host_name_takes(name[i]) || ++label > HOST_LABEL_MAX)
			return false;
		digits &= name[i] >= '0' && name[i] <= '9';
	}
	return label && !digits;
}

#endif
