#include "kernels/init/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"

#define FOLDER ".husk"
#define FILE_NAME "certificates.pem"
#define BUNDLE_MAX (8u << 20)

/* Bundles of distributions. */
static const char *const places[] = { "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
				      "/etc/ssl/cert.pem" };

/* Each is read by some programs and not by others. */
static const char *const variables[] = { "SSL_CERT_FILE",	"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT",
					 "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",     "AWS_CA_BUNDLE" };

static int read_bundle(const char *path, struct buf *out)
{
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : 1;
	while (n > 0) {
		uint8_t *at = buf_reserve(out, 65536);
		n = at ? read(fd, at, 65536) : -1;
		out->len += n > 0 ? (size_t)n : 0;
	}
	return n < 0 ? -1 : 0;
}

/* An image without certificates has only those of the authority. */
static void read_usual(const char *usual, struct buf *out)
{
	if (usual && read_bundle(usual, out) == 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		buf_reset(out);
		if (read_bundle(places[i], out) == 0)
			return;
	}
	buf_reset(out);
}

static int write_all(int fd, const struct buf *b)
{
	for (size_t at = 0; at < b->len;) {
		ssize_t n = write(fd, b->data + at, b->len - at);
		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* No code of the session has run yet, but an image may have anything in its home. */
static int write_file(const char *home, const struct buf *content)
{
	AUTO(closep) int top = open(home, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (top >= 0)
		(void)mkdirat(top, FOLDER, 0700);
	AUTO(closep) int dir = top < 0 ? -1 : openat(top, FOLDER, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	(void)unlinkat(dir, FILE_NAME, 0);
	AUTO(closep) int fd = openat(dir, FILE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
	return fd < 0 ? -errno : write_all(fd, content);
}

int trust_add(const char *home, const char *usual, const char *authority, struct strv *ret)
{
	AUTO(buf_release) struct buf content = { .max = BUNDLE_MAX };
	read_usual(usual, &content);
	if (buf_add_str(&content, "\n") < 0 || buf_add_str(&content, authority) < 0)
		return -EFBIG;
	int r = write_file(home, &content);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(variables); i++)
		strv_addf(ret, "%s=%s/" FOLDER "/" FILE_NAME, variables[i], home);
	return r;
}
