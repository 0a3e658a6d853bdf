#include "cli/pictures.h"

#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/log.h"

/* Files with the same stem are numbered below this. */
#define NUMBER_MAX 100000u

/* The best type first. A part holds text or base64. */
static const struct {
	const char *type, *ending;
	bool text;
} kinds[] = {
	{ "image/png", "png", false }, { "image/jpeg", "jpg", false },	 { "image/webp", "webp", false },
	{ "image/gif", "gif", false }, { "image/svg+xml", "svg", true },
};

static int write_file(const char *path, int how, const void *data, size_t n)
{
	AUTO(closep) int fd = open(path, O_WRONLY | O_CREAT | how | O_NOFOLLOW | O_CLOEXEC, 0644);
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

static bool decode(const struct mime_part *part, size_t kind, struct picture *ret)
{
	if (kinds[kind].text)
		buf_add(&ret->bytes, part->data, part->len);
	else if (base64_decode(part->data, part->len, &ret->bytes) < 0)
		return false;
	ret->type = kinds[kind].type;
	ret->ending = kinds[kind].ending;
	return true;
}

bool picture_take(const struct mime_bundle *bundle, struct picture *ret)
{
	for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++)
		for (size_t i = 0; i < bundle->n; i++)
			if (streq(bundle->parts[i].type, kinds[kind].type) && decode(&bundle->parts[i], kind, ret))
				return true;
	return false;
}

void picture_release(struct picture *p)
{
	buf_release(&p->bytes);
}

static void save(const struct mime_bundle *bundle, const char *stem, unsigned *number)
{
	AUTO(picture_release) struct picture picture = { 0 };
	if (!picture_take(bundle, &picture))
		return;
	AUTO(freep) char *path = xasprintf("%s-%u.%s", stem, (*number)++, picture.ending);
	int r = write_file(path, O_TRUNC, picture.bytes.data, picture.bytes.len);
	if (r < 0)
		log_error("cannot save a picture as '%s': %s", path, strerror(-r));
	else
		fprintf(stderr, "picture: %s\n", path);
}

void pictures_save(const struct run_result *result, const char *stem, unsigned *number)
{
	for (size_t i = 0; i < result->n_displays; i++)
		save(&result->displays[i], stem, number);
	save(&result->result, stem, number);
}

char *picture_save(const struct picture *p, const char *stem)
{
	for (unsigned number = 1; number < NUMBER_MAX; number++) {
		AUTO(freep) char *path = xasprintf("%s-%u.%s", stem, number, p->ending);
		int r = write_file(path, O_EXCL, p->bytes.data, p->bytes.len);
		if (r == 0)
			return take_ptr(path);
		if (r != -EEXIST) {
			log_error("cannot save a picture as '%s': %s", path, strerror(-r));
			return NULL;
		}
	}
	return NULL;
}
