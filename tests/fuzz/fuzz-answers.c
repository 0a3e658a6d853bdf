/* manager/engine/docker/info: output of a docker client, as the answer to each query. */
#include "manager/engine/docker/info.h"

#include "base/alloc.h"
#include "tests/fuzz/fuzz.h"

static void check_strings(const struct strv *v)
{
	for (size_t i = 0; i < v->n; i++)
		CHECK(utf8_valid(v->v[i], strlen(v->v[i])));
}

static void check_answer(const struct engine_answer *a)
{
	if (a->kind == ENGINE_QUERY_CONTAINERS)
		for (size_t i = 0; i < a->containers.n; i++)
			CHECK(a->containers.v[i].name && *a->containers.v[i].name && a->containers.v[i].owner);
	if (a->kind == ENGINE_QUERY_STATS)
		for (size_t i = 0; i < a->stats.n; i++)
			CHECK(a->stats.v[i].name);
	if (a->kind == ENGINE_QUERY_CONTAINER)
		CHECK(a->container.pid >= 0);
	if (a->kind == ENGINE_QUERY_INFO)
		check_strings(&a->info.runtimes);
	if (a->kind == ENGINE_QUERY_IMAGE) {
		check_strings(&a->image.labels);
		check_strings(&a->image.volumes);
	}
}

int fuzz_one(const uint8_t *data, size_t n)
{
	/* In the form of a child's captured output. */
	AUTO(freep) char *text = xmalloc(n + 1);
	if (n)
		memcpy(text, data, n);
	text[n] = '\0';
	for (enum engine_query_kind kind = ENGINE_QUERY_CLIENT; kind <= ENGINE_QUERY_FENCE; kind++) {
		AUTO(fail_release) struct fail f = { 0 };
		struct engine_answer answer = { .kind = kind };
		if (info_read(&answer, text, n, &f) < 0) {
			CHECK(f.message && utf8_valid(f.message, strlen(f.message)));
			continue;
		}
		check_answer(&answer);
		engine_answer_release(&answer);
	}
	return 0;
}
