/* What an export writes: frames of PID 1 become a file in the vault, or a tar of a directory. PID 1 is not trusted: order, names,
 * sizes and sums are checked. Everything here blocks: for base/work only. */
#ifndef HUSK_MANAGER_FILES_SINK_H
#define HUSK_MANAGER_FILES_SINK_H

#include "base/fail.h"
#include "manager/files/digest.h"

struct sink;

struct sink_limits {
	/* Of data, and of an archive with its headers and the zeros it holds: more than the session's file systems can hold is
	 * a lie or a tree of hard links. */
	uint64_t bytes;
	uint64_t apparent; /* sizes with holes */
	uint64_t most;	   /* of what is kept, by the operator's settings; 0 = no matter */
	uint64_t floor;	   /* bytes that stay free on the disk of the vault */
};

struct sink_result {
	bool directory;
	uint64_t size;	 /* of the file, or the sum of the files */
	uint64_t stored; /* bytes in the vault */
	uint64_t entries;
	uint32_t mode;
	uint64_t mtime_ms;
	char hash[DIGEST_SIZE];
};

/* `name` is what the file or directory is called. */
struct sink *sink_new(const char *storage_dir, const char *name, const struct sink_limits *limits);
/* Leaves nothing behind of what was not kept. Accepts NULL, returns NULL. */
struct sink *sink_free(struct sink *s);
/* Whole ENTRY, MAP and DATA frames with their headers. -1 with f filled. */
int sink_take(struct sink *s, const uint8_t *frames, size_t n, struct fail *f);
/* Whether frames that sink_take() has taken go through sink_hash() next, in their order. It touches nothing that sink_take() does
 * and may run beside it, in another thread: of a large file, the hash takes longer than everything else. */
bool sink_hashes(const struct sink *s);
int sink_hash(struct sink *s, const uint8_t *frames, size_t n, struct fail *f);
/* In place of all DATA: the file itself, of which an ENTRY was taken. -1 with f filled if it is no regular file; else the number
 * of pieces that it has to be copied in, 1 or more. The descriptor is borrowed, up to the last piece. */
int64_t sink_open(struct sink *s, int file, struct fail *f);
/* One of them, hashed and written. Each once, in any order, several at a time by as many threads, each with a buffer of
 * SINK_COPY_BYTES: *ret is then the piece's, for sink_put(), which is the loop's. Where the file has become shorter, there are zeros. */
#define SINK_COPY_BYTES (256u << 10)
int sink_copy(struct sink *s, int file, uint64_t piece, uint8_t *buffer, struct digest **ret, struct fail *f);
/* Takes the digest. */
void sink_put(struct sink *s, uint64_t piece, struct digest *digest);
/* Of the file. */
uint64_t sink_size(const struct sink *s);
/* It had become shorter while it was copied. */
bool sink_fell_short(const struct sink *s);
/* From the loop, while one of these runs in its thread: it ends soon, and keeps nothing that is not in place by then. */
void sink_stop(struct sink *s);
/* Everything has arrived. In place and synced when this returns 0. */
int sink_keep(struct sink *s, struct sink_result *ret, struct fail *f);

#endif
