/* Settings that a person wrote: a settings file (manager/model/config), and values with their own syntax. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "manager/model/config.h"
#include "manager/model/limits.h"
#include "manager/model/networks.h"
#include "tests/fuzz/fuzz.h"

static void check_file(const uint8_t *data, size_t n)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(closep) int fd = memfd_create("settings", MFD_CLOEXEC);
	AUTO(freep) char *path = xasprintf("/proc/self/fd/%d", fd);
	struct config c = { 0 };
	CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
	if (config_load_from(&c, &(struct config_source){ .file = true, .env_file = path }, &f) < 0) {
		CHECK(f.message && *f.message);
	} else {
		struct limits l = limits_default(&c);
		CHECK(l.memory && l.cpu_quota && l.pids && c.max_answer_chars);
	}
	config_release(&c);
}

static void check_network(const char *text)
{
	AUTO(strv_release) struct strv list = { 0 };
	struct url_place place;
	if (networks_add(&list, text) == 0)
		for (size_t i = 0; i < list.n; i++)
			CHECK(strchr(list.v[i], '/'));
	if (networks_read_url(text, strlen(text), &place))
		CHECK(*place.host && *place.port && strspn(place.port, "0123456789") == strlen(place.port));
}

int fuzz_one(const uint8_t *data, size_t n)
{
	AUTO(freep) char *text = xstrndup((const char *)data, n);
	check_file(data, n);
	check_network(text);
	return 0;
}
