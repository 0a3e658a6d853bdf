/* manager/files/download and the descriptors of a line: an export whose file PID 1 passes as a descriptor, and
 * descriptors that come at the wrong time or are not of a file. */
#include "manager/files/download.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/work.h"
#include "manager/files/source.h"
#include "manager/files/vault.h"
#include "manager/line/line.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#define SIZE (3u << 20)

static struct config config = { .max_stdout_chars = 1000, .max_stderr_chars = 1000 };
static char *folder;

static struct bench {
	struct loop *loop;
	struct dispatch d;
	struct transfer transfer;
	struct download *download;
	bool done;
	struct sink_result kept;
	struct fail fail;
	struct strv notices;
	uint64_t progress;
	bool stops_at_progress;
	int descriptor; /* of the next frame */
} b;

static void drop_frames(struct dispatch *d, const struct buf *frames)
{
}

static void on_progress(void *ctx, uint64_t bytes)
{
	b.progress = bytes;
	if (b.stops_at_progress)
		loop_stop(b.loop, 0);
}

static void on_done(void *ctx, const struct sink_result *result, const struct strv *notices, const struct fail *f)
{
	b.done = true;
	b.download = NULL;
	if (result)
		b.kept = *result;
	if (f)
		fail_copy(&b.fail, f);
	for (size_t i = 0; i < notices->n; i++)
		strv_add(&b.notices, notices->v[i]);
	loop_stop(b.loop, 0);
}

static int set_up(void **state)
{
	char name[] = "/tmp/husk-download-XXXXXX";
	AUTO(fail_release) struct fail f = { 0 };
	folder = xstrdup(mkdtemp(name));
	b = (struct bench){ .loop = loop_new(), .descriptor = -1 };
	dispatch_init(&b.d, b.loop, &config, drop_frames);
	b.d.open = true;
	transfer_join(&b.transfer, &b.d);
	struct download_spec spec = { .loop = b.loop,
				      .transfer = &b.transfer,
				      .sink = sink_new(folder, "x", &(struct sink_limits){ 8 * SIZE, 8 * SIZE }),
				      .path = "/workspace/x",
				      .on_progress = on_progress,
				      .on_done = on_done };
	b.download = download_start(&spec, &f);
	assert_non_null(b.download);
	return 0;
}

static int tear_down(void **state)
{
	if (b.download)
		download_cancel(b.download);
	transfer_leave(&b.transfer);
	closep(&b.descriptor);
	loop_drain(b.loop, 10000);
	assert_false(work_is_running());
	/* An export that was not kept leaves no files. */
	AUTO(freep) char *incoming = xasprintf("%s/exports/incoming", folder);
	assert_true(rmdir(incoming) == 0 || errno == ENOENT);
	transfers_lost(&b.d, &(struct fail){ .kind = FAIL_DIED }, /* gone= */ true);
	dispatch_release(&b.d);
	loop_free(b.loop);
	fail_release(&b.fail);
	strv_release(&b.notices);
	(void)scratch_remove(folder);
	free(take_ptr(folder));
	return 0;
}

static int feed(enum frame_type type, const void *payload, size_t n)
{
	int r;
	struct wire_frame frame = {
		.type = (uint8_t)type, .call = b.transfer.last, .payload = payload, .n = n, .descriptor = &b.descriptor
	};
	assert_true(transfers_frame(&b.d, &frame, &r));
	return r;
}

static void feed_entry(uint64_t size)
{
	AUTO(buf_release) struct buf entry = { 0 };
	source_put_entry(&entry, 1,
			 &(struct entry){ .type = ENTRY_FILE, .mode = 0644, .size = size, .path = "", .target = "" });
	assert_int_equal(feed(FRAME_ENTRY, entry.data + FRAME_HEADER_SIZE, entry.len - FRAME_HEADER_SIZE), 0);
}

static int feed_end(void)
{
	static const char end[] = "{\"ending\":\"ok\"}";
	return feed(FRAME_END, end, strlen(end));
}

static int large_file(void)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	assert_true(fd >= 0 && ftruncate(fd, SIZE) == 0 && pwrite(fd, "content", 7, SIZE - 7) == 7);
	return fd;
}

