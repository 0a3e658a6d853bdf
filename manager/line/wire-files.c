/* Frames of file transfers, and of requests about files in place. */
#include <jansson.h>

#include "base/alloc.h"
#include "kernels/item.h"
#include "manager/line/wire-private.h"

#define NOTICES_MAX 20

int wire_put_files(struct buf *out, uint32_t call, const struct wire_files *files)
{
	json_auto_t *payload = files->export ?
				       json_pack("{s:s, s:i, s:b, s:b}", "path", files->path, "window",
						 (int)FILE_WINDOW_MAX, "whole", 1, "links", 1) :
				       json_pack("{s:s, s:I, s:I}", "destination", files->path, "bytes",
						 (json_int_t)files->bytes, "entries", (json_int_t)files->entries);
	if (files->into && json_object_set_new(payload, "into", json_string(files->into)) < 0)
		return -1;
	return wire_put_json(out, files->export ? FRAME_EXPORT : FRAME_IMPORT, call, payload);
}

/* Appends a text if it is not NULL. False if it is not valid UTF-8. */
static bool put_text(json_t *to, const char *name, const char *text)
{
	return !text || json_object_set_new(to, name, json_string(text)) == 0;
}

int wire_put_file_request(struct buf *out, uint32_t call, const struct wire_file_request *req)
{
	AUTO(buf_release) struct buf payload = { .max = FILE_REQUEST_BYTES_MAX };
	json_auto_t *options = json_object();
	const char *after = req->after ? req->after : "";
	uint8_t lengths[4];
	if (req->limit)
		json_object_set_new(options, "limit", json_integer((json_int_t)req->limit));
	if (req->recursive)
		json_object_set_new(options, "recursive", json_true());
	if (req->whole)
		json_object_set_new(options, "whole", json_true());
	if (req->absent)
		json_object_set_new(options, "absent", json_true());
	if (req->bytes)
		json_object_set_new(options, "bytes", json_integer((json_int_t)MIN(req->bytes, (uint64_t)INT64_MAX)));
	if (!put_text(options, "tag", req->tag) || strlen(req->path) > UINT16_MAX || strlen(after) > UINT16_MAX)
		return -1;
	AUTO(freep) char *text = json_dumps(options, JSON_COMPACT);
	entry_put_number(lengths, 2, strlen(req->path));
	entry_put_number(lengths + 2, 2, strlen(after));
	if (buf_add(&payload, lengths, sizeof(lengths)) < 0 || buf_add_str(&payload, req->path) < 0 ||
	    buf_add_str(&payload, after) < 0 || buf_add_str(&payload, text) < 0)
		return -1;
	wire_put(out, req->type, call, payload.data, payload.len);
	return 0;
}

static enum fail_kind kind_of(enum cause cause)
{
	switch (cause) {
	case CAUSE_NO_FILE:
		return FAIL_NOT_FOUND;
	case CAUSE_NO_ROOM:
	case CAUSE_FILE_LIMIT:
		return FAIL_LIMIT;
	case CAUSE_QUEUE_FULL:
		return FAIL_BUSY;
	default:
		return FAIL_INVALID;
	}
}

/* 0 if the call succeeded. Only causes that concern files are taken from PID 1. */
static int read_ending(const json_t *end, struct fail *f)
{
	const char *ending = json_string_value(json_object_get(end, "ending")),
		   *word = json_string_value(json_object_get(end, "cause"));
	enum cause cause = word ? cause_find(word) : CAUSE_NONE;
	if (ending && streq(ending, "ok"))
		return 0;
	if ((cause < CAUSE_NO_FILE || cause > CAUSE_FILE_LIMIT) && cause != CAUSE_QUEUE_FULL)
		cause = CAUSE_NONE;
	bool refused = ending && streq(ending, "refused");
	AUTO(freep) char *detail = wire_sentence(json_object_get(end, "detail"));
	return cause_set(f, refused ? FAIL_BUSY : kind_of(cause), cause, "%s",
			 detail ? detail : "the container did not report how the copy ended");
}

int wire_read_files_end(const struct wire_frame *frame, struct strv *notices, bool *ret_below, struct fail *f)
{
	json_auto_t *end = wire_json(frame);
	const json_t *list = json_object_get(end, "notices");
	json_int_t dropped = json_integer_value(json_object_get(end, "notices_dropped"));
	if (ret_below)
		*ret_below = json_is_true(json_object_get(end, "below"));
	for (size_t i = 0; i < MIN(json_array_size(list), (size_t)NOTICES_MAX); i++) {
		AUTO(freep) char *text = wire_sentence(json_array_get(list, i));
		if (text)
			strv_add(notices, text);
	}
	if (dropped > 0)
		strv_addf(notices, "and %lld more like these", (long long)dropped);
	return read_ending(end, f);
}

int wire_read_request_end(const struct wire_frame *frame, struct wire_request_end *ret, struct fail *f)
{
	json_auto_t *end = wire_json(frame);
	json_int_t total = json_integer_value(json_object_get(end, "total"));
	*ret = (struct wire_request_end){ .total = (uint64_t)MAX(total, 0),
					  .more = json_is_true(json_object_get(end, "more")),
					  .created = json_is_true(json_object_get(end, "created")) };
	return read_ending(end, f);
}
