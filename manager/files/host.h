/* Files of the host that may be imported: those below STORAGE_DIR and IMPORT_ALLOWED_DIRS once every link is resolved, but for
 * what is Husk's own (the exports' folder, the database, the key, the settings file), by whatever name it is reached. Everything
 * here blocks: for base/work only. */
#ifndef HUSK_MANAGER_FILES_HOST_H
#define HUSK_MANAGER_FILES_HOST_H

#include <sys/types.h>

#include "base/fail.h"
#include "base/strv.h"

/* What a job needs of the settings, copied: a job may outlive the one who started it. */
struct host_rules {
	char *storage_dir, *state_dir, *settings_file;
	struct strv allowed;
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

/* Opens for reading, without waiting and without following a link from below the allowed folder on. -1 with f filled. */
int host_open(const struct host_rules *rules, const char *source, struct host_forbidden *ret_forbidden, struct fail *f);

#endif
