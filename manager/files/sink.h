/* Writes an export: frames of PID 1 become a file in the vault, or a tar of a directory. PID 1 is not trusted:
 * order, names, sizes and sums are checked. Everything here blocks: call it only in worker jobs. */
#ifndef HUSK_MANAGER_FILES_SINK_H
#define HUSK_MANAGER_FILES_SINK_H

#include "base/fail.h"
#include "manager/files/digest.h"

struct sink;

struct sink_limits {
	/* Limit for data, and for an archive with its headers and zeros. If there is more than the session's file
	 * systems can hold, the data is forged or a tree of hard links. */
	uint64_t bytes;
	uint64_t apparent; /* sizes including holes */
	uint64_t most;	   /* limit from the settings for what is kept; 0 = none */
	uint64_t floor;	   /* bytes to leave free on the disk of the vault */
	bool temporary;	   /* nothing is kept: the result has the content in an open file */
};

struct sink_result {
	bool directory;
	uint64_t size;	 /* size of the file, or the sum of all files */
	uint64_t stored; /* bytes in the vault */
	uint64_t entries;
	uint32_t mode;
	uint64_t mtime_ms;
	char hash[DIGEST_SIZE];
	int content; /* with `temporary`: an open file without a name, owned by the caller of sink_keep(); 0 = none */
};

/* name: the name of the file or directory. */
struct sink *sink_new(const char *storage_dir, const char *name, const struct sink_limits *limits);
/* Removes what was not kept. Accepts NULL, returns NULL. */
struct sink *sink_free(struct sink *s);
/* Takes whole ENTRY, MAP and DATA frames with their headers. -1 with f. */
int sink_take(struct sink *s, const uint8_t *frames, size_t n, struct fail *f);
/* True if frames must go through sink_hash() after sink_take(), in the same order. sink_hash() shares no state with
 * sink_take() and may run at the same time on another thread: for a large file, the hash takes longer than
 * everything else. */
bool sink_hashes(const struct sink *s);
int sink_hash(struct sink *s, const uint8_t *frames, size_t n, struct fail *f);
/* Starts to copy the file itself, after its ENTRY and instead of all DATA. Returns the number of pieces to copy, 1
 * or more; -1 with f, for example if it is not a regular file. The descriptor is borrowed until the last piece. */
int64_t sink_open(struct sink *s, int file, struct fail *f);
/* Writes and hashes one piece. Call it once for each piece, in any order, on several threads with a buffer of
 * SINK_COPY_BYTES each. *ret is the piece's digest for sink_put(), which is called on the loop. If the file has
 * become shorter, the rest of the piece is zeros. */
#define SINK_COPY_BYTES (256u << 10)
int sink_copy(struct sink *s, int file, uint64_t piece, uint8_t *buffer, struct digest **ret, struct fail *f);
/* Takes ownership of the digest. */
void sink_put(struct sink *s, uint64_t piece, struct digest *digest);
/* The size of the file. */
uint64_t sink_size(const struct sink *s);
/* True if the file became shorter while it was copied. */
bool sink_fell_short(const struct sink *s);
/* Call it on the loop while one of these functions runs on its thread. That function then ends soon, and the export
 * is not kept unless it is already in place. */
void sink_stop(struct sink *s);
/* Call it when everything has arrived. The export is in place and synced when this returns 0. */
int sink_keep(struct sink *s, struct sink_result *ret, struct fail *f);

#endif
