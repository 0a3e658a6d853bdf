/* Requests about files of a session on the fake engine: a real PID 1 answers them, and a played one answers late, wrongly
 * or not at all. */
#include "base/alloc.h"
#include "kernels/item.h"
#include "kernels/protocol.h"
#include "manager/json/codec.h"
#include "tests/unit/sessions-rig.h"

static struct fake_script script;
static char *session;
/* The last request of the played PID 1. */
static struct {
	unsigned requests, interrupts;
	uint8_t type;
	uint32_t number;
	struct engine_stream *stream;
} asked;

static struct {
	unsigned done;
	struct fail fail;
	char *json; /* of the answer */
	bool created;
} answer;

static void forget_answer(void)
{
	fail_release(&answer.fail);
	free(answer.json);
	memset(&answer, 0, sizeof(answer));
}

static void keep(json_t *json, const struct fail *f)
{
	json_auto_t *owned = json;
	answer.done++;
	assert_int_equal(!owned, !!f);
	if (f)
		fail_copy(&answer.fail, f);
	else
		answer.json = json_dumps(owned, JSON_COMPACT);
}

static void on_list(void *ctx, const struct file_page *page, const struct fail *f)
{
	keep(page ? file_page_encode(page) : NULL, f);
}

static void on_stat(void *ctx, const struct file_info *info, const struct fail *f)
{
	keep(info ? file_info_encode(info) : NULL, f);
}

static void on_delete(void *ctx, const struct fail *f)
{
	keep(f ? NULL : json_object(), f);
}

static void on_make(void *ctx, const struct file_info *info, bool created, const struct fail *f)
{
	answer.created = created;
	keep(info ? file_info_encode(info) : NULL, f);
}

static struct op *list(const char *path, const char *after, size_t limit)
{
	forget_answer();
	return manager_list_files(
		conversation, &(struct list_files_request){ session, path, after, limit, on_list, NULL }, &answer.fail);
}

static struct op *stat_path(const char *path)
{
	forget_answer();
	return manager_stat_file(conversation, &(struct stat_file_request){ session, path, on_stat, NULL },
				 &answer.fail);
}

static struct op *delete_path(const char *path, bool recursive, const char *etag)
{
	forget_answer();
	return manager_delete_file(conversation,
				   &(struct delete_file_request){ session, path, recursive, etag, on_delete, NULL },
				   &answer.fail);
}

static struct op *make_path(const char *path)
{
	forget_answer();
	return manager_make_directory(conversation, &(struct make_directory_request){ session, path, on_make, NULL },
				      &answer.fail);
}

static void wait_for(struct op *op)
{
	assert_non_null(op);
	FAKE_UNTIL(fake, answer.done);
	assert_int_equal(answer.done, 1);
}

static void assert_cause(enum fail_kind kind, enum cause cause)
{
	assert_int_equal(answer.fail.kind, kind);
	assert_string_equal(cause_name(cause_of(&answer.fail)), cause_name(cause));
}

/* --- a played PID 1 ------------------------------------------------------------------------------------------------ */

static void on_frame(void *ctx, struct engine_stream *s, const struct frame *frame)
{
	bool about_files = frame->header.type >= FRAME_FILES_LIST && frame->header.type <= FRAME_FILES_WRITE;
	if (about_files) {
		asked.requests++;
		asked.type = frame->header.type;
		asked.number = frame->header.call;
		asked.stream = s;
		fake_only(fake)->pid1->last_call = frame->header.call;
	} else if (frame->header.type == FRAME_INTERRUPT && frame->header.call == asked.number) {
		asked.interrupts++;
	} else {
		fake_pid1_script.on_frame(ctx, s, frame);
	}
}

static int setup_played(void **state)
{
	memset(&asked, 0, sizeof(asked));
	setup(state);
	script = fake_pid1_script;
	script.on_frame = on_frame;
	fake_play(fake, &script);
	session = create();
	return 0;
}

static int teardown_files(void **state)
{
	fake_is_old = false;
	free(take_ptr(session));
	teardown(state);
	forget_answer();
	return 0;
}

static void send_item(const char *name, enum item_type type, uint64_t size, const char *target)
{
	AUTO(buf_release) struct buf payload = { 0 };
	item_write(&payload, &(struct item){ .type = type,
					     .mode = 0644,
					     .mtime = 1600000000,
					     .mtime_ns = 250000000,
					     .size = size,
					     .tag = "1-2",
					     .tag_len = 3,
					     .name = name,
					     .name_len = strlen(name),
					     .target = target,
					     .target_len = strlen(target) });
	fake_send(asked.stream, FRAME_ITEM, asked.number, payload.data, payload.len);
}

