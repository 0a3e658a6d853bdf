/* Files of the host that may be imported. Everything here blocks: call it only in worker jobs.
 *
 * A path from a model must be below STORAGE_DIR or an allowed folder after all links are resolved. It must not be
 * one of Husk's own files (the exports' folder, the database, the key, the settings file), by any name. A person's
 * own path is opened with the permissions of the process. */
#ifndef HUSK_MANAGER_FILES_HOST_H
#define HUSK_MANAGER_FILES_HOST_H

#include <sys/types.h>

#include "base/fail.h"
#include "base/strv.h"

/* A copy of the settings that a worker job needs, since the job may outlive its caller. */
struct host_rules {
	char *storage_dir, *state_dir, *settings_file;
	struct strv allowed; /* folders in addition to storage_dir */
	bool own;	     /* the path is a person's own: every folder is allowed */
	bool project;	     /* for `own`: see import_item */
	int fd;		     /* for `own`: already open, and owned by the rules; 0 = not open */
};
void host_rules_release(struct host_rules *r);

#define HOST_FORBIDDEN_MAX 64

/* Files and folders by device and inode. */
struct host_forbidden {
	struct {
		dev_t dev;
		ino_t ino;
	} v[HOST_FORBIDDEN_MAX];
	size_t n;
};

struct stat;
bool host_is_forbidden(const struct host_forbidden *set, const struct stat *st);

/* Opens for reading, without blocking. Below an allowed folder no link is followed. *ret_forbidden gets Husk's own
 * files, which a walk of a folder skips. Returns a descriptor, or -1 with f. */
int host_open(const struct host_rules *rules, const char *source, struct host_forbidden *ret_forbidden, struct fail *f);

#endif
