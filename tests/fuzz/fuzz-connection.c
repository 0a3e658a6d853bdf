/* jupyter/connection: a connection file of another program. */
#include "jupyter/connection.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/fuzz/fuzz.h"

int fuzz_one(const uint8_t *data, size_t n)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(closep) int fd = memfd_create("connection", MFD_CLOEXEC);
	AUTO(freep) char *path = xasprintf("/proc/self/fd/%d", fd);
	struct connection c = { 0 };
	struct sender_id id;
	CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
	if (connection_read(&c, path, &id, &f) < 0) {
		CHECK(f.message && *f.message);
	} else {
		CHECK(id.key[0] && !c.folder);
		for (int i = 0; i < CHANNELS; i++)
			CHECK(strncmp(c.endpoints[i], "ipc://", 6) == 0 ||
			      strncmp(c.endpoints[i], "tcp://127.0.0.1:", 16) == 0);
	}
	connection_release(&c);
	return 0;
}
