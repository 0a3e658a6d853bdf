#include "kernels/disk/disk.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "kernels/system/clock.h"

/* Names counted in one turn of the loop: about a millisecond. */
#define STEPS_A_TURN 500
/* After a round without changes the pause gets longer, unless the disk gets fuller. */
#define REST_MAX_MS 20000
/* Counting takes at most a fifth of the time. */
#define REST_FACTOR 4
#define BYTES_A_NAME 4096
#define NAMES_MIN 1024
#define BLOCK 512
/* While the host's disk is below its floor, a container may write this much in a round. */
#define FLOOR_SLACK (1u << 20)

static void on_timer(struct timeout *timer);

static uint64_t bytes_free(const struct disk *d)
{
	struct statvfs v;
	return statvfs(d->volumes[0].path, &v) == 0 ? (uint64_t)v.f_bavail * v.f_frsize : UINT64_MAX;
}

static uint64_t limit_of_all(const struct disk *d)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < d->n; i++)
		sum += d->volumes[i].limit;
	return sum;
}

static dev_t device_of(const struct disk *d)
{
	struct stat st;
	return stat(d->volumes[0].path, &st) == 0 ? st.st_dev : 0;
}

/* Bytes written by processes that have ended and were waited for. */
static uint64_t written_by_the_dead(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_CHILDREN, &usage) == 0 ? (uint64_t)usage.ru_oublock * BLOCK : 0;
}

/* The pid of the process that was started last in this namespace; 0 if unknown. */
static uint64_t last_pid(void)
{
	char text[128];
	AUTO(closep) int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	const char *last = strrchr(text, ' ');
	return last ? strtoull(last + 1, NULL, 10) : 0;
}

/* ---- a round */

static void begin_round(struct disk *d)
{
	d->under_way = true;
	d->began_ms = clock_now_ms();
	d->counting = 0;
	(void)usage_begin(&d->tree, d->volumes[0].path);
}

/* True when everything is counted. */
static bool step(struct disk *d, int steps)
{
	if (d->counting == d->n)
		return !unlinked_step(&d->unlinked, steps);
	if (usage_step(&d->tree, steps))
		return false;
	d->volumes[d->counting].usage = d->tree.sum;
	if (++d->counting < d->n)
		(void)usage_begin(&d->tree, d->volumes[d->counting].path);
	else
		(void)unlinked_begin(&d->unlinked, device_of(d));
	return false;
}

uint64_t disk_hidden(uint64_t hidden, const struct disk_round *before, const struct disk_round *now)
{
	int64_t fallen = (int64_t)(before->free - now->free), grown = (int64_t)(now->used - before->used);
	int64_t wrote = (int64_t)(now->written - before->written);
	int64_t missing = fallen - grown;
	if (missing > 0 && !now->secretive)
		missing = MIN(missing, MAX(0, wrote - MAX(0, grown)));
	return missing < 0 && (uint64_t)-missing > hidden ? 0 : hidden + (uint64_t)missing;
}

static uint64_t names_limit(const struct disk_volume *v)
{
	return MAX(NAMES_MIN, v->limit / BYTES_A_NAME);
}

static bool is_over(const struct disk_volume *v, uint64_t factor)
{
	uint64_t bytes = v->solid ? v->usage.apparent : v->usage.bytes;
	return bytes > factor * v->limit || v->usage.names > factor * names_limit(v) || v->usage.deep;
}

/* Twice the limit is DISK_BEYOND only if the last round was over the limit too and the use still grows: a fast disk can
 * take a lot of data between two rounds. */
static enum disk_state judge(const struct disk *d, bool writes, bool grows, const char **ret_why)
{
	uint64_t all = limit_of_all(d);
	bool full = d->used > all, beyond = d->used > 2 * all;
	for (size_t i = 0; i < d->n; i++) {
		full |= is_over(&d->volumes[i], 1);
		beyond |= is_over(&d->volumes[i], 2) && !d->volumes[i].usage.deep;
	}
	if (d->hidden > all) {
		*ret_why = "hid more data on disk than its limit allows";
		return DISK_BEYOND;
	}
	*ret_why = "has more data on disk than its limit allows";
	if (beyond || full)
		return beyond && grows && d->state != DISK_FINE ? DISK_BEYOND : DISK_FULL;
	if (d->free < d->floor && writes) {
		*ret_why = "wrote to a disk that is nearly full";
		return DISK_FULL;
	}
	return DISK_FINE;
}