static void send_end(const char *json)
{
	fake_send(asked.stream, FRAME_END, asked.number, json, strlen(json));
}

/* Waits until PID 1 has the request. */
static void expect(struct op *op, uint8_t type)
{
	unsigned before = asked.requests;
	assert_non_null(op);
	FAKE_UNTIL(fake, asked.requests > before);
	assert_int_equal(asked.type, type);
}

static void a_page_has_its_names_in_order(void **state)
{
	expect(list("/workspace/d", "a", 3), FRAME_FILES_LIST);
	send_item("", ITEM_DIRECTORY, 0, "");
	send_item("b\xff", ITEM_FILE, 0, "");
	send_item("c", ITEM_SYMLINK, 0, "../x");
	send_item("d", ITEM_OTHER, 0, "");
	send_end("{\"ending\":\"ok\",\"total\":9,\"more\":true}");
	FAKE_UNTIL(fake, answer.done);
	assert_string_equal(
		answer.json,
		"{\"type\":\"directory\",\"mode\":420,\"mtime_ms\":1600000000250,\"etag\":\"1-2\",\"entries\":["
		"{\"name\":\"b\xef\xbf\xbd\",\"name_encoded\":\"b%FF\",\"type\":\"file\",\"size\":0,\"mode\":420,"
		"\"mtime_ms\":1600000000250,\"etag\":\"1-2\"},"
		"{\"name\":\"c\",\"type\":\"symlink\",\"mode\":420,\"mtime_ms\":1600000000250,\"target\":\"../x\",\"etag\":\"1-2\"},"
		"{\"name\":\"d\",\"type\":\"other\",\"mode\":420,\"mtime_ms\":1600000000250,\"etag\":\"1-2\"}],"
		"\"total\":9,\"more\":true}");
}

static void causes_of_pid1_are_kept(void **state)
{
	static const struct {
		const char *end;
		enum fail_kind kind;
		enum cause cause;
	} cases[] = {
		{ "{\"ending\":\"error\",\"cause\":\"no_file\",\"detail\":\"not there\"}", FAIL_NOT_FOUND,
		  CAUSE_NO_FILE },
		{ "{\"ending\":\"error\",\"cause\":\"file_changed\"}", FAIL_INVALID, CAUSE_FILE_CHANGED },
		{ "{\"ending\":\"error\",\"cause\":\"no_room\"}", FAIL_LIMIT, CAUSE_NO_ROOM },
		{ "{\"ending\":\"refused\",\"cause\":\"queue_full\"}", FAIL_BUSY, CAUSE_QUEUE_FULL },
		/* PID 1 cannot claim a cause of the engine or the store. */
		{ "{\"ending\":\"error\",\"cause\":\"no_engine\"}", FAIL_INVALID, CAUSE_NONE },
		{ "[]", FAIL_INVALID, CAUSE_NONE },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		expect(delete_path("f", false, NULL), FRAME_FILES_DELETE);
		send_end(cases[i].end);
		FAKE_UNTIL(fake, answer.done);
		assert_cause(cases[i].kind, cases[i].cause);
	}
}

/* Each answer breaks the protocol, which ends the session. */
static void bad_name(void)
{
	send_item("", ITEM_DIRECTORY, 0, "");
	send_item("a/b", ITEM_FILE, 1, "");
}

static void wrong_order(void)
{
	send_item("", ITEM_DIRECTORY, 0, "");
	send_item("c", ITEM_FILE, 1, "");
	send_item("b", ITEM_FILE, 1, "");
}

static void before_the_page(void)
{
	send_item("", ITEM_DIRECTORY, 0, "");
	send_item("a", ITEM_FILE, 1, "");
}

static void too_many(void)
{
	const char *const names[] = { "", "b", "c", "d", "e" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		send_item(names[i], i ? ITEM_FILE : ITEM_DIRECTORY, 0, "");
}

static void no_directory(void)
{
	send_item("b", ITEM_FILE, 1, "");
}

static void nothing(void)
{
	send_end("{\"ending\":\"ok\"}");
}

static void not_a_list(void)
{
	fake_send(asked.stream, FRAME_DATA, asked.number, "12345678x", 9);
}

static void hostile_answers_end_the_session(void **state)
{
	void (*const answers[])(void) = { bad_name,	wrong_order, before_the_page, too_many,
					  no_directory, nothing,     not_a_list };
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		if (i) {
			free(session);
			session = create();
		}
		expect(list("/workspace", "a", 3), FRAME_FILES_LIST);
		answers[i]();
		FAKE_UNTIL(fake, answer.done);
		assert_true(answer.fail.kind);
		FAKE_UNTIL(fake, fake_count(fake) == 0);
	}
}

