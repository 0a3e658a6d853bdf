#include "cli/pictures.h"

#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/log.h"

/* The best first; each is text or base64. */
static const struct {
	const char *type, *ending;
	bool text;
} kinds[] = {
	{ "image/png", "png", false }, { "image/jpeg", "jpg", false },	 { "image/webp", "webp", false },
	{ "image/gif", "gif", false }, { "image/svg+xml", "svg", true },
};

static int write_file(const char *path, const void *data, size_t n)
{
	AUTO(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	for (const char *at = data; n;) {
		ssize_t written = write(fd, at, n);
		if (written < 0)
			return -errno;
		at += written;
		n -= (size_t)written;
	}
	return 0;
}

static void save(const struct mime_part *part, size_t kind, const char *stem, unsigned number)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	AUTO(freep) char *path = xasprintf("%s-%u.%s", stem, number, kinds[kind].ending);
	if (kinds[kind].text)
		buf_add(&bytes, part->data, part->len);
	else if (base64_decode(part->data, part->len, &bytes) < 0)
		return;
	int r = write_file(path, bytes.data, bytes.len);
	if (r < 0)
		log_error("cannot save a picture as '%s': %s", path, strerror(-r));
	else
		fprintf(stderr, "picture: %s\n", path);
}

static void save_best(const struct mime_bundle *bundle, const char *stem, unsigned *number)
{
	for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++) {
		for (size_t i = 0; i < bundle->n; i++) {
			if (!streq(bundle->parts[i].type, kinds[kind].type))
				continue;
			save(&bundle->parts[i], kind, stem, (*number)++);
			return;
		}
	}
}

void pictures_save(const struct run_result *result, const char *stem, unsigned *number)
{
	for (size_t i = 0; i < result->n_displays; i++)
		save_best(&result->displays[i], stem, number);
	save_best(&result->result, stem, number);
}
