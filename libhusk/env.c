#include "libhusk/env.h"

#include "base/alloc.h"

#define PAIRS_MAX 10000

struct husk_error *env_take(struct env_list *ret, const char *function, const char *const *pairs)
{
	size_t n = 0;
	for (; pairs && pairs[n]; n++) {
		const char *equals = strchr(pairs[n], '=');
		if (!equals || equals == pairs[n] || n == PAIRS_MAX)
			return error_misuse("%s(): .env[%zu] is not NAME=value", function, n);
		AUTO(freep) char *name = xstrndup(pairs[n], (size_t)(equals - pairs[n]));
		strv_add(&ret->text, name);
		strv_add(&ret->text, equals + 1);
	}
	ret->v = xcalloc(n, sizeof(*ret->v));
	ret->n = n;
	for (size_t i = 0; i < n; i++)
		ret->v[i] = (struct env_var){ .name = ret->text.v[2 * i], .value = ret->text.v[2 * i + 1] };
	return NULL;
}

void env_release(struct env_list *list)
{
	strv_release(&list->text);
	free(list->v);
	*list = (struct env_list){ 0 };
}