static void a_death_and_a_broken_stream_are_reported(void **state)
{
	expect(stat_path("f"), FRAME_FILES_STAT);
	fake_break(fake_stream(fake_only(fake)), FAIL_ENGINE, CAUSE_NONE, "a cable");
	FAKE_UNTIL(fake, answer.done);
	assert_cause(FAIL_ENGINE, CAUSE_STREAM_BROKE);
	struct op *op;
	FAKE_UNTIL(fake, (op = stat_path("f")));
	expect(op, FRAME_FILES_STAT);
	fake_die(fake_only(fake), 3, /* oom= */ false);
	FAKE_UNTIL(fake, answer.done);
	assert_true(answer.fail.kind == FAIL_DIED || cause_of(&answer.fail) == CAUSE_STREAM_BROKE);
}

static void a_cancelled_request_is_interrupted(void **state)
{
	struct op *op = delete_path("d", true, NULL);
	expect(op, FRAME_FILES_DELETE);
	op_cancel(op);
	FAKE_UNTIL(fake, asked.interrupts == 1);
	send_item("", ITEM_FILE, 1, "");
	send_end("{\"ending\":\"interrupted\"}");
	expect(stat_path("f"), FRAME_FILES_STAT);
	send_item("", ITEM_FILE, 5, "");
	send_end("{\"ending\":\"ok\"}");
	FAKE_UNTIL(fake, answer.done);
	assert_non_null(strstr(answer.json, "\"size\":5"));
}

static void bad_requests_are_refused_at_once(void **state)
{
	AUTO(freep) char *name = xcalloc(1, 9000);
	memset(name, 'x', 8999);
	assert_null(list("/etc", NULL, 10));
	assert_cause(FAIL_INVALID, CAUSE_PATH_OUTSIDE);
	assert_non_null(strstr(answer.fail.message, "/workspace, /tmp and /home/sandbox"));
	assert_null(list("/workspace", NULL, 0));
	assert_null(list("/workspace", NULL, FILES_PAGE_MAX + 1));
	assert_null(list("/workspace", name, 10));
	assert_null(delete_path("f", false, "\xff"));
	assert_null(stat_path("../../etc/passwd"));
	assert_int_equal(asked.requests, 0);
}

static void an_older_session_is_not_asked(void **state)
{
	fake_is_old = true;
	free(session);
	session = create();
	assert_null(stat_path("f"));
	assert_cause(FAIL_INVALID, CAUSE_OLD_SESSION);
	assert_int_equal(asked.requests, 0);
}

/* --- a real PID 1 -------------------------------------------------------------------------------------------------- */

static int setup_real(void **state)
{
	setup(state);
	fake_play(fake, /* script= */ NULL);
	session = create();
	return 0;
}

static void files_of_a_session_are_managed(void **state)
{
	wait_for(make_path("d/sub"));
	assert_true(answer.created);
	wait_for(make_path("d/\xff"));
	wait_for(make_path("d/sub"));
	assert_false(answer.created);
	wait_for(list("d", NULL, 1));
	assert_non_null(strstr(answer.json, "\"entries\":[{\"name\":\"sub\",\"type\":\"directory\""));
	assert_non_null(strstr(answer.json, "\"total\":2,\"more\":true"));
	wait_for(list("/workspace/d", "sub", 5));
	assert_non_null(strstr(answer.json, "\"name_encoded\":\"%FF\""));
	assert_null(strstr(answer.json, "\"more\""));
	wait_for(delete_path("d/\xff", false, NULL));
	wait_for(delete_path("d", false, NULL));
	assert_cause(FAIL_INVALID, CAUSE_NOT_EMPTY);
	wait_for(delete_path("d", true, NULL));
	assert_non_null(answer.json);
	wait_for(stat_path("d"));
	assert_cause(FAIL_NOT_FOUND, CAUSE_NO_FILE);
	wait_for(stat_path("~"));
	assert_non_null(strstr(answer.json, "\"type\":\"directory\""));
}

/* --- reading and writing one file ---------------------------------------------------------------------------------- */

static struct {
	struct op *op;
	uint64_t hash, bytes, offset, length;
	bool opened, pauses;
} stream;

/* FNV-1a, enough to notice bytes in the wrong order. */
static uint64_t hash_of(uint64_t hash, const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ data[i]) * 0x100000001b3;
	return hash;
}

static void on_open(void *ctx, const struct file_info *info, int fd)
{
	assert_int_equal(fd, -1); /* the line is not a socket */
	stream.opened = true;
	file_read(stream.op, stream.offset, stream.length);
}

