/* The data of an import, as frames for PID 1: text in the request, a file or folder of the host, or an export.
 *
 * Call measure() once, then produce() until it reports the end. Both block: call them only in worker jobs. `stop`
 * may be set from the loop at any time and makes both end soon. */
#ifndef HUSK_MANAGER_FILES_SOURCE_H
#define HUSK_MANAGER_FILES_SOURCE_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/strv.h"
#include "kernels/entry.h"
#include "kernels/protocol.h"
#include "manager/files/host.h"

/* An import with more entries is probably a mistake. */
#define SOURCE_ENTRIES_MAX 2000000u

struct measure {
	uint64_t size; /* of all files */
	uint64_t room; /* bytes that they take in the session's file system */
	uint64_t entries;
	bool directory; /* the source is a directory */
};

struct source;

struct source_ops {
	int (*measure)(struct source *s, struct measure *ret, struct fail *f);
	/* Appends whole frames with this call number, about `max` bytes. Returns 1 if there is more, 0 at the end,
	 * -1 with f. */
	int (*produce)(struct source *s, uint32_t call, size_t max, struct buf *out, struct fail *f);
	void (*release)(struct source *s);
};

struct source {
	const struct source_ops *ops;
	atomic_bool stop;
	struct strv notices; /* sentences about what was skipped */
};

/* Takes ownership of the content. */
struct source *source_inline(struct buf *content);
/* Takes ownership of the rules. */
struct source *source_host(struct host_rules *rules, const char *path);

/* An export in the vault. */
struct source_export {
	const char *file;  /* in the vault */
	bool directory;	   /* the export is a tar */
	const char *below; /* part to read; "" = all */
	uint64_t mode, mtime_ms;
	bool links; /* PID 1 can make hard links */
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
/* A file's content as DATA frames, without holes. */
struct source_reader {
	int fd; /* borrowed; -1 = none */
	uint64_t size, at, data_end;
	bool sparse;
};
/* Returns 1 if there is more, 0 at the end, or -errno. A file that became shorter ends early. */
int source_read(struct source_reader *r, uint32_t call, struct buf *out);
struct stat;
void source_reader_start(struct source_reader *r, int fd, const struct stat *st);
/* Bytes of data, without holes. */
uint64_t source_data_bytes(int fd, const struct stat *st);

#endif
