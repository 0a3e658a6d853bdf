/* A message without its long strings is JSON exactly if it was JSON with them. */
#include <jansson.h>

#include "base/outline.h"
#include "tests/fuzz/fuzz.h"

#define MARK "3f9a7c51d2e84b06:"

int fuzz_one(const uint8_t *data, size_t n)
{
	json_t *whole = json_loadb((const char *)data, n, JSON_REJECT_DUPLICATES, NULL);
	for (int marked = 0; marked < 2; marked++) {
		struct outline o;
		outline_make(&o, data, n, /* min= */ 3, marked ? MARK : NULL);
		json_t *text = json_loadb((const char *)o.text.data, o.text.len, JSON_REJECT_DUPLICATES, NULL);
		CHECK(!whole == !text);
		for (size_t i = 0; i < o.n; i++)
			CHECK((const uint8_t *)o.strings[i].at >= data &&
			      (const uint8_t *)o.strings[i].at + o.strings[i].len <= data + n);
		json_decref(text);
		outline_release(&o);
	}
	json_decref(whole);
	return 0;
}
