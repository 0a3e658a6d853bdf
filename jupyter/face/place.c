#include "jupyter/face/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "base/alloc.h"
#include "base/dirs.h"
#include "jupyter/connection.h"

/* Characters that the names of a connection's folder and of its sockets add to the path. */
#define NAMES_MAX 32
#define SWEPT_AGE_SECONDS 60

char *place_find(const char *state_dir, bool tcp)
{
	size_t room = sizeof(((struct sockaddr_un *)NULL)->sun_path) - NAMES_MAX;
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	AUTO(freep) char *ours = xasprintf("%s/jupyter", state_dir);
	if ((tcp || strlen(ours) < room) && dirs_make(ours) == 0)
		return take_ptr(ours);
	return xstrdup(runtime && *runtime && strlen(runtime) < room ? runtime : "/tmp");
}

int place_hold(const char *file)
{
	AUTO(closep) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -1;
	return take_fd(fd);
}

/* A folder in /tmp may belong to another user, and a new folder does not have its file yet. */
static bool is_old_of_ours(const char *folder)
{
	struct stat st;
	return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == getuid() &&
	       st.st_mtime + SWEPT_AGE_SECONDS < time(NULL);
}

void place_sweep(const char *place)
{
	DIR *d = opendir(place);
	struct dirent *entry;
	while (d && (entry = readdir(d))) {
		AUTO(freep) char *folder = xasprintf("%s/%s", place, entry->d_name);
		AUTO(freep) char *file = xasprintf("%s/" CONNECTION_FILE, folder);
		if (strncmp(entry->d_name, CONNECTION_FOLDER, strlen(CONNECTION_FOLDER)) != 0 ||
		    !is_old_of_ours(folder))
			continue;
		AUTO(closep) int held = place_hold(file);
		bool free_to_go = held >= 0 || errno == ENOENT;
		struct connection left = { .folder = free_to_go ? xstrdup(folder) : NULL };
		connection_release(&left);
	}
	if (d)
		closedir(d);
}
