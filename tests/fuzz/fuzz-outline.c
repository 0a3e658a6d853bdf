/* Messages are parsed as by jansson. Without its long strings, a message is JSON exactly if it was JSON with them. */
#include "base/json.h"
#include "base/outline.h"
#include "base/shape.h"
#include "tests/fuzz/fuzz.h"

#define MARK "3f9a7c51d2e84b06:"
#define DEPTH 2000

/* base/json parses the same texts as jansson, to the same values. */
static void compare(const uint8_t *data, size_t n, size_t flags)
{
	json_t *ours = json_parse(data, n, flags), *theirs = json_loadb((const char *)data, n, flags, NULL);
	/* jansson counts depth in another way, and accepts a NUL byte after a number or a literal. */
	if (shape_of(data, n).depth < DEPTH && !memchr(data, '\0', n))
		CHECK(ours && theirs ? json_equal(ours, theirs) : !ours && !theirs);
	json_decref(ours);
	json_decref(theirs);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	compare(data, n, JSON_REJECT_DUPLICATES);
	compare(data, n, JSON_ALLOW_NUL | JSON_DECODE_ANY);
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
