/* mcp/image: every accepted picture is well-formed base64 of one of the four types that clients accept. */
#include "mcp/image.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "tests/fuzz/fuzz.h"

int fuzz_one(const uint8_t *data, size_t n)
{
	const char *type = NULL;
	size_t bytes = 0;
	AUTO(freep) char *base64 = image_take((const char *)data, n, &type, &bytes);
	if (!base64)
		return 0;
	AUTO(buf_release) struct buf raw = { 0 };
	size_t len = strlen(base64);
	CHECK(len % 4 == 0 && image_rank(type) > 0);
	CHECK(strspn(base64, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") == len);
	CHECK(base64_decode(base64, len, &raw) == 0 && raw.len == bytes);
	return 0;
}
