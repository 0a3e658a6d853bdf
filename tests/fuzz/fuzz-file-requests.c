/* Requests about files in place: PID 1 reads a manager's request, and the manager gets the answer of a hostile PID 1. */
#include <errno.h>

#include "kernels/files/request.h"
#include "kernels/item.h"
#include "manager/files/file-query.h"
#include "manager/files/file-reader.h"
#include "manager/files/file-writer.h"
#include "tests/fuzz/fuzz.h"

#define LIMIT 3

static struct loop *loop;
static unsigned answers;

static void drop_frames(struct dispatch *d UNUSED, const struct buf *frames UNUSED)
{
}

/* ---- PID 1's end */

static void read_request(const uint8_t *data, size_t n)
{
	AUTO(request_release) struct request request = { 0 };
	if (request_read(data, n, &request) < 0) {
		CHECK(!request.path && !request.after && !request.options);
		return;
	}
	CHECK(strlen(request.path) + strlen(request.after) <= n && json_is_object(request.options));
}

/* ---- the manager's end */

static void check_info(const struct file_info *info)
{
	CHECK(strlen(info->name) <= ENTRY_NAME_MAX && !strchr(info->name, '/') &&
	      item_tag_valid(info->etag, strlen(info->etag)));
	CHECK(info->type < FILE_TYPES && (info->type == FILE_SYMLINK) == (info->target != NULL));
	CHECK(info->type == FILE_REGULAR || !info->size);
}

static void on_done(struct file_query *q, const struct file_answer *answer, const struct fail *f)
{
	answers++;
	CHECK(!answer == !!f);
	if (!answer)
		return;
	const struct file_page *page = &answer->page;
	CHECK(page->n <= LIMIT && *page->directory.name == '\0');
	check_info(&page->directory);
	for (size_t i = 0; i < page->n; i++) {
		check_info(&page->v[i]);
		CHECK(strcmp(page->v[i].name, i ? page->v[i - 1].name : "a") > 0);
	}
}

/* Feeds all frames to one transfer, and returns once it is answered or the protocol is violated. */
static void feed(struct dispatch *d, const struct transfer *t, const uint8_t *data, size_t n)
{
	AUTO(wire_release) struct wire wire = { 0 };
	struct wire_frame frame;
	int r = 0, none = -1;
	wire_feed(&wire, data, n);
	while (r >= 0 && !answers && wire_next(&wire, &frame) == 1) {
		frame.call = t->last;
		frame.descriptor = &none;
		/* After END the number is free, even if a paused reader still has data to deliver. */
		bool ended = !t->call;
		CHECK(transfers_frame(d, &frame, &r) == !ended);
		CHECK(r == 0 || r == -EPROTO);
	}
}

static void query(struct dispatch *d, const uint8_t *data, size_t n)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct file_query q = { .on_done = on_done };
	const struct wire_file_request req = {
		.type = FRAME_FILES_LIST, .path = "/workspace", .after = "a", .limit = LIMIT
	};
	CHECK(file_query_start(&q, d, &req, &f) == 0);
	feed(d, &q.transfer, data, n);
	file_query_stop(&q);
}

static struct {
	uint64_t at, end;
} part;

static void on_open(struct file_reader *r, const struct file_info *info, int fd)
{
	CHECK(fd < 0 && info->type == FILE_REGULAR);
	check_info(info);
	part.at = MIN(info->size, 2);
	part.end = part.at + MIN(info->size - part.at, 1000);
	file_reader_fetch(r, part.at, 1000);
}

static void on_data(struct file_reader *r, const void *data, size_t n)
{
	part.at += n;
	CHECK(n && part.at <= part.end);
	file_reader_pause(r, true);
	file_reader_pause(r, n % 2);
}

static void on_end(struct file_reader *r, const struct fail *f)
{
	answers++;
	CHECK(f || part.at == part.end);
}

static void read_file(struct dispatch *d, const uint8_t *data, size_t n)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct file_reader r = { .on_open = on_open, .on_data = on_data, .on_end = on_end };
	part.at = part.end = UINT64_MAX;
	CHECK(file_reader_start(&r, d, "/workspace/f", &f) == 0);
	feed(d, &r.transfer, data, n);
	if (r.state == READER_COMPLETE) {
		file_reader_pause(&r, false); /* delivers, and on_data may pause it again */
		file_reader_pause(&r, false);
		CHECK(answers == 1);
	}
	file_reader_stop(&r);
}

static void on_drained(struct file_writer *w)
{
}

static void on_written(struct file_writer *w, const struct file_info *info, bool created, const struct fail *f)
{
	answers++;
	CHECK(!info == !!f);
	if (info)
		check_info(info);
}

static void write_file(struct dispatch *d, const uint8_t *data, size_t n)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct file_writer w = { .on_drained = on_drained, .on_done = on_written };
	const struct wire_file_request req = { .type = FRAME_FILES_WRITE, .path = "/workspace/f" };
	CHECK(file_writer_start(&w, d, &req, &f) == 0);
	loop_drain(loop, 0);
	(void)file_writer_write(&w, data, n);
	if (n % 2)
		file_writer_end(&w);
	feed(d, &w.transfer, data, n);
	file_writer_stop(&w);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	static const struct config config;
	void (*const parts[])(struct dispatch * d, const uint8_t *data, size_t n) = { query, read_file, write_file };
	read_request(data, n);
	loop = loop_new();
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		struct dispatch d;
		answers = 0;
		dispatch_init(&d, loop, &config, drop_frames);
		d.open = d.has_files = true;
		parts[i](&d, data, n);
		CHECK(answers <= 1);
		transfers_lost(&d, &(struct fail){ .kind = FAIL_DIED }, /* gone= */ true);
		dispatch_release(&d);
	}
	loop_free(loop);
	return 0;
}
