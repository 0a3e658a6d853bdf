/* Where a line reports everything that its runs do, no matter who waits for them. The line knows only these functions,
 * not what records are. None of them may start, end or join a run. */
#ifndef HUSK_MANAGER_LINE_RECORDER_H
#define HUSK_MANAGER_LINE_RECORDER_H

#include "manager/model/result.h"

struct fail;
struct record;

struct recorded_run {
	uint32_t number;
	enum run_kind kind;
	const char *text; /* NULL = unknown, because an earlier server started the run */
	size_t len;
	const char *by; /* the program that started it, for people; NULL = unknown */
	uint64_t client;
	bool detached;
	const char *branch; /* of its interpreter; NULL = the main one, or unknown */
};

struct recorder {
	/* A run was started, or PID 1 has named one that an earlier server started. Returns the record that the other
	 * functions get, or NULL if the run is not to be recorded. */
	struct record *(*queued)(void *ctx, const struct recorded_run *run);
	void (*started)(struct record *record);
	void (*output)(struct record *record, int stream, const void *data, size_t n);
	/* The last bytes of a stream that is longer than its head. */
	void (*tail)(struct record *record, int stream, const void *data, size_t n);
	void (*display)(struct record *record, const struct shown_display *display);
	/* A value or an error has arrived; `partial` has both. */
	void (*value)(struct record *record, const struct run_result *partial);
	/* A piece of the run is complete: the program wrote this number of bytes since the previous piece. A mark or
	 * the end follows. */
	void (*piece)(struct record *record, uint64_t stdout_bytes, uint64_t stderr_bytes);
	void (*mark)(struct record *record, uint32_t mark);
	/* PID 1 replays a run that its hello had only named: what else is known of it. */
	void (*known)(struct record *record, const struct recorded_run *run);
	/* All output after the mark `told` follows again, with this number of displays after the last mark. */
	void (*replay)(struct record *record, uint32_t told, size_t displays);
	/* prompt NULL = the output contains the prompt. */
	void (*prompt)(struct record *record, const char *prompt, bool password);
	void (*answered)(struct record *record);
	/* Called once. result NULL: nothing ran; f says why, and NULL = the run was cancelled. */
	void (*ended)(struct record *record, const struct run_result *result, const struct fail *f);
	void *ctx;
};

#endif
