/* Included by every file of the project: ownership attributes, container_of, and functions that must not be used. */
#ifndef HUSK_BASE_DEFS_H
#define HUSK_BASE_DEFS_H

/* Headers that declare the poisoned names come first. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* AUTO(freep) char *s = NULL; is released at scope exit. It is not named `cleanup`, which would break jansson's
 * json_auto_t. */
#define AUTO(release) __attribute__((__cleanup__(release)))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define PRINTF_LIKE(fmt, args) __attribute__((__format__(__printf__, fmt, args)))
#define UNUSED __attribute__((__unused__))

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Hands over ownership: returns the value and clears the variable. */
#define take_ptr(p)                                                                                                    \
	({                                                                                                             \
		__auto_type take_ptr_value_ = (p);                                                                     \
		(p) = NULL;                                                                                            \
		take_ptr_value_;                                                                                       \
	})
#define take_fd(fd)                                                                                                    \
	({                                                                                                             \
		int take_fd_value_ = (fd);                                                                             \
		(fd) = -1;                                                                                             \
		take_fd_value_;                                                                                        \
	})

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline bool streq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol system popen gets

#endif
