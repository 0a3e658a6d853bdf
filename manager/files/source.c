#include "manager/files/source.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "manager/line/wire.h"

#define NOTICES_MAX 20

struct source *source_free(struct source *s)
{
	if (!s)
		return NULL;
	strv_release(&s->notices);
	s->ops->release(s);
	return NULL;
}

void source_notice(struct source *s, const char *path, const char *what)
{
	AUTO(buf_release) struct buf clean = { 0 };
	if (s->notices.n >= NOTICES_MAX)
		return;
	utf8_clean(&clean, path, strlen(path));
	strv_addf(&s->notices, "'%.200s' %s", buf_str(&clean), what);
}

void source_put_entry(struct buf *out, uint32_t call, const struct entry *e)
{
	AUTO(buf_release) struct buf payload = { 0 };
	entry_write(&payload, e);
	wire_put(out, FRAME_ENTRY, call, payload.data, payload.len);
}

/* ---- content of an open file */

void source_reader_start(struct source_reader *r, int fd, const struct stat *st)
{
	*r = (struct source_reader){ .fd = fd, .size = (uint64_t)st->st_size };
	r->sparse = (uint64_t)st->st_blocks * 512 < r->size;
	r->data_end = r->sparse ? 0 : r->size;
}

/* Moves to the next piece of data; false if there is none. Without support for holes in the file system, the file is
 * one piece. */
static bool next_piece(struct source_reader *r)
{
	off_t data = lseek(r->fd, (off_t)r->at, SEEK_DATA);
	if (data < 0 && errno != ENXIO)
		data = (off_t)r->at;
	if (data < 0 || (uint64_t)data >= r->size)
		return false;
	off_t hole = lseek(r->fd, data, SEEK_HOLE);
	r->at = (uint64_t)data;
	r->data_end = hole <= data ? r->size : MIN((uint64_t)hole, r->size);
	return true;
}

int source_read(struct source_reader *r, uint32_t call, struct buf *out)
{
	uint8_t header[FRAME_HEADER_SIZE];
	if (r->at >= r->data_end && (r->at >= r->size || !r->sparse || !next_piece(r)))
		return 0;
	size_t want = (size_t)MIN(r->data_end - r->at, FILE_DATA_MAX);
	uint8_t *at = buf_reserve(out, sizeof(header) + 8 + want);
	ssize_t n = pread(r->fd, at + sizeof(header) + 8, want, (off_t)r->at);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	frame_header_write(at, &(struct frame_header){ .length = 8 + (uint32_t)n, .type = FRAME_DATA, .call = call });
	entry_put_number(at + sizeof(header), 8, r->at);
	out->len += sizeof(header) + 8 + (size_t)n;
	r->at += (uint64_t)n;
	return 1;
}

uint64_t source_data_bytes(int fd, const struct stat *st)
{
	struct source_reader r;
	uint64_t sum = 0;
	source_reader_start(&r, fd, st);
	if (!r.sparse)
		return source_pages(r.size);
	while (r.at < r.size && next_piece(&r)) {
		sum += source_pages(r.data_end - r.at);
		r.at = r.data_end;
	}
	return sum;
}

/* ---- text in the request */

struct inline_source {
	struct source source;
	struct buf content;
	size_t at;
	bool began;
};

static int inline_measure(struct source *s, struct measure *ret, struct fail *f UNUSED)
{
	const struct inline_source *i = container_of(s, struct inline_source, source);
	*ret = (struct measure){ .size = i->content.len, .room = source_pages(i->content.len), .entries = 1 };
	return 0;
}

static int inline_produce(struct source *s, uint32_t call, size_t max, struct buf *out, struct fail *f UNUSED)
{
	struct inline_source *i = container_of(s, struct inline_source, source);
	if (!i->began)
		source_put_entry(out, call,
				 &(struct entry){ .type = ENTRY_FILE,
						  .mode = 0644,
						  .mtime = time(NULL),
						  .size = i->content.len,
						  .path = "",
						  .target = "" });
	i->began = true;
	while (i->at < i->content.len && out->len < max) {
		size_t n = MIN(i->content.len - i->at, FILE_DATA_MAX);
		AUTO(buf_release) struct buf payload = { 0 };
		uint8_t offset[8];
		entry_put_number(offset, 8, i->at);
		buf_add(&payload, offset, sizeof(offset));
		buf_add(&payload, i->content.data + i->at, n);
		wire_put(out, FRAME_DATA, call, payload.data, payload.len);
		i->at += n;
	}
	return i->at < i->content.len;
}

static void inline_release(struct source *s)
{
	struct inline_source *i = container_of(s, struct inline_source, source);
	buf_release(&i->content);
	free(i);
}

struct source *source_inline(struct buf *content)
{
	static const struct source_ops ops = { inline_measure, inline_produce, inline_release };
	struct inline_source *i = new0(struct inline_source);
	i->source.ops = &ops;
	i->content = *content;
	*content = (struct buf){ 0 };
	return &i->source;
}
