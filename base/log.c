#include "base/log.h"

#include <pthread.h>
#include <time.h>

#include "base/alloc.h"
#include "base/buf.h"

const char *const log_levels[] = { "error", "warning", "info", "debug", NULL };

static enum log_level threshold = LOG_WARNING;

static struct {
	log_fn *fn; /* NULL = nobody watches */
	void *ctx;
	enum log_level level;
	pthread_t thread;
	bool busy; /* fn is running; events that it logs are not passed to it */
} watcher;

void log_set_level(enum log_level level)
{
	threshold = level;
}

static bool is_watched(enum log_level level)
{
	return watcher.fn && level <= watcher.level && pthread_equal(watcher.thread, pthread_self()) && !watcher.busy;
}

bool log_shows(enum log_level level)
{
	return level <= threshold || is_watched(level);
}

void log_watch(log_fn *fn, void *ctx, enum log_level level)
{
	watcher.fn = fn;
	watcher.ctx = ctx;
	watcher.level = level;
	watcher.thread = pthread_self();
}

void log_unwatch(const void *ctx)
{
	if (watcher.ctx == ctx)
		log_watch(NULL, NULL, LOG_ERROR);
}

void log_init(void)
{
	const char *wanted = getenv("HUSK_LOG");
	for (size_t i = 0; wanted && log_levels[i]; i++)
		if (streq(wanted, log_levels[i]))
			threshold = (enum log_level)i;
}

static void add_time(struct buf *line)
{
	char text[32];
	struct timespec now;
	struct tm tm;
	clock_gettime(CLOCK_REALTIME, &now);
	if (!gmtime_r(&now.tv_sec, &tm))
		return;
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	buf_printf(line, "%s.%03ldZ ", text, now.tv_nsec / 1000000);
}

static void add_text(struct buf *line, const char *text)
{
	size_t n = strlen(text);
	while (n && text[n - 1] == '\n')
		n--;
	for (size_t i = 0; i < n; i++) {
		bool control = (unsigned char)text[i] < 0x20 || text[i] == 0x7f;
		if (text[i] == '\n')
			buf_add_str(line, "\n  ");
		else
			buf_add(line, control ? "?" : &text[i], 1);
	}
}

void log_line(enum log_level level, const char *fmt, ...)
{
	static const char *const prefix[] = { "", "warning: ", "info: ", "debug: " };
	if (!log_shows(level))
		return;
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *text = xvasprintf(fmt, ap);
	va_end(ap);
	if (is_watched(level)) {
		watcher.busy = true;
		watcher.fn(watcher.ctx, level, text);
		watcher.busy = false;
	}
	if (level > threshold)
		return;
	AUTO(buf_release) struct buf line = { 0 };
	buf_printf(&line, "husk: ");
	if (threshold == LOG_DEBUG)
		add_time(&line);
	buf_printf(&line, "%s", prefix[level]);
	add_text(&line, text);
	buf_printf(&line, "\n");
	fwrite(line.data, 1, line.len, stderr);
}
