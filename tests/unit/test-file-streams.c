/* manager/files: a file of a session that is read as a descriptor or as data, and one that is written, with a PID 1 that
 * is played frame by frame. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/work.h"
#include "kernels/item.h"
#include "manager/files/file-query.h"
#include "manager/files/file-reader.h"
#include "manager/files/file-writer.h"
#include "tests/unit/unit.h"

#define SIZE (3u << 20)

static struct config config;

static struct bench {
	struct loop *loop;
	struct dispatch d;
	struct file_reader reader;
	struct file_writer writer;
	struct file_query query;
	struct transfer *transfer; /* the one in use */
	struct buf sent;	   /* frames to PID 1 */
	int descriptor;		   /* of the next frame */

	bool done, opened, drained, stops_at_data, pauses_at_data;
	int fd;
	uint64_t size, got;
	uint8_t last;
	struct fail fail;
} b;

static void keep_frames(struct dispatch *d, const struct buf *frames)
{
	(void)buf_add(&b.sent, frames->data, frames->len);
}

static void on_end(struct file_reader *r, const struct fail *f)
{
	b.done = true;
	if (f)
		fail_copy(&b.fail, f);
}

static void on_open(struct file_reader *r, const struct file_info *info, int fd)
{
	b.opened = true;
	b.fd = fd;
	b.size = info->size;
}

static void on_data(struct file_reader *r, const void *data, size_t n)
{
	b.got += n;
	b.last = ((const uint8_t *)data)[n - 1];
	if (b.stops_at_data)
		file_reader_stop(r);
	else if (b.pauses_at_data)
		file_reader_pause(r, true);
}

static void on_drained(struct file_writer *w)
{
	b.drained = true;
}

static void on_done(struct file_writer *w, const struct file_info *info, bool created, const struct fail *f)
{
	b.done = true;
	assert_int_equal(!info, !!f);
	b.size = info ? info->size : 0;
	if (f)
		fail_copy(&b.fail, f);
}

static void on_answer(struct file_query *q, const struct file_answer *answer, const struct fail *f)
{
	b.done = true;
	if (f)
		fail_copy(&b.fail, f);
}

static int set_up(void **state)
{
	b = (struct bench){ .loop = loop_new(), .descriptor = -1, .fd = -1 };
	dispatch_init(&b.d, b.loop, &config, keep_frames);
	b.d.open = b.d.has_files = true;
	return 0;
}

static int tear_down(void **state)
{
	file_reader_stop(&b.reader);
	file_writer_stop(&b.writer);
	file_query_stop(&b.query);
	closep(&b.descriptor);
	closep(&b.fd);
	loop_drain(b.loop, 10000);
	assert_false(work_is_running());
	transfers_lost(&b.d, &(struct fail){ .kind = FAIL_DIED }, /* gone= */ true);
	dispatch_release(&b.d);
	loop_free(b.loop);
	fail_release(&b.fail);
	buf_release(&b.sent);
	return 0;
}

static int feed(enum frame_type type, const void *payload, size_t n)
{
	int r;
	struct wire_frame frame = {
		.type = (uint8_t)type, .call = b.transfer->last, .payload = payload, .n = n, .descriptor = &b.descriptor
	};
	assert_true(transfers_frame(&b.d, &frame, &r));
	return r;
}

static int feed_item(uint64_t size)
{
	AUTO(buf_release) struct buf payload = { 0 };
	item_write(
		&payload,
		&(struct item){ .type = ITEM_FILE, .size = size, .tag = "1", .tag_len = 1, .name = "", .target = "" });
	return feed(FRAME_ITEM, payload.data, payload.len);
}

static int feed_data(uint64_t at, size_t n)
{
	uint8_t payload[8 + FILE_DATA_MAX];
	entry_put_number(payload, 8, at);
	memset(payload + 8, (int)(at >> 15) + 1, n);
	return feed(FRAME_DATA, payload, 8 + n);
}

static int feed_end(const char *json)
{
	return feed(FRAME_END, json, strlen(json));
}

#define OK "{\"ending\":\"ok\"}"

/* The number of frames of this type that were sent, and the last payload's beginning as a number. */
static unsigned sent(enum frame_type type, uint64_t *ret_number, unsigned bytes)
{
	unsigned n = 0;
	for (size_t at = 0; at < b.sent.len; at += frame_size(b.sent.data + at)) {
		if (frame_header_read(b.sent.data + at).type != type)
			continue;
		n++;
		if (ret_number)
			*ret_number = entry_get_number(b.sent.data + at + FRAME_HEADER_SIZE, bytes);
	}
	return n;
}

