/* manager/engine/kubernetes/: any line of a watch becomes a clean pod or nothing, any refusal becomes a clean sentence,
 * and any messages of a stream become output and a clean last sentence. The first byte chooses the parser. */
#include "base/alloc.h"
#include "manager/engine/kubernetes/exec.h"
#include "manager/engine/kubernetes/feed.h"
#include "manager/engine/kubernetes/status.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const char *s, size_t size)
{
	CHECK(memchr(s, '\0', size) && utf8_valid(s, strlen(s)) && !strpbrk(s, "\n\r\t\x1b"));
}

static void check_pod(const struct pod *p)
{
	AUTO(fail_release) struct fail death = { 0 }, trouble = { 0 };
	CHECK(*p->name && *p->uid);
	check_text(p->name, sizeof(p->name));
	check_text(p->uid, sizeof(p->uid));
	check_text(p->store, sizeof(p->store));
	check_text(p->mark, sizeof(p->mark));
	check_text(p->owner, sizeof(p->owner));
	check_text(p->node, sizeof(p->node));
	check_text(p->reason, sizeof(p->reason));
	check_text(p->message, sizeof(p->message));
	CHECK(pod_death(p, &death) == -1 && death.kind == FAIL_DIED);
	CHECK(pod_trouble(p, "husk", &trouble) == -1 && trouble.kind != FAIL_NONE && trouble.hint);
	CHECK(utf8_valid(trouble.message, strlen(trouble.message)));
}

static void try_line(const uint8_t *data, size_t n)
{
	struct pod pod;
	char version[64] = "1";
	enum feed_line kind = feed_read_line(data, n, &pod, version);
	if (kind == FEED_POD || kind == FEED_GONE)
		check_pod(&pod);
	CHECK(strspn(version, "0123456789") == strlen(version));
}

static void try_status(const uint8_t *data, size_t n)
{
	static const struct status_place place = { "start the pod", "create", "pods", "husk" };
	AUTO(fail_release) struct fail f = { 0 };
	int status = n ? 300 + data[0] : 500;
	CHECK(status_fail(&f, &place, status, data, n) == -1 && f.kind != FAIL_NONE);
	CHECK(utf8_valid(f.message, strlen(f.message)) && !strpbrk(f.message, "\n\r\t\x1b"));
	CHECK(utf8_count(f.message, strlen(f.message)) < 800);
}

/* --- messages of a stream ------------------------------------------------------------------------------------------ */

struct rig {
	size_t got;
};

static void on_bytes(void *ctx, const void *data, size_t n)
{
	struct rig *rig = ctx;
	CHECK(data && n);
	rig->got += n;
}

static void try_messages(const uint8_t *data, size_t n)
{
	struct rig rig = { 0 };
	struct pieces pieces = pieces_of(data, n);
	const uint8_t *piece;
	size_t size, given = 0;
	AUTO(buf_release) struct buf words = { .max = EXEC_WORDS_MAX };
	while (pieces_next(&pieces, &piece, &size)) {
		given += size;
		exec_take_message(piece, size, on_bytes, &rig, &words);
	}
	AUTO(fail_release) struct fail f = { 0 };
	exec_explain_end(&f, words.data, words.len, 1006);
	CHECK(rig.got <= given && words.len <= EXEC_WORDS_MAX && f.kind == FAIL_ENGINE);
	CHECK(utf8_valid(f.message, strlen(f.message)));
}

int fuzz_one(const uint8_t *data, size_t n)
{
	if (!n)
		return 0;
	if (*data % 3 == 0)
		try_line(data + 1, n - 1);
	else if (*data % 3 == 1)
		try_status(data + 1, n - 1);
	else
		try_messages(data + 1, n - 1);
	return 0;
}