static void on_data(void *ctx, const void *data, size_t n)
{
	stream.hash = hash_of(stream.hash, data, n);
	stream.bytes += n;
	if (stream.pauses)
		file_pause(stream.op, true);
}

static void on_read(void *ctx, const struct fail *f)
{
	stream.op = NULL;
	keep(f ? NULL : json_object(), f);
}

static void read_file(const char *path, uint64_t offset, uint64_t length)
{
	forget_answer();
	stream.hash = stream.bytes = 0;
	stream.opened = false;
	stream.offset = offset;
	stream.length = length;
	stream.op = manager_open_file(conversation,
				      &(struct open_file_request){ session, path, on_open, on_data, on_read, NULL },
				      &answer.fail);
	assert_non_null(stream.op);
	FAKE_UNTIL(fake, (stream.op && stream.pauses ? file_pause(stream.op, false) : (void)0, answer.done));
}

static bool drained;

static void on_drained(void *ctx)
{
	drained = true;
}

static void write_file(const char *path, const uint8_t *data, size_t n, const char *etag)
{
	forget_answer();
	struct op *op = manager_write_file(conversation,
					   &(struct write_file_request){ .session_id = session,
									 .path = path,
									 .etag = etag,
									 .on_drained = on_drained,
									 .on_done = on_make },
					   &answer.fail);
	assert_non_null(op);
	for (size_t at = 0, piece; at < n; at += piece) {
		piece = MIN(n - at, 100000u);
		drained = false;
		if (file_write(op, data + at, piece) == 1)
			FAKE_UNTIL(fake, drained || answer.done);
		if (answer.done)
			return;
	}
	file_write_end(op);
	FAKE_UNTIL(fake, answer.done);
}

static void a_file_is_written_and_read(void **state)
{
	const size_t size = (3u << 20) + 7;
	AUTO(freep) uint8_t *content = xmalloc(size);
	for (size_t i = 0; i < size; i++)
		content[i] = (uint8_t)(i * 2654435761u >> 13);
	write_file("new/data", content, size, NULL);
	assert_true(answer.created && strstr(answer.json, "\"size\":3145735"));
	for (int i = 0; i < 2; i++) {
		stream.pauses = i;
		read_file("new/data", 0, UINT64_MAX);
		assert_true(!answer.fail.kind && stream.bytes == size && stream.hash == hash_of(0, content, size));
	}
	read_file("new/data", size - 100, 50);
	assert_true(stream.bytes == 50 && stream.hash == hash_of(0, content + size - 100, 50));
	read_file("new/data", size + 5, 50);
	assert_true(!answer.fail.kind && stream.bytes == 0);
	stream.pauses = false;
	write_file("new/data", content, 0, "1-2-3");
	assert_cause(FAIL_INVALID, CAUSE_FILE_CHANGED);
	write_file("new", content, 5, NULL);
	assert_cause(FAIL_INVALID, CAUSE_IS_DIRECTORY);
	read_file("new", 0, 5);
	assert_cause(FAIL_INVALID, CAUSE_IS_DIRECTORY);
	read_file("gone", 0, 5);
	assert_cause(FAIL_NOT_FOUND, CAUSE_NO_FILE);
}

/* A write that its caller gives up leaves nothing behind. */
static void a_cancelled_write_leaves_nothing(void **state)
{
	struct op *op = manager_write_file(
		conversation,
		&(struct write_file_request){
			.session_id = session, .path = "data", .on_drained = on_drained, .on_done = on_make },
		&answer.fail);
	assert_non_null(op);
	(void)file_write(op, "abc", 3);
	wait_for(stat_path("/tmp")); /* the data has arrived */
	op_cancel(op);
	wait_for(list("/workspace", NULL, 10));
	assert_non_null(strstr(answer.json, "\"entries\":[]"));
}

#define PLAYED(name) cmocka_unit_test_setup_teardown(name, setup_played, teardown_files)
#define REAL(name) cmocka_unit_test_setup_teardown(name, setup_real, teardown_files)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAYED(a_page_has_its_names_in_order),	    PLAYED(causes_of_pid1_are_kept),
		PLAYED(hostile_answers_end_the_session),    PLAYED(a_death_and_a_broken_stream_are_reported),
		PLAYED(a_cancelled_request_is_interrupted), PLAYED(bad_requests_are_refused_at_once),
		PLAYED(an_older_session_is_not_asked),	    REAL(files_of_a_session_are_managed),
		REAL(a_file_is_written_and_read),	    REAL(a_cancelled_write_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
