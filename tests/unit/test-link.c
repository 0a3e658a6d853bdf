/* kernels/cells/link: which messages of a kernel are well formed, and a link over a real socket. */
#include <errno.h>
#include <sys/socket.h>

#include "kernels/cells/link.h"
#include "tests/unit/unit.h"

static const char *why_not(const char *text)
{
	struct link_message m;
	const char *why = NULL;
	int r = link_parse(text, strlen(text), &m, &why);
	if (r == -E2BIG)
		return "too much";
	if (r < 0)
		return why;
	why = m.unusable ? "unusable" : NULL;
	link_message_release(&m);
	return why;
}

static void good_messages(void **state)
{
	static const char *const good[] = {
		"{\"op\":\"hello\",\"token\":\"t\",\"version\":1,\"language_version\":\"3\"}",
		"{\"op\":\"display\",\"id\":1,\"data\":{\"text/plain\":\"x\",\"application/json\":[1,{\"a\":null}]}}",
		"{\"op\":\"display\",\"id\":1,\"data\":{},\"display_id\":\"d\",\"update\":true}",
		"{\"op\":\"result\",\"id\":1,\"data\":{\"application/vnd.plotly.v1+json\":{\"data\":[]}}}",
		"{\"op\":\"error\",\"id\":1,\"type\":\"E\",\"message\":\"m\",\"traceback\":\"t\"}",
		"{\"op\":\"error\",\"id\":1,\"type\":\"E\"}",
		"{\"op\":\"done\",\"id\":4294967295,\"future\":1}",
	};
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_null(why_not(good[i]));
}

