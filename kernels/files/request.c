#include "kernels/files/request.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/json.h"
#include "kernels/entry.h"

void request_release(struct request *r)
{
	free(take_ptr(r->path));
	free(take_ptr(r->after));
	json_decref(take_ptr(r->options));
}

int request_read(const uint8_t *payload, size_t n, struct request *ret)
{
	if (n < 4)
		return -EPROTO;
	size_t path = (size_t)entry_get_number(payload, 2), after = (size_t)entry_get_number(payload + 2, 2);
	const char *bytes = (const char *)payload + 4;
	if (path + after > n - 4 || memchr(bytes, 0, path + after))
		return -EPROTO;
	json_t *options = json_parse(bytes + path + after, n - 4 - path - after, JSON_REJECT_DUPLICATES);
	if (!json_is_object(options)) {
		json_decref(options);
		return -EPROTO;
	}
	*ret = (struct request){ xstrndup(bytes, path), xstrndup(bytes + path, after), options };
	return 0;
}