static int memory_file(uint64_t size)
{
	int fd = memfd_create("x", MFD_CLOEXEC);
	assert_true(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	return fd;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static void start_reading(void)
{
	AUTO(fail_release) struct fail f = { 0 };
	b.reader.on_open = on_open;
	b.reader.on_data = on_data;
	b.reader.on_end = on_end;
	assert_int_equal(file_reader_start(&b.reader, &b.d, "/workspace/x", &f), 0);
	b.transfer = &b.reader.transfer;
}

static void a_descriptor_is_handed_over(void **state)
{
	start_reading();
	b.descriptor = memory_file(SIZE);
	assert_int_equal(feed(FRAME_FILE, NULL, 0), 0);
	assert_int_equal(feed_item(SIZE), 0);
	assert_false(b.opened);
	assert_int_equal(feed_end(OK), 0);
	assert_true(b.opened && b.fd >= 0 && b.size == SIZE && !b.done);
	assert_int_equal(sent(FRAME_INTERRUPT, NULL, 0), 0);
}

/* A pipe would block its reader, and a short file would break the promised length. */
static void other_descriptors_are_refused(void **state)
{
	int pipe[2];
	for (int i = 0; i < 2; i++) {
		start_reading();
		b.descriptor = i ? memory_file(SIZE - 1) : pipe2(pipe, O_CLOEXEC) == 0 ? pipe[0] : -1;
		assert_int_equal(feed(FRAME_FILE, NULL, 0), 0);
		assert_int_equal(feed_item(i ? SIZE : 0), 0);
		assert_int_equal(feed_end(OK), 0);
		assert_true(b.done && !b.opened);
		assert_int_equal(cause_of(&b.fail), CAUSE_FILE_CHANGED);
		b.done = false;
	}
	closep(&pipe[1]);
}

static void a_lost_descriptor_is_reported(void **state)
{
	start_reading();
	assert_int_equal(feed(FRAME_FILE, NULL, 0), 0);
	assert_true(b.done && b.fail.kind == FAIL_BUSY);
}

static void data_is_read_in_order(void **state)
{
	uint64_t number = 0;
	start_reading();
	assert_int_equal(feed_item(100), 0);
	assert_true(b.opened && b.fd < 0);
	file_reader_fetch(&b.reader, 90, 50);
	assert_int_equal(sent(FRAME_FILES_FETCH, &number, 16), 1);
	assert_int_equal(number, 10); /* the low half: the length within the file */
	assert_int_equal(feed_data(90, 4), 0);
	assert_int_equal(feed_data(94, 6), 0);
	assert_false(b.done);
	assert_int_equal(feed_end(OK), 0);
	assert_true(b.done && !b.fail.kind && b.got == 10);
}

static void a_paused_reader_gets_nothing_and_gives_no_credit(void **state)
{
	start_reading();
	b.pauses_at_data = true;
	assert_int_equal(feed_item(SIZE), 0);
	file_reader_fetch(&b.reader, 0, SIZE);
	uint64_t at = 0;
	for (; at + FILE_DATA_MAX <= FILE_WINDOW - FILE_DATA_MAX; at += FILE_DATA_MAX)
		assert_int_equal(feed_data(at, FILE_DATA_MAX), 0);
	assert_int_equal(b.got, FILE_DATA_MAX);
	assert_int_equal(sent(FRAME_CREDIT, NULL, 0), 0);
	b.pauses_at_data = false;
	file_reader_pause(&b.reader, false);
	assert_int_equal(b.got, at);
	assert_int_equal(sent(FRAME_CREDIT, NULL, 0), 1);
	/* A reader that is paused when the last byte has arrived gets its end later, even if the session is gone. */
	for (; at + FILE_DATA_MAX < SIZE; at += FILE_DATA_MAX)
		assert_int_equal(feed_data(at, FILE_DATA_MAX), 0);
	file_reader_pause(&b.reader, true);
	assert_int_equal(feed_data(at, FILE_DATA_MAX), 0);
	assert_int_equal(feed_end(OK), 0);
	transfers_lost(&b.d, &(struct fail){ .kind = FAIL_DIED }, /* gone= */ true);
	assert_false(b.done);
	file_reader_pause(&b.reader, false);
	assert_true(b.done && !b.fail.kind && b.got == SIZE);
}

static void a_reader_can_be_stopped_in_a_callback(void **state)
{
	start_reading();
	b.stops_at_data = true;
	assert_int_equal(feed_item(100), 0);
	file_reader_fetch(&b.reader, 0, 100);
	assert_int_equal(feed_data(0, 100), 0);
	assert_int_equal(sent(FRAME_INTERRUPT, NULL, 0), 1);
	assert_int_equal(feed_end(OK), 0); /* of the abandoned transfer */
	assert_true(!b.done && b.got == 100);
}

static void hostile_answers_to_a_read_are_rejected(void **state)
{
	for (int i = 0; i < 11; i++) {
		int r = 0;
		start_reading();
		if (i > 3) {
			assert_int_equal(feed_item(100), 0);
			if (i > 5)
				file_reader_fetch(&b.reader, 10, 20);
		}
		switch (i) {
		case 0: /* an end without a file */
			r = feed_end(OK);
			break;
		case 1: /* data before the file */
			r = feed_data(0, 5);
			break;
		case 2: /* not an item */
			r = feed(FRAME_ITEM, "x", 1);
			break;
		case 3: /* two descriptors */
			b.descriptor = memory_file(5);
			assert_int_equal(feed(FRAME_FILE, NULL, 0), 0);
			b.descriptor = memory_file(5);
			r = feed(FRAME_FILE, NULL, 0);
			break;
		case 4: /* data that was not requested */
			r = feed_data(0, 5);
			break;
		case 5: /* a second item */
			r = feed_item(100);
			break;
		case 6: /* another place */
			r = feed_data(0, 5);
			break;
		case 7: /* more than requested */
			r = feed_data(10, 21);
			break;
		case 8: /* an early end */
			r = feed_end(OK);
			break;
		case 9: /* no data */
			r = feed(FRAME_DATA, "12345678", 8);
			break;
		default:
			r = feed(FRAME_CREDIT, "1234", 4);
		}
		assert_int_equal(r, -EPROTO);
		file_reader_stop(&b.reader);
		closep(&b.descriptor);
		memset(&b.reader, 0, sizeof(b.reader));
	}
	assert_false(b.done);
}

static void more_data_than_the_window_is_rejected(void **state)
{
	start_reading();
	assert_int_equal(feed_item(SIZE), 0);
	file_reader_fetch(&b.reader, 0, SIZE);
	file_reader_pause(&b.reader, true);
	int r = 0;
	uint64_t at = 0;
	for (; r == 0 && at < SIZE; at += FILE_DATA_MAX)
		r = feed_data(at, FILE_DATA_MAX);
	assert_true(r == -EPROTO && at <= FILE_WINDOW);
}

static void silence_of_the_container_is_reported(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	start_reading();
	assert_int_equal(feed_item(100), 0);
	/* Nothing is owed while the file is only open, or while its reader is paused. */
	loop_skip(b.loop, 1000000);
	loop_drain(b.loop, 1);
	file_reader_fetch(&b.reader, 0, 100);
	file_reader_pause(&b.reader, true);
	loop_skip(b.loop, 1000000);
	loop_drain(b.loop, 1);
	assert_false(b.done);
	file_reader_pause(&b.reader, false);
	loop_skip(b.loop, 120000);
	loop_drain(b.loop, 1000);
	assert_true(b.done && cause_of(&b.fail) == CAUSE_STALLED);
	b.done = false;
	b.query.on_done = on_answer;
	assert_int_equal(file_query_start(&b.query, &b.d,
					  &(struct wire_file_request){ .type = FRAME_FILES_STAT, .path = "/tmp" }, &f),
			 0);
	loop_skip(b.loop, 600000);
	loop_drain(b.loop, 1000);
	assert_true(b.done && cause_of(&b.fail) == CAUSE_STALLED);
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

static void start_writing(void)
{
	AUTO(fail_release) struct fail f = { 0 };
	b.writer.on_drained = on_drained;
	b.writer.on_done = on_done;
	assert_int_equal(file_writer_start(&b.writer, &b.d,
					   &(struct wire_file_request){ .type = FRAME_FILES_WRITE, .path = "/tmp/x" },
					   &f),
			 0);
	b.transfer = &b.writer.transfer;
}

static uint64_t data_sent(void)
{
	uint64_t total = 0;
	for (size_t at = 0; at < b.sent.len; at += frame_size(b.sent.data + at)) {
		struct frame_header h = frame_header_read(b.sent.data + at);
		if (h.type != FRAME_DATA)
			continue;
		assert_int_equal(entry_get_number(b.sent.data + at + FRAME_HEADER_SIZE, 8), total);
		assert_true(h.length > 8 && h.length <= 8 + FILE_DATA_MAX);
		total += h.length - 8;
	}
	return total;
}

static void a_write_waits_for_credit(void **state)
{
	static const uint8_t data[FILE_WINDOW + 5];
	uint8_t credit[4];
	/* Data that is written before the session is ready waits too. */
	assert_int_equal(file_writer_write(&b.writer, data, 5), 1);
	start_writing();
	assert_int_equal(data_sent(), 0);
	loop_drain(b.loop, 1);
	assert_true(b.drained && data_sent() == 5);
	b.drained = false;
	assert_int_equal(file_writer_write(&b.writer, data, sizeof(data)), 1);
	size_t first = (size_t)data_sent();
	assert_true(first > FILE_WINDOW - FILE_DATA_MAX && b.sent.len < FILE_WINDOW + 100 && !b.drained);
	entry_put_number(credit, 4, FILE_WINDOW / 4);
	assert_int_equal(feed(FRAME_CREDIT, credit, 4), 0);
	assert_true(b.drained && data_sent() == sizeof(data) + 5);
	file_writer_end(&b.writer);
	assert_int_equal(sent(FRAME_DONE, NULL, 0), 1);
	assert_int_equal(feed_item(sizeof(data) + 5), 0);
	assert_int_equal(feed_end("{\"ending\":\"ok\",\"created\":true}"), 0);
	assert_true(b.done && !b.fail.kind && b.size == sizeof(data) + 5);
}

static void too_much_is_not_taken(void **state)
{
	AUTO(freep) void *data = xcalloc(1, FILE_WRITER_QUEUE_MAX);
	start_writing();
	assert_int_equal(file_writer_write(&b.writer, data, FILE_WRITER_QUEUE_MAX), 1);
	loop_drain(b.loop, 1);
	assert_int_equal(file_writer_write(&b.writer, data, FILE_WRITER_QUEUE_MAX), -1);
	assert_int_equal(feed_end("{\"ending\":\"error\",\"cause\":\"no_room\",\"detail\":\"full\"}"), 0);
	assert_true(b.done && cause_of(&b.fail) == CAUSE_NO_ROOM && b.fail.kind == FAIL_LIMIT);
}

static void hostile_answers_to_a_write_are_rejected(void **state)
{
	for (int i = 0; i < 5; i++) {
		int r = 0;
		start_writing();
		loop_drain(b.loop, 1);
		switch (i) {
		case 0: /* more credit than was used */
			r = feed(FRAME_CREDIT, "\0\0\0\1", 4);
			break;
		case 1: /* the file before it is complete */
			r = feed_item(5);
			break;
		case 2: /* an end without the file */
			file_writer_end(&b.writer);
			r = feed_end(OK);
			break;
		case 3:
			r = feed(FRAME_CREDIT, "1", 1);
			break;
		default:
			r = feed_data(0, 5);
		}
		assert_int_equal(r, -EPROTO);
		file_writer_stop(&b.writer);
		memset(&b.writer, 0, sizeof(b.writer));
	}
	assert_false(b.done);
}

static void a_stalled_write_is_reported(void **state)
{
	start_writing();
	loop_drain(b.loop, 1);
	loop_skip(b.loop, 1000000); /* the writer's owner may take its time */
	loop_drain(b.loop, 1);
	assert_false(b.done);
	file_writer_end(&b.writer);
	loop_skip(b.loop, 120000);
	loop_drain(b.loop, 1000);
	assert_true(b.done && cause_of(&b.fail) == CAUSE_STALLED && strstr(b.fail.message, "may be in its place"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_descriptor_is_handed_over),
		TEST(other_descriptors_are_refused),
		TEST(a_lost_descriptor_is_reported),
		TEST(data_is_read_in_order),
		TEST(a_paused_reader_gets_nothing_and_gives_no_credit),
		TEST(a_reader_can_be_stopped_in_a_callback),
		TEST(hostile_answers_to_a_read_are_rejected),
		TEST(more_data_than_the_window_is_rejected),
		TEST(silence_of_the_container_is_reported),
		TEST(a_write_waits_for_credit),
		TEST(too_much_is_not_taken),
		TEST(hostile_answers_to_a_write_are_rejected),
		TEST(a_stalled_write_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
