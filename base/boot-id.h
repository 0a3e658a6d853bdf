/* The random boot id that the kernel chose when it started. Two processes that read the same id share a kernel. */
#ifndef HUSK_BASE_BOOT_ID_H
#define HUSK_BASE_BOOT_ID_H

#include <stdbool.h>

#define BOOT_ID_SIZE 64

/* Returns false, with "" in ret, if the kernel does not report a boot id. */
bool boot_id_read(char ret[BOOT_ID_SIZE]);

#endif
