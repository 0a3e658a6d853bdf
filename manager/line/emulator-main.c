/* husk-emulator ROWS COLS: the terminal of one interactive command, in an expendable process. A few bytes of a
 * command can make libvterm compute for seconds, loop forever or crash. So this process can only read, write and
 * compute, and the kernel kills it if one feed takes more CPU time than FEED_CPU_MS. It exits when its standard
 * input ends. */
#include <errno.h>
#include <sys/time.h>

#include "base/alloc.h"
#include "base/confine.h"
#include "base/parse.h"
#include "kernels/protocol.h"
#include "manager/line/emulator-protocol.h"
#include "manager/line/vt.h"

#define FEED_CPU_MS 100
/* The largest screen takes 16 MiB, a feed and its text 8 MiB. */
#define MEMORY_MAX (96ul << 20)
#define LIFE_CPU_SECONDS 60
#define READ_CHUNK 65536

/* SIGPROF kills the process when the limit is reached. 0 = no limit. */
static bool limit_cpu(unsigned ms)
{
	const struct itimerval limit = { .it_value = { .tv_usec = (suseconds_t)ms * 1000 } };
	return setitimer(ITIMER_PROF, &limit, NULL) == 0;
}

static bool write_all(const struct buf *out)
{
	for (size_t at = 0; at < out->len;) {
		ssize_t n = write(STDOUT_FILENO, out->data + at, out->len - at);
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

/* False at end of input. */
static bool read_some(struct frame_reader *reader)
{
	ssize_t n = read(STDIN_FILENO, frame_reader_room(reader, READ_CHUNK), READ_CHUNK);
	if (n > 0)
		frame_reader_fed(reader, (size_t)n);
	return n > 0;
}

static int serve(int rows, int cols)
{
	struct frame_reader reader = { 0 };
	struct vt *t = vt_new(rows, cols);
	do {
		struct frame feed;
		int r;
		while ((r = frame_reader_next(&reader, emulator_feed_max, &feed)) > 0) {
			AUTO(buf_release) struct buf out = { 0 };
			if (!limit_cpu(FEED_CPU_MS))
				return 1;
			vt_answer(t, &feed, &out);
			if (!limit_cpu(0) || !write_all(&out))
				return 1;
		}
		if (r < 0)
			return 1;
	} while (read_some(&reader));
	return 0;
}

static bool read_size(const char *text, uint64_t max, int *ret)
{
	uint64_t n;
	if (parse_u64(text, &n) < 0 || n < 1 || n > max)
		return false;
	*ret = (int)n;
	return true;
}

int main(int argc, char **argv)
{
	const struct confinement limits = { .memory = MEMORY_MAX, .cpu_seconds = LIFE_CPU_SECONDS };
	int rows, cols;
	if (argc != 3 || !read_size(argv[1], TERMINAL_ROWS_MAX, &rows) ||
	    !read_size(argv[2], TERMINAL_COLS_MAX, &cols)) {
		fputs("husk-emulator: husk starts this program to draw the screens of interactive commands\n", stderr);
		return 2;
	}
	/* The program that embeds libhusk may leak inheritable descriptors. */
	close_range(STDERR_FILENO + 1, ~0u, 0);
	if (chdir("/") < 0 || !confine(&limits))
		return 1;
	return serve(rows, cols);
}
