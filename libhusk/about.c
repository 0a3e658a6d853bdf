/* The library's version and languages. */
#include "libhusk/husk.h"

#include <pthread.h>

#include "base/alloc.h"
#include "manager/manager.h"

static struct husk_language *languages; /* created once, never freed: callers keep pointers to them */
static pthread_once_t once = PTHREAD_ONCE_INIT;

const char *husk_version(void)
{
	return HUSK_VERSION;
}

static void list_languages(void)
{
	size_t n;
	const struct runtime *list = runtime_list(&n);
	languages = xcalloc(n, sizeof(*languages));
	for (size_t i = 0; i < n; i++)
		languages[i] = (struct husk_language){ .name = list[i].name,
						       .title = list[i].title,
						       .extension = list[i].extension,
						       .image = list[i].image };
}

const struct husk_language *husk_language(size_t i)
{
	size_t n;
	runtime_list(&n);
	pthread_once(&once, list_languages);
	return i < n ? &languages[i] : NULL;
}
