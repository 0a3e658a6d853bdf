#include "base/boot-id.h"

#include <stdio.h>
#include <string.h>

bool boot_id_read(char ret[BOOT_ID_SIZE])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (!file || !fgets(ret, BOOT_ID_SIZE, file))
		ret[0] = '\0';
	if (file)
		fclose(file);
	ret[strcspn(ret, "\n")] = '\0';
	return ret[0] != '\0';
}