static void bad_messages(void **state)
{
	static const char *const bad[] = {
		"",
		"x",
		"[]",
		"1",
		"{}",
		"{\"op\":1}",
		"{\"op\":\"sing\"}",
		"{\"op\":\"done\"",
		"{\"op\":\"done\",}",
		"{\"op\":\"done\",\"op\":\"done\"}",
		"{\"op\":\"done\",\"x\":\"\xff\"}",
		"{\"op\":\"done\",\"x\":\"\\u0000\"}",
		"{\"op\":\"done\",\"x\":\"\\ud800\"}",
		"{\"op\":\"done\",\"x\":99999999999999999999}",
		"{\"op\":\"hello\",\"token\":\"t\",\"version\":1}",
		"{\"op\":\"hello\",\"token\":1,\"language_version\":\"\"}",
		"{\"op\":\"display\",\"id\":1}",
		"{\"op\":\"display\",\"id\":1,\"data\":[]}",
		"{\"op\":\"display\",\"id\":1,\"data\":{\"text/plain\":1}}",
		"{\"op\":\"display\",\"id\":1,\"data\":{\"text\":\"x\"}}",
		"{\"op\":\"display\",\"id\":1,\"data\":{\"a/b\\nc\":\"x\"}}",
		"{\"op\":\"display\",\"id\":1,\"data\":{},\"update\":1}",
		"{\"op\":\"display\",\"id\":1,\"data\":{},\"display_id\":1}",
		"{\"op\":\"error\",\"id\":1}",
		"{\"op\":\"error\",\"id\":1,\"type\":\"E\",\"traceback\":[]}",
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_non_null(why_not(bad[i]));
}

static void shape_is_bounded_before_parsing(void **state)
{
	AUTO(buf_release) struct buf deep = { 0 };
	AUTO(buf_release) struct buf wide = { 0 };
	AUTO(buf_release) struct buf quoted = { 0 };
	for (int i = 0; i < 5000; i++)
		buf_add_str(&deep, "[");
	assert_string_equal(why_not(buf_str(&deep)), "too much");
	buf_add_str(&wide, "{\"op\":\"done\",\"x\":[");
	for (int i = 0; i < LINK_CONTAINERS_MAX; i++)
		buf_add_str(&wide, "[],");
	buf_add_str(&wide, "0]}");
	assert_string_equal(why_not(buf_str(&wide)), "too much");
	buf_add_str(&quoted, "{\"op\":\"done\",\"id\":1,\"x\":\"");
	for (int i = 0; i < 5000; i++)
		buf_add_str(&quoted, "[\\\"{");
	buf_add_str(&quoted, "\"}");
	assert_null(why_not(buf_str(&quoted)));
}

struct ear {
	struct link link;
	unsigned messages;
	json_int_t ids;
	bool close_on_message;
	unsigned dropped;
	unsigned gone;
	bool broken;
};

static void hear(struct link *l, const struct link_message *m)
{
	struct ear *e = container_of(l, struct ear, link);
	e->messages++;
	e->ids += m->id;
	assert_int_equal(m->raw[0], '{');
	if (e->close_on_message)
		link_close(l);
}

static void hear_drop(struct link *l)
{
	container_of(l, struct ear, link)->dropped++;
}

static void hear_end(struct link *l, bool broken, const char *why)
{
	struct ear *e = container_of(l, struct ear, link);
	e->gone++;
	e->broken = broken;
	assert_non_null(why);
}

static int start(struct ear *e, struct poller *p)
{
	int fds[2];
	poller_init(p);
	*e = (struct ear){ .link = { .on_message = hear, .on_dropped = hear_drop, .on_gone = hear_end } };
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	link_open(&e->link, p, fds[0]);
	return fds[1];
}

static void say(int fd, const char *text)
{
	uint8_t header[4] = { 0, 0, (uint8_t)(strlen(text) >> 8), (uint8_t)strlen(text) };
	assert_int_equal(write(fd, header, 4), 4);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void messages_come_one_by_one(void **state)
{
	struct ear e;
	struct poller p;
	AUTO(closep) int fd = start(&e, &p);
	say(fd, "{\"op\":\"done\",\"id\":1}");
	say(fd, "{\"op\":\"done\",\"id\":20}");
	assert_int_equal(write(fd, "\0\0", 2), 2);
	poller_turn(&p, 1000);
	assert_int_equal(e.messages, 2);
	assert_int_equal(e.ids, 21);
	assert_int_equal(write(fd, "\0\x15{\"op\":\"done\",\"id\":300}", 24), 24);
	poller_turn(&p, 1000);
	assert_int_equal(e.gone, 1); /* a length of 0x15 ends inside the object */
	assert_true(e.broken);
}

static void an_oversized_message_is_dropped_and_the_next_is_read(void **state)
{
	struct ear e;
	struct poller p;
	AUTO(closep) int fd = start(&e, &p);
	char deep[LINK_DEPTH_MAX + 2] = { 0 };
	memset(deep, '[', sizeof(deep) - 1);
	say(fd, deep);
	say(fd, "{\"op\":\"done\",\"id\":7}");
	poller_turn(&p, 1000);
	assert_int_equal(e.dropped, 1);
	assert_int_equal(e.ids, 7);
	link_close(&e.link);
}

static void a_link_may_be_closed_by_its_listener(void **state)
{
	struct ear e;
	struct poller p;
	AUTO(closep) int fd = start(&e, &p);
	e.close_on_message = true;
	say(fd, "{\"op\":\"done\",\"id\":1}");
	say(fd, "{\"op\":\"done\",\"id\":2}");
	link_drain(&e.link);
	assert_int_equal(e.messages, 1);
	assert_int_equal(e.gone, 0);
	json_auto_t *o = json_object();
	assert_int_equal(link_send(&e.link, o), -EPIPE);
}

static void a_forbidden_length_breaks_the_link(void **state)
{
	static const char *const headers[] = { "\0\0\0\0", "\x00\xc0\x00\x01", "\xff\xff\xff\xff" };
	for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
		struct ear e;
		struct poller p;
		AUTO(closep) int fd = start(&e, &p);
		assert_int_equal(write(fd, headers[i], 4), 4);
		poller_turn(&p, 1000);
		assert_int_equal(e.gone, 1);
		assert_true(e.broken);
		assert_int_equal(e.link.fd, -1);
	}
}

static void an_end_is_not_a_protocol_error(void **state)
{
	struct ear e;
	struct poller p;
	int fd = start(&e, &p);
	close(fd);
	poller_turn(&p, 1000);
	assert_int_equal(e.gone, 1);
	assert_false(e.broken);
}

static void a_large_message_is_sent_in_pieces(void **state)
{
	struct ear e;
	struct poller p;
	AUTO(closep) int fd = start(&e, &p);
	AUTO(buf_release) struct buf code = { 0 };
	AUTO(buf_release) struct buf got = { 0 };
	for (int i = 0; i < 100000; i++)
		buf_add_str(&code, "0123456789\n");
	json_auto_t *o = json_pack("{s:s%}", "code", buf_str(&code), code.len);
	assert_int_equal(link_send(&e.link, o), 0);
	while (e.link.out.len) {
		uint8_t *at = buf_reserve(&got, 65536);
		ssize_t n = recv(fd, at, 65536, MSG_DONTWAIT);
		if (n > 0)
			got.len += (size_t)n;
		poller_turn(&p, 10);
	}
	for (ssize_t n; (n = recv(fd, buf_reserve(&got, 65536), 65536, MSG_DONTWAIT)) > 0;)
		got.len += (size_t)n;
	json_auto_t *back = json_loadb((char *)got.data + 4, got.len - 4, 0, NULL);
	assert_true(json_equal(back, o));
	link_close(&e.link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_messages),
		cmocka_unit_test(bad_messages),
		cmocka_unit_test(shape_is_bounded_before_parsing),
		cmocka_unit_test(messages_come_one_by_one),
		cmocka_unit_test(an_oversized_message_is_dropped_and_the_next_is_read),
		cmocka_unit_test(a_link_may_be_closed_by_its_listener),
		cmocka_unit_test(a_forbidden_length_breaks_the_link),
		cmocka_unit_test(an_end_is_not_a_protocol_error),
		cmocka_unit_test(a_large_message_is_sent_in_pieces),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
