/* Files of the host that may be imported. A path that a model named must be below STORAGE_DIR or one of the allowed folders once every
 * link is resolved, and must not be Husk's own (the exports' folder, the database, the key, the settings file), by whatever name it is
 * reached. A person's own path is opened with the permissions of the process. Everything here blocks: for base/work only. */
#ifndef HUSK_MANAGER_FILES_HOST_H
#define HUSK_MANAGER_FILES_HOST_H

#include <sys/types.h>

#include "base/fail.h"
#include "base/strv.h"

/* What a job needs of the settings, copied: a job may outlive the one who started it. */
struct host_rules {
	char *storage_dir, *state_dir, *settings_file;
	struct strv allowed; /* folders, beside storage_dir */
	bool own;	     /* the path is a person's own: no folder is out of bounds */
	bool project;	     /* own: as import_item has it */
	int fd;		     /* own: already open, and owned by the rules; 0 = not */
};
void host_rules_release(struct host_rules *r);

#define HOST_FORBIDDEN_MAX 64

/* Files and folders by device and number. */
struct host_forbidden {
	struct {
		dev_t dev;
		ino_t ino;
	} v[HOST_FORBIDDEN_MAX];
	size_t n;
};

struct stat;
bool host_is_forbidden(const struct host_forbidden *set, const struct stat *st);

/* Opens for reading, without waiting. A path that must be below an allowed folder is opened without following a link from that folder
 * on. Husk's own files are put into *ret_forbidden, for whoever walks a folder. -1 with f filled. */
int host_open(const struct host_rules *rules, const char *source, struct host_forbidden *ret_forbidden, struct fail *f);

#endif