/* True if it is unknown how much the container has written since the last round. */
static bool is_secretive(struct disk *d)
{
	bool partial = d->unlinked.partial;
	for (size_t i = 0; i < d->n; i++)
		partial |= d->volumes[i].usage.locked;
	uint64_t before = d->last_pid;
	d->last_pid = last_pid();
	return d->unlinked.secretive || d->unlinked.in_flight || (partial && d->last_pid != before);
}

static void end_round(struct disk *d)
{
	struct disk_round before = { .used = d->used, .free = d->free, .written = d->written }, now = {
		.used = d->unlinked.bytes,
		.free = bytes_free(d),
		.written = written_by_the_dead() + d->unlinked.written,
		.secretive = is_secretive(d),
	};
	uint64_t names_before = d->names;
	d->names = 0;
	for (size_t i = 0; i < d->n; i++) {
		now.used += d->volumes[i].usage.bytes;
		d->names += d->volumes[i].usage.names;
	}
	d->under_way = false;
	d->hidden = disk_hidden(d->hidden, &before, &now);
	bool writes = now.written > before.written + FLOOR_SLACK || now.used > before.used + FLOOR_SLACK;
	bool still = now.used == before.used && now.written == before.written;
	d->used = now.used;
	d->free = now.free;
	d->written = MAX(before.written, now.written);
	uint64_t took = clock_now_ms() - d->began_ms;
	d->rest_ms = MIN(REST_MAX_MS, MAX(MAX(DISK_INTERVAL_MS, REST_FACTOR * took), still ? 2 * d->rest_ms : 0));
	const char *why;
	bool grows = now.used > before.used || d->names > names_before;
	d->state = judge(d, writes, grows, &why);
	if (d->state == DISK_BEYOND || (d->state == DISK_FULL && grows))
		d->on_over(d, d->state, why);
}

/* ---- rounds */

/* True if the pause is over, or the disk's free space has shrunk by a part of what is left of the limit. */
static bool is_due(const struct disk *d)
{
	uint64_t all = limit_of_all(d), left = d->used < all ? all - d->used : 0;
	uint64_t now_free = bytes_free(d), fallen = now_free < d->free ? d->free - now_free : 0;
	return clock_now_ms() >= d->began_ms + d->rest_ms || fallen > left / 16;
}

static void on_timer(struct timeout *timer)
{
	struct disk *d = container_of(timer, struct disk, timer);
	if (!d->under_way && is_due(d))
		begin_round(d);
	if (d->under_way && step(d, STEPS_A_TURN))
		end_round(d);
	timeout_start(d->poller, &d->timer, d->under_way ? 1 : DISK_INTERVAL_MS, on_timer);
}

void disk_start(struct disk *d)
{
	if (!d->n)
		return;
	d->free = bytes_free(d);
	d->written = written_by_the_dead();
	timeout_start(d->poller, &d->timer, DISK_INTERVAL_MS, on_timer);
}

static void drop_round(struct disk *d)
{
	usage_end(&d->tree);
	unlinked_end(&d->unlinked);
	d->under_way = false;
}

void disk_stop(struct disk *d)
{
	timeout_stop(&d->timer);
	drop_round(d);
}

void disk_pause(struct disk *d)
{
	timeout_stop(&d->timer);
	d->paused_free = d->n ? bytes_free(d) : 0;
}

void disk_resume(struct disk *d)
{
	if (!d->n)
		return;
	uint64_t now = bytes_free(d);
	if (now != UINT64_MAX && d->paused_free != UINT64_MAX)
		d->free += now - d->paused_free;
	timeout_start(d->poller, &d->timer, DISK_INTERVAL_MS, on_timer);
}

struct disk_room disk_room(const struct disk *d)
{
	const struct disk_volume *v = &d->volumes[0];
	uint64_t left = v->limit - MIN(v->limit, d->used), free_now = bytes_free(d), names = names_limit(v);
	return (struct disk_room){
		.bytes = MIN(left, free_now - MIN(free_now, d->floor)),
		.names = names - MIN(names, d->names),
		.limit = v->limit,
	};
}

enum disk_state disk_count_now(struct disk *d)
{
	drop_round(d);
	if (!d->n)
		return DISK_FINE;
	begin_round(d);
	while (!step(d, STEPS_A_TURN))
		continue;
	end_round(d);
	return d->state;
}
