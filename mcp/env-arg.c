#include "mcp/env-arg.h"

#include "base/alloc.h"

struct env_var *env_arg(json_t *texts, size_t *ret_n)
{
	struct env_var *v = xcalloc(json_object_size(texts) + 1, sizeof(*v));
	size_t n = 0;
	const char *name;
	json_t *value;
	json_object_foreach(texts, name, value) {
		const char *text = json_string_value(value);
		v[n++] = (struct env_var){ .name = name, .value = text ? text : "" };
	}
	*ret_n = n;
	return v;
}
