#include "cli/repl/sixel.h"

#include <sys/mman.h>

#include "base/alloc.h"
#include "base/child.h"

#define SELF "/proc/self/exe"
#define ENCODE_MS 5000
#define SEQUENCES_MAX (32u << 20)

struct sixel {
	struct child *child;
	void (*on_done)(void *ctx, const char *sequences, size_t n);
	void *ctx;
};

/* A hostile picture may control the worker, so only one well-formed picture reaches the terminal. */
static bool is_one_picture(const char *s, size_t n)
{
	if (n < 4 || memcmp(s, "\033P", 2) != 0 || memcmp(s + n - 2, "\033\\", 2) != 0)
		return false;
	for (size_t i = 2; i < n - 2; i++)
		if (((unsigned char)s[i] < ' ' && s[i] != '\n' && s[i] != '\r') || (unsigned char)s[i] > '~')
			return false;
	return true;
}

static void on_encoded(void *ctx, const struct child_result *result)
{
	struct sixel *s = ctx;
	bool good = result->exit_status == 0 && !result->truncated && is_one_picture(result->out, result->out_len);
	s->on_done(s->ctx, good ? result->out : NULL, good ? result->out_len : 0);
}

static int file_of(const void *picture, size_t n)
{
	AUTO(closep) int fd = memfd_create("picture", MFD_CLOEXEC);
	for (const char *at = picture; fd >= 0 && n;) {
		ssize_t written = write(fd, at, n);
		if (written < 0)
			return -1;
		at += written;
		n -= (size_t)written;
	}
	return fd < 0 || lseek(fd, 0, SEEK_SET) < 0 ? -1 : take_fd(fd);
}

struct sixel *sixel_start(struct loop *loop, const void *picture, size_t n,
			  void (*on_done)(void *ctx, const char *sequences, size_t n), void *ctx)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(closep) int file = file_of(picture, n);
	struct sixel *s = new0(struct sixel);
	*s = (struct sixel){ .on_done = on_done, .ctx = ctx };
	const struct child_spec spec = { .argv = (char *[]){ (char *)SELF, (char *)SIXEL_VERB, NULL },
					 .env = (char *[]){ NULL },
					 .deadline_ms = ENCODE_MS,
					 .out_max = SEQUENCES_MAX,
					 .stdin_fd = file,
					 .on_done = on_encoded,
					 .ctx = s };
	return file < 0 || child_start(loop, &spec, &s->child, &f) < 0 ? sixel_free(s) : s;
}

struct sixel *sixel_free(struct sixel *s)
{
	if (s)
		child_free(s->child);
	free(s);
	return NULL;
}
