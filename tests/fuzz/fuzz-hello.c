/* manager/gate/check-tls: both directions of a connection, divided by the byte 0x1e. Whatever reaches the host begins
 * with a hello that names it. */
#include "base/alloc.h"
#include "base/hello.h"
#include "manager/gate/checks.h"
#include "tests/fuzz/fuzz.h"

#define HOST "h.example"

static int pass(struct gate_filter *f, struct pieces pieces, struct buf *up)
{
	AUTO(fail_release) struct fail fail = { 0 };
	AUTO(buf_release) struct buf down = { 0 };
	const uint8_t *piece;
	size_t size;
	bool from_host = false;
	int r = 0;
	while (r == 0 && pieces_next(&pieces, &piece, &size)) {
		while (size && r == 0) {
			const uint8_t *end = memchr(piece, 0x1e, size);
			size_t n = end ? (size_t)(end - piece) : size;
			r = (from_host ? f->type->from_upstream : f->type->from_session)(f, piece, n, up, &down, &fail);
			from_host = from_host != (end != NULL);
			piece += n + (end != NULL);
			size -= n + (end != NULL);
		}
	}
	CHECK(r == 0 || fail.message);
	return r;
}

static void check_hello(const struct buf *up)
{
	AUTO(buf_release) struct buf message = { 0 };
	char name[HELLO_NAME_SIZE];
	int known = 0;
	for (size_t at = 0; known == 0;) {
		enum hello_record type;
		ssize_t size = hello_record(up->data + at, up->len - at, &type);
		CHECK(size > 0 && type == HELLO_HANDSHAKE && hello_add(&message, up->data + at, (size_t)size) == 0);
		known = hello_read(&message, name);
		at += (size_t)size;
	}
	CHECK(known == 1 && streq(name, HOST));
}

int fuzz_one(const uint8_t *data, size_t n)
{
	struct gate_filter *f = check_tls_new(HOST);
	struct buf up = { 0 };
	(void)pass(f, pieces_of(data, n), &up);
	if (up.len)
		check_hello(&up);
	buf_release(&up);
	f->type->free(f);
	return 0;
}
