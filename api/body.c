#include "api/body.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/shape.h"

/* Each `[` takes a hundred times its size in memory. */
#define DEPTH_MAX 64
#define VALUES_MAX 100000

static char *describe_error(const void *data, size_t n)
{
	json_error_t error;
	json_auto_t *accepted = json_loadb(data, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	return accepted ? xstrdup("The body is not valid JSON: it has a NUL byte.") :
			  xasprintf("The body is not valid JSON: %s (line %d).", error.text, error.line);
}

json_t *body_parse(const void *data, size_t n, char **ret_detail)
{
	struct shape shape = shape_of(data, n);
	if (shape.depth > DEPTH_MAX || shape.values + shape.containers > VALUES_MAX) {
		*ret_detail = xstrdup("The body has too many values, or they are nested too deeply.");
		return NULL;
	}
	json_auto_t *body = n ? json_parse(data, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL) : json_object();
	if (json_is_object(body))
		return json_incref(body);
	*ret_detail = body ? xstrdup("The body is not a JSON object.") : describe_error(data, n);
	return NULL;
}
