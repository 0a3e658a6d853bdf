/* Texts of a shared store, which another program may have written: a session's limits, and a history as a
 * notebook. The first byte is the number of runs in the history. */
#include "base/alloc.h"
#include "manager/json/notebook.h"
#include "manager/model/cause.h"
#include "manager/model/limits.h"
#include "tests/fuzz/fuzz.h"

static const struct config config = { 0 };

int fuzz_one(const uint8_t *data, size_t n)
{
	AUTO(freep) char *text = n ? xstrndup((const char *)data + 1, n - 1) : xstrdup("");
	struct limits limits = limits_from_json(text, &config);
	AUTO(freep) char *written = limits_to_json(&limits, &(struct limits_row){ 0 });
	struct limits again = limits_from_json(written, &config);
	CHECK(again.memory == limits.memory && again.home == limits.home && again.pids == limits.pids);
	(void)cause_find(text);

	const char *outputs[] = { text, "[]" };
	struct executed runs[4];
	for (size_t i = 0; i < ARRAY_LEN(runs); i++)
		runs[i] = (struct executed){ .seq = i + 1,
					     .tool = i & 1 ? "execute_terminal" : "execute_code",
					     .ending = text,
					     .text = text,
					     .outputs = outputs,
					     .n_outputs = ARRAY_LEN(outputs) };
	const struct history history = { .known = true,
					 .conversation = text,
					 .runtime = text,
					 .state = text,
					 .cause = text,
					 .owner = text,
					 .v = runs,
					 .n = n ? data[0] % (ARRAY_LEN(runs) + 1) : 0 };
	json_t *notebook = notebook_of(&history, "s1");
	if (notebook)
		check_sendable(notebook);
	return 0;
}