static void a_file_is_passed_on(void **state)
{
	feed_entry(SIZE);
	b.descriptor = large_file();
	assert_int_equal(feed(FRAME_FILE, "", 0), 0);
	assert_int_equal(b.descriptor, -1);
	assert_int_equal(feed_end(), 0);
	loop_run(b.loop);
	assert_true(b.done);
	assert_false(b.fail.kind);
	assert_int_equal(b.kept.stored, SIZE);
	assert_int_equal(b.progress, SIZE);
	assert_int_equal(b.notices.n, 0);
	char content[8] = { 0 };
	AUTO(freep) char *path = vault_path(folder, b.kept.hash, "x");
	FILE *kept = fopen(path, "re");
	assert_non_null(kept);
	assert_int_equal(fseek(kept, SIZE - 7, SEEK_SET), 0);
	assert_int_equal(fread(content, 1, sizeof(content), kept), 7);
	assert_string_equal(content, "content");
	(void)fclose(kept);
}

static void a_file_that_shrank_is_reported(void **state)
{
	feed_entry(SIZE + 1);
	b.descriptor = large_file();
	assert_int_equal(feed(FRAME_FILE, "", 0), 0);
	assert_int_equal(feed_end(), 0);
	loop_run(b.loop);
	assert_int_equal(b.kept.stored, SIZE + 1);
	assert_int_equal(b.notices.n, 1);
}

/* The system drops descriptors beyond the process's limit. The session is kept. */
static void a_frame_without_its_descriptor_fails_the_export(void **state)
{
	feed_entry(SIZE);
	assert_int_equal(feed(FRAME_FILE, "", 0), 0);
	assert_true(b.done);
	assert_int_equal(b.fail.kind, FAIL_BUSY);
}

static void a_second_file_breaks_the_protocol(void **state)
{
	feed_entry(SIZE);
	b.descriptor = large_file();
	assert_int_equal(feed(FRAME_FILE, "", 0), 0);
	b.descriptor = large_file();
	assert_int_equal(feed(FRAME_FILE, "", 0), -EPROTO);
}

static void a_descriptor_of_no_regular_file_fails_the_export(void **state)
{
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	feed_entry(SIZE);
	b.descriptor = ends[0];
	assert_int_equal(feed(FRAME_FILE, "", 0), 0);
	loop_run(b.loop);
	assert_true(b.done);
	assert_int_equal(b.fail.kind, FAIL_INTERNAL);
	/* A worker closed it. */
	loop_skip(b.loop, 0);
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(write(ends[1], "x", 1), -1);
	close(ends[1]);
}

static void a_cancelled_export_leaves_nothing(void **state)
{
	feed_entry(7 * SIZE);
	b.descriptor = large_file();
	b.stops_at_progress = true;
	assert_int_equal(feed(FRAME_FILE, "", 0), 0);
	loop_run(b.loop);
	assert_false(b.done);
	download_cancel(take_ptr(b.download));
}

static void lose_session(void)
{
	transfers_lost(&b.d, &(struct fail){ .kind = FAIL_DIED, .message = (char *)"gone" }, /* gone= */ true);
}

static void a_session_that_ends_ends_its_export(void **state)
{
	feed_entry(7 * SIZE);
	b.descriptor = large_file();
	b.stops_at_progress = true;
	assert_int_equal(feed(FRAME_FILE, "", 0), 0);
	loop_run(b.loop);
	lose_session();
	assert_true(b.done);
	assert_int_equal(b.fail.kind, FAIL_DIED);
}

static void a_complete_file_is_kept_when_the_session_dies(void **state)
{
	feed_entry(SIZE);
	b.descriptor = large_file();
	assert_int_equal(feed(FRAME_FILE, "", 0), 0);
	assert_int_equal(feed_end(), 0);
	lose_session();
	loop_run(b.loop);
	assert_false(b.fail.kind);
	assert_int_equal(b.kept.stored, SIZE);
}

/* ---- the line */

struct fake {
	struct transport transport;
	struct transport_handler handler;
	unsigned broken;
};

static struct fake *fake_of(struct transport *t)
{
	return container_of(t, struct fake, transport);
}

static const char *fake_name(const struct transport *t UNUSED)
{
	return "fake";
}

static int fake_open(struct transport *t, const struct transport_handler *handler, struct fail *f UNUSED)
{
	fake_of(t)->handler = *handler;
	loop_stop(b.loop, 0);
	return 0;
}

