#include "attach/wire.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/json.h"

/* Messages being received at the same time: one for each request, and the hello. */
#define PIECES_MAX (ATTACH_CALLS_MAX + 1)

/* An incomplete message. */
struct pieces {
	struct list node;
	uint32_t call;
	struct buf text;
};

void attach_message_release(struct attach_message *m)
{
	json_decref(m->json);
	*m = (struct attach_message){ 0 };
}

static size_t message_max(enum attach_side from)
{
	return from == ATTACH_CLIENT ? ATTACH_REQUEST_MAX : ATTACH_ANSWER_MAX;
}

/* --- in ------------------------------------------------------------------------------------------------------------ */

void attach_reader_init(struct attach_reader *r, enum attach_side from)
{
	*r = (struct attach_reader){ .from = from };
	list_init(&r->pieces);
}

static void drop(struct attach_reader *r, struct pieces *p)
{
	r->held -= p->text.len;
	list_remove(&p->node);
	buf_release(&p->text);
	free(p);
}

void attach_reader_release(struct attach_reader *r)
{
	frame_reader_release(&r->frames);
	list_for_each(p, &r->pieces, struct pieces, node)
		drop(r, p);
}

void attach_reader_feed(struct attach_reader *r, const void *data, size_t n)
{
	frame_reader_feed(&r->frames, data, n);
}

static int64_t max_from_client(uint8_t type)
{
	switch (type) {
	case ATTACH_HELLO:
	case ATTACH_CALL:
	case ATTACH_MORE:
	case ATTACH_NOTE:
	case ATTACH_BYTES:
		return ATTACH_PIECE_MAX;
	case ATTACH_CANCEL:
	case ATTACH_INTERRUPT:
		return 0;
	default:
		return -1;
	}
}

static int64_t max_from_server(uint8_t type)
{
	switch (type) {
	case ATTACH_HELLO:
	case ATTACH_MORE:
	case ATTACH_NOTE:
	case ATTACH_BYTES:
	case ATTACH_ERR_BYTES:
	case ATTACH_ANSWER:
		return ATTACH_PIECE_MAX;
	default:
		return -1;
	}
}

static struct pieces *find(struct attach_reader *r, uint32_t call)
{
	list_for_each(p, &r->pieces, struct pieces, node)
		if (p->call == call)
			return p;
	return NULL;
}

static int hold(struct attach_reader *r, const struct frame *frame, const char **ret_why)
{
	struct pieces *p = find(r, frame->header.call);
	if (!p && list_length(&r->pieces) >= PIECES_MAX) {
		*ret_why = "it has too many incomplete messages";
		return -1;
	}
	if (r->held + frame->header.length > message_max(r->from)) {
		*ret_why = "a message is too long";
		return -1;
	}
	if (!p) {
		p = new0(struct pieces);
		p->call = frame->header.call;
		list_append(&r->pieces, &p->node);
	}
	buf_add(&p->text, frame->payload, frame->header.length);
	r->held += frame->header.length;
	return 0;
}

static json_t *parse(struct attach_reader *r, const struct frame *frame)
{
	struct pieces *p = find(r, frame->header.call);
	json_t *json;
	if (p) {
		buf_add(&p->text, frame->payload, frame->header.length);
		r->held += frame->header.length;
		json = json_loadb((const char *)p->text.data, p->text.len, JSON_REJECT_DUPLICATES, NULL);
		drop(r, p);
	} else {
		json = json_loadb((const char *)frame->payload, frame->header.length, JSON_REJECT_DUPLICATES, NULL);
	}
	if (json_is_object(json))
		return json;
	json_decref(json);
	return NULL;
}

/* 1 if the frame completes a message, 0 if it is a piece of one, -1 with *ret_why. */
static int take(struct attach_reader *r, const struct frame *frame, struct attach_message *ret, const char **ret_why)
{
	enum attach_frame type = frame->header.type;
	struct attach_message m = { .type = type, .call = frame->header.call };
	bool is_hello = type == ATTACH_HELLO || (type == ATTACH_MORE && !frame->header.call);
	if (is_hello == r->begun || (type == ATTACH_HELLO && frame->header.call) ||
	    (!is_hello && !frame->header.call)) {
		*ret_why = is_hello ? "a second hello" : "the first message is not a hello";
		return -1;
	}
	switch (type) {
	case ATTACH_MORE:
		return hold(r, frame, ret_why);
	case ATTACH_BYTES:
	case ATTACH_ERR_BYTES:
		m.bytes = frame->payload;
		m.n = frame->header.length;
		break;
	case ATTACH_CANCEL:
		/* Drops a message that will not be completed. */
		if (find(r, m.call))
			drop(r, find(r, m.call));
		break;
	case ATTACH_INTERRUPT:
		break;
	case ATTACH_HELLO:
	case ATTACH_CALL:
	case ATTACH_NOTE:
	case ATTACH_ANSWER:
		m.json = parse(r, frame);
		if (!m.json) {
			*ret_why = "a message is not a JSON object";
			return -1;
		}
		break;
	}
	r->begun = true;
	*ret = m;
	return 1;
}

int attach_reader_next(struct attach_reader *r, struct attach_message *ret, const char **ret_why)
{
	for (;;) {
		struct frame frame;
		int n = frame_reader_next(&r->frames, r->from == ATTACH_CLIENT ? max_from_client : max_from_server,
					  &frame);
		if (n == 0)
			return 0;
		if (n < 0) {
			*ret_why = n == -EMSGSIZE ? "a frame is too long" : "a frame has an unknown type";
			return -1;
		}
		n = take(r, &frame, ret, ret_why);
		if (n)
			return n;
	}
}

/* --- out ----------------------------------------------------------------------------------------------------------- */

int attach_put(struct buf *out, enum attach_side from, enum attach_frame type, uint32_t call, const json_t *json)
{
	AUTO(buf_release) struct buf text = { 0 };
	size_t at = 0;
	json_print(&text, json);
	if (text.len > message_max(from))
		return -1;
	for (; text.len - at > ATTACH_PIECE_MAX; at += ATTACH_PIECE_MAX)
		frame_append(out, ATTACH_MORE, call, text.data + at, ATTACH_PIECE_MAX);
	frame_append(out, type, call, text.data + at, text.len - at);
	return 0;
}

void attach_put_bytes(struct buf *out, enum attach_frame type, uint32_t call, const void *data, size_t n)
{
	const uint8_t *at = data;
	do {
		size_t piece = MIN(n, (size_t)ATTACH_PIECE_MAX);
		frame_append(out, type, call, at, piece);
		at += piece;
		n -= piece;
	} while (n);
}
