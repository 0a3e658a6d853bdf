/* Writes an export: frames of PID 1 become a file in the vault, or a tar of a directory. PID 1 is not trusted:
 * order, names, sizes and sums are checked. Everything here blocks: for base/work only. */
#ifndef HUSK_MANAGER_FILES_SINK_H
#define HUSK_MANAGER_FILES_SINK_H

#include "base/fail.h"
#include "manager/files/digest.h"

struct sink;

struct sink_limits {
	/* Limit for data, and for an archive with its headers and zeros. More than the session's file systems can
	 * hold is a lie or a tree of hard links. */
	uint64_t bytes;
	uint64_t apparent; /* sizes including holes */
	uint64_t most;	   /* limit of what is kept, by the settings; 0 = none */
	uint64_t floor;	   /* bytes to leave free on the disk of the vault */
};

struct sink_result {
	bool directory;
	uint64_t size;	 /* of the file, or the sum of all files */
	uint64_t stored; /* bytes in the vault */
	uint64_t entries;
	uint32_t mode;
	uint64_t mtime_ms;
	char hash[DIGEST_SIZE];
};

/* name: of the file or directory. */
struct sink *sink_new(const char *storage_dir, const char *name, const struct sink_limits *limits);
/* Removes what was not kept. Accepts NULL, returns NULL. */
struct sink *sink_free(struct sink *s);
/* Takes whole ENTRY, MAP and DATA frames with their headers. -1 with f. */
int sink_take(struct sink *s, const uint8_t *frames, size_t n, struct fail *f);
/* True if frames that sink_take() has taken go through sink_hash() next, in their order. sink_hash() shares no
 * state with sink_take() and may run at the same time on another thread: for a large file, the hash takes longer
 * than everything else. */
bool sink_hashes(const struct sink *s);
int sink_hash(struct sink *s, const uint8_t *frames, size_t n, struct fail *f);
/* Instead of all DATA: copies the file itself, after its ENTRY. -1 with f if it is not a regular file; else the
 * number of pieces to copy, 1 or more. The descriptor is borrowed until the last piece. */
int64_t sink_open(struct sink *s, int file, struct fail *f);
/* Hashes and writes one piece. Each once, in any order, on several threads, each with a buffer of SINK_COPY_BYTES.
 * *ret is the piece's digest for sink_put(), which is called on the loop. If the file has become shorter, zeros
 * are written. */
#define SINK_COPY_BYTES (256u << 10)
int sink_copy(struct sink *s, int file, uint64_t piece, uint8_t *buffer, struct digest **ret, struct fail *f);
/* Takes ownership of the digest. */
void sink_put(struct sink *s, uint64_t piece, struct digest *digest);
/* Ends the copy of the file. */
uint64_t sink_size(const struct sink *s);
/* True if the file became shorter while it was copied. */
bool sink_fell_short(const struct sink *s);
/* Called on the loop while one of these runs on its thread: that function ends soon, and keeps nothing that is not
 * in place by then. */
void sink_stop(struct sink *s);
/* Everything has arrived. The export is in place and synced when this returns 0. */
int sink_keep(struct sink *s, struct sink_result *ret, struct fail *f);

#endif
