/* manager/engine/kubernetes/: any line of a watch becomes a clean pod or nothing, any refusal becomes a clean sentence,
 * any messages of a stream become output and a clean last sentence, and any archive becomes a layer inside its folder or
 * nothing. The first byte chooses the parser. */
#include "base/alloc.h"
#include "manager/engine/kubernetes/exec.h"
#include "manager/engine/kubernetes/feed.h"
#include "manager/engine/kubernetes/layer.h"
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

/* --- archives ------------------------------------------------------------------------------------------------------ */

#define FOLDER "opt/husk/deps"
#define BLOCK 512u

static int keep(void *ctx, const void *data, size_t n)
{
	return buf_add(ctx, data, n);
}

/* A wrong sum would end every attempt. */
static void correct_sum(uint8_t *block)
{
	char text[24];
	unsigned sum = 0;
	memset(block + 148, ' ', 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += block[i];
	snprintf(text, sizeof(text), "%06o", sum & 0777777);
	memcpy(block + 148, text, 7);
}

/* Names of the layer's entries: inside the folder, for readers that know long names and those that do not. */
static void check_layer(const struct buf *layer)
{
	bool long_name = false;
	for (size_t at = 0; at + BLOCK <= layer->len;) {
		const char *block = (const char *)layer->data + at;
		char size[13] = { 0 };
		memcpy(size, block + 124, 12);
		if (!*block)
			break;
		bool special = block[156] == 'L' || block[156] == 'K';
		CHECK(special || strncmp(block, FOLDER, strlen(FOLDER)) == 0);
		CHECK(special || long_name || !memmem(block, strnlen(block, 100), "/../", 4));
		CHECK(strchr("0125LK", block[156]) && (strtoul(block + 100, NULL, 8) & ~0777ul) == 0);
		long_name = block[156] == 'L';
		uint64_t n = *size & 0x80 ? 0 : strtoull(size, NULL, 8);
		if (*size & 0x80)
			break;
		at += BLOCK + (n + BLOCK - 1) / BLOCK * BLOCK;
	}
}

static void try_archive(const uint8_t *data, size_t n)
{
	AUTO(buf_release) struct buf archive = { 0 }, layer = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct layer *l =
		layer_new(&(struct layer_spec){ .folder = FOLDER, .max = 1 << 20, .write = keep, .ctx = &layer });
	buf_add(&archive, data, n);
	for (size_t at = 0; at + BLOCK <= n; at += BLOCK)
		if (archive.data[at])
			correct_sum(archive.data + at);
	int r = 0;
	for (size_t at = 0; at < n && r == 0; at += 700)
		r = layer_add(l, archive.data + at, MIN((size_t)700, n - at), &f);
	CHECK((r < 0) == (f.kind != FAIL_NONE) && layer.len <= 1 << 20);
	check_layer(&layer);
	layer_free(l);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	if (!n)
		return 0;
	if (*data == 'A') {
		try_archive(data + 1, n - 1);
		return 0;
	}
	if (*data % 3 == 0)
		try_line(data + 1, n - 1);
	else if (*data % 3 == 1)
		try_status(data + 1, n - 1);
	else
		try_messages(data + 1, n - 1);
	return 0;
}
