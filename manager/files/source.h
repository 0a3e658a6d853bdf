/* What an import reads, as frames for PID 1: text of the call, a file or folder of the host, or an export. measure() comes first,
 * once, then produce() until it says that this was all. Both block: for base/work only. `stop` may be set from the loop at any time
 * and makes both end soon. */
#ifndef HUSK_MANAGER_FILES_SOURCE_H
#define HUSK_MANAGER_FILES_SOURCE_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/strv.h"
#include "kernels/entry.h"
#include "kernels/protocol.h"
#include "manager/files/host.h"

/* More than this is a mistake, not an import. */
#define SOURCE_ENTRIES_MAX 2000000u

struct measure {
	uint64_t size; /* of all files */
	uint64_t room; /* that they take in the sandbox's file system */
	uint64_t entries;
	bool directory; /* the whole is one */
};

struct source;

struct source_ops {
	int (*measure)(struct source *s, struct measure *ret, struct fail *f);
	/* Appends whole frames of this call, about `max` bytes: 1 if there is more, 0 if that was all, -1 with f filled. */
	int (*produce)(struct source *s, uint32_t call, size_t max, struct buf *out, struct fail *f);
	void (*release)(struct source *s);
};

struct source {
	const struct source_ops *ops;
	atomic_bool stop;
	struct strv notices; /* what was left out */
};

/* Takes the content. */
struct source *source_inline(struct buf *content);
/* Takes the rules. */
struct source *source_host(struct host_rules *rules, const char *path);

/* An export in the vault. */
struct source_export {
	const char *file;  /* in the vault */
	bool directory;	   /* it is a tar */
	const char *below; /* what of it; "" = all */
	uint64_t mode, mtime_ms;
	bool links; /* PID 1 makes hard links */
};
struct source *source_export(const struct source_export *e);

struct source *source_free(struct source *s);
void source_notice(struct source *s, const char *path, const char *what);

/* ---- for the sources themselves */

static inline uint64_t source_pages(uint64_t bytes)
{
	return (bytes + 4095) / 4096 * 4096;
}

void source_put_entry(struct buf *out, uint32_t call, const struct entry *e);
/* A file's content as DATA frames, holes left out. */
struct source_reader {
	int fd; /* borrowed; -1 = none */
	uint64_t size, at, data_end;
	bool sparse;
};
/* 1 if there is more, 0 at the end, -errno. A file that became shorter ends early. */
int source_read(struct source_reader *r, uint32_t call, struct buf *out);
struct stat;
void source_reader_start(struct source_reader *r, int fd, const struct stat *st);
/* Bytes of data, without holes. */
uint64_t source_data_bytes(int fd, const struct stat *st);

#endif
