/* Protocol between the server and husk-emulator: frames (base/frames.h) over its standard input and output. Each
 * FEED is answered by one TEXT and one STATE. */
#ifndef HUSK_MANAGER_LINE_EMULATOR_PROTOCOL_H
#define HUSK_MANAGER_LINE_EMULATOR_PROTOCOL_H

#include "base/frames.h"

enum emulator_frame {
	EMULATOR_FEED = 1, /* output of the command; the call number is the count of bytes dropped before it */
	EMULATOR_TEXT,	   /* the new text */
	EMULATOR_STATE,	   /* the line where a user would type; the call number is one of the states below */
};

enum emulator_state { EMULATOR_CURSOR_KEYS, EMULATOR_APPLICATION_KEYS };

#define EMULATOR_FEED_MAX (4u << 20)
#define EMULATOR_TEXT_MAX (2u << 20)
#define EMULATOR_PROMPT_MAX 16384

/* Limits for frame_reader_next(), on each side. */
static inline int64_t emulator_feed_max(uint8_t type)
{
	return type == EMULATOR_FEED ? (int64_t)EMULATOR_FEED_MAX : -1;
}

static inline int64_t emulator_answer_max(uint8_t type)
{
	return type == EMULATOR_TEXT ? (int64_t)EMULATOR_TEXT_MAX : type == EMULATOR_STATE ? EMULATOR_PROMPT_MAX : -1;
}

/* The answer to one feed, as the server reads it. It is untrusted, since the command's output may have corrupted
 * the emulator. */
struct emulator_answer {
	struct frame_reader reader;
	char *begun;		 /* text of the TEXT frame, not cleaned; NULL = not received */
	struct buf text, prompt; /* cleaned */
	bool application_keys;
};
/* 1 if the answer is complete, 0 if more bytes are needed, -EPROTO if the bytes are not exactly one answer. */
int emulator_answer_feed(struct emulator_answer *a, const void *data, size_t n);
void emulator_answer_release(struct emulator_answer *a);

#endif
