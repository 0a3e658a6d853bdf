#include "kernels/files/open-file.h"

#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "kernels/files/beneath.h"
#include "kernels/files/place.h"
#include "kernels/system/frames.h"

struct open_file {
	int fd;
	struct stat st;
	bool chosen;
	uint64_t at, end;
};

int open_file_new(const char *path, struct open_file **ret)
{
	AUTO(place_release) struct place place = { .parent = -1 };
	struct stat st;
	int r = place_find(&place, path);
	if (r < 0)
		return r;
	AUTO(closep) int fd = beneath_open(place.parent, place.name, O_RDONLY);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	struct open_file *o = new0(struct open_file);
	o->fd = take_fd(fd);
	o->st = st;
	*ret = o;
	return 0;
}

struct open_file *open_file_free(struct open_file *o)
{
	if (!o)
		return NULL;
	closep(&o->fd);
	free(o);
	return NULL;
}

int open_file_put_item(const struct open_file *o, uint32_t call, struct buf *out)
{
	return place_put_item(out, call, &o->st, "", /* dir= */ -1, "");
}

bool open_file_is_large(const struct open_file *o)
{
	return o->st.st_size >= (off_t)FILE_WHOLE_MIN;
}

int open_file_take(struct open_file *o)
{
	return take_fd(o->fd);
}

void open_file_give_back(struct open_file *o, int fd)
{
	o->fd = fd;
}

int open_file_fetch(struct open_file *o, uint64_t offset, uint64_t length)
{
	uint64_t size = (uint64_t)o->st.st_size;
	if (o->chosen || o->fd < 0 || offset > size || length > size - offset)
		return -EPROTO;
	o->chosen = true;
	o->at = offset;
	o->end = offset + length;
	return 0;
}

static int put_data(struct open_file *o, uint32_t call, struct buf *out)
{
	uint8_t *frame = buf_reserve(out, FRAME_HEADER_SIZE + 8 + FILE_DATA_MAX), *data = frame + FRAME_HEADER_SIZE;
	ssize_t n = pread(o->fd, data + 8, (size_t)MIN(o->end - o->at, FILE_DATA_MAX), (off_t)o->at);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ESTALE;
	entry_put_number(data, 8, o->at);
	frame_header_write(frame,
			   &(struct frame_header){ .length = 8 + (uint32_t)n, .type = FRAME_DATA, .call = call });
	out->len += FRAME_HEADER_SIZE + 8 + (size_t)n;
	o->at += (uint64_t)n;
	return 0;
}

int open_file_produce(struct open_file *o, uint32_t call, size_t max, struct buf *out)
{
	const size_t piece = FRAME_HEADER_SIZE + 8 + FILE_DATA_MAX;
	size_t start = out->len;
	int r = 0;
	while (r == 0 && o->chosen && o->at < o->end && out->len - start + piece <= max)
		r = put_data(o, call, out);
	if (r < 0)
		return r;
	return !o->chosen || o->at < o->end;
}