static void fake_write(struct transport *t UNUSED, const void *data UNUSED, size_t n UNUSED)
{
}

static void fake_close(struct transport *t UNUSED)
{
}

static struct transport *fake_free(struct transport *t UNUSED)
{
	return NULL;
}

static void on_hello(void *ctx, const struct wire_hello *hello)
{
}

static void on_event(void *ctx, const struct wire_event *event)
{
}

static void on_broken(void *ctx, const struct fail *f)
{
	struct fake *fake = ctx;
	fake->broken++;
	assert_int_equal(f->cause, CAUSE_PROTOCOL);
}

static void say(struct fake *fake, enum frame_type type, const char *payload)
{
	AUTO(buf_release) struct buf frame = { 0 };
	wire_put(&frame, type, 0, payload, strlen(payload));
	fake->handler.on_bytes(fake->handler.ctx, frame.data, frame.len);
}

static void fake_pause(struct transport *t, bool paused)
{
}

static struct line *open_line(struct fake *fake)
{
	static const struct transport_ops ops = { .name = fake_name,
						  .open = fake_open,
						  .write = fake_write,
						  .pause = fake_pause,
						  .close = fake_close,
						  .free = fake_free };
	*fake = (struct fake){ .transport.ops = &ops };
	struct line *l = line_new(&(struct line_spec){
		.loop = b.loop,
		.config = &config,
		.transport = &fake->transport,
		.epoch = 1,
		.lease_ms = 60000,
		.handler = { .on_hello = on_hello, .on_event = on_event, .on_broken = on_broken, .ctx = fake } });
	line_open(l);
	loop_run(b.loop);
	say(fake, FRAME_HELLO,
	    "{\"version\":3,\"runtime\":\"python\",\"language_version\":\"\",\"kernel\":\"ready\",\"last_call\":0,\"lease_seconds\":60}");
	return l;
}

/* Whether the sent writing end was closed: once no process holds it, the reading end is at EOF. */
static bool is_closed(int reader)
{
	char byte;
	loop_skip(b.loop, 0); /* a worker closes it */
	return read(reader, &byte, 1) == 0;
}

static int give(struct fake *fake)
{
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	fake->handler.on_descriptor(fake->handler.ctx, ends[1]);
	return ends[0];
}

/* evidence: descriptors */
static void an_unexpected_descriptor_is_closed(void **state)
{
	struct fake fake;
	struct line *l = open_line(&fake);
	AUTO(closep) int reader = give(&fake);
	assert_false(is_closed(reader));
	say(&fake, FRAME_FILE, ""); /* of an unknown request */
	assert_true(is_closed(reader));
	assert_int_equal(fake.broken, 0);
	AUTO(closep) int last = give(&fake);
	line_free(l);
	assert_true(is_closed(last));
}

/* evidence: descriptors */
/* The end of a frame may come together with the next descriptor. More than that breaks the protocol. */
static void three_descriptors_break_the_protocol(void **state)
{
	struct fake fake;
	struct line *l = open_line(&fake);
	AUTO(closep) int first = give(&fake);
	AUTO(closep) int second = give(&fake);
	assert_int_equal(fake.broken, 0);
	say(&fake, FRAME_FILE, "");
	assert_true(is_closed(first));
	assert_false(is_closed(second));
	AUTO(closep) int third = give(&fake);
	assert_int_equal(fake.broken, 0);
	AUTO(closep) int fourth = give(&fake);
	assert_int_equal(fake.broken, 1);
	assert_true(is_closed(second) && is_closed(third) && is_closed(fourth));
	line_free(l);
}

#define ON_BENCH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BENCH(a_file_is_passed_on),
		ON_BENCH(a_file_that_shrank_is_reported),
		ON_BENCH(a_frame_without_its_descriptor_fails_the_export),
		ON_BENCH(a_second_file_breaks_the_protocol),
		ON_BENCH(a_descriptor_of_no_regular_file_fails_the_export),
		ON_BENCH(a_cancelled_export_leaves_nothing),
		ON_BENCH(a_session_that_ends_ends_its_export),
		ON_BENCH(a_complete_file_is_kept_when_the_session_dies),
		ON_BENCH(an_unexpected_descriptor_is_closed),
		ON_BENCH(three_descriptors_break_the_protocol),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
