#include "base/hello.h"

#include <errno.h>

#define RECORD_HEADER 5u
#define RECORD_MAX ((16u << 10) + 256)
#define MESSAGE_HEADER 4u
#define CLIENT_HELLO 1
#define SERVER_HELLO 2
#define EXTENSION_NAME 0

/* A part of a message that has not been read yet. */
struct part {
	const uint8_t *data;
	size_t n;
};

static bool take_number(struct part *p, size_t bytes, size_t *ret)
{
	size_t value = 0;
	if (p->n < bytes)
		return false;
	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | p->data[i];
	p->data += bytes;
	p->n -= bytes;
	*ret = value;
	return true;
}

static bool take_part(struct part *p, size_t n, struct part *ret)
{
	if (p->n < n)
		return false;
	*ret = (struct part){ p->data, n };
	p->data += n;
	p->n -= n;
	return true;
}

/* A part after its length. */
static bool take_vector(struct part *p, size_t length_bytes, struct part *ret)
{
	size_t n;
	return take_number(p, length_bytes, &n) && take_part(p, n, ret);
}

ssize_t hello_record(const void *data, size_t n, enum hello_record *ret_type)
{
	const uint8_t *d = data;
	if (n && (d[0] < HELLO_CHANGE_CIPHER || d[0] > HELLO_DATA))
		return -EPROTO;
	if (n > 1 && d[1] != 3)
		return -EPROTO;
	if (n < RECORD_HEADER)
		return 0;
	size_t length = (size_t)d[3] << 8 | d[4];
	if (!length || length > RECORD_MAX)
		return -EPROTO;
	*ret_type = (enum hello_record)d[0];
	return n < RECORD_HEADER + length ? 0 : (ssize_t)(RECORD_HEADER + length);
}

int hello_add(struct buf *message, const void *record, size_t size)
{
	if (message->len + size - RECORD_HEADER > HELLO_MAX + MESSAGE_HEADER)
		return -EPROTO;
	return buf_add(message, (const uint8_t *)record + RECORD_HEADER, size - RECORD_HEADER) < 0 ? -EPROTO : 0;
}

static int read_name(struct part extension, char ret_name[HELLO_NAME_SIZE])
{
	struct part list, name;
	size_t type;
	if (!take_vector(&extension, 2, &list) || extension.n || !take_number(&list, 1, &type) || type ||
	    !take_vector(&list, 2, &name) || list.n || !name.n || name.n > HELLO_NAME_SIZE - 1)
		return -EPROTO;
	for (size_t i = 0; i < name.n; i++) {
		char c = (char)name.data[i];
		if (c <= ' ' || c > '~')
			return -EPROTO;
		ret_name[i] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
	}
	ret_name[name.n] = '\0';
	return 0;
}

static int read_extensions(struct part extensions, char ret_name[HELLO_NAME_SIZE])
{
	bool named = false;
	while (extensions.n) {
		size_t type;
		struct part extension;
		if (!take_number(&extensions, 2, &type) || !take_vector(&extensions, 2, &extension))
			return -EPROTO;
		if (type != EXTENSION_NAME)
			continue;
		if (named || read_name(extension, ret_name) < 0)
			return -EPROTO;
		named = true;
	}
	return 1;
}

int hello_read(const struct buf *message, char ret_name[HELLO_NAME_SIZE])
{
	struct part all = { message->data, message->len }, hello, skipped;
	size_t type, length, version;
	ret_name[0] = '\0';
	if (!take_number(&all, 1, &type))
		return 0;
	if (type != CLIENT_HELLO)
		return -EPROTO;
	if (!take_number(&all, 3, &length))
		return 0;
	if (length > HELLO_MAX)
		return -EPROTO;
	if (all.n < length)
		return 0;
	(void)take_part(&all, length, &hello);
	/* A record with a hello has nothing else. */
	if (all.n || !take_number(&hello, 2, &version) || version >> 8 != 3 || !take_part(&hello, 32, &skipped) ||
	    !take_vector(&hello, 1, &skipped) || !take_vector(&hello, 2, &skipped) || !take_vector(&hello, 1, &skipped))
		return -EPROTO;
	if (!hello.n)
		return 1;
	struct part extensions;
	if (!take_vector(&hello, 2, &extensions) || hello.n)
		return -EPROTO;
	return read_extensions(extensions, ret_name);
}

int hello_is_retry(const void *data, size_t n)
{
	/* The random bytes that turn a ServerHello into a HelloRetryRequest (RFC 8446, 4.1.3). */
	static const uint8_t retry[32] = { 0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
					   0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
					   0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c };
	const uint8_t *d = data;
	size_t at = RECORD_HEADER + MESSAGE_HEADER + 2;
	if (n && d[0] != HELLO_HANDSHAKE)
		return 0;
	if (n > RECORD_HEADER && d[RECORD_HEADER] != SERVER_HELLO)
		return 0;
	if (n < at + sizeof(retry))
		return -EAGAIN;
	return memcmp(d + at, retry, sizeof(retry)) == 0;
}
