#include "base/log.h"

#include "base/alloc.h"
#include "base/utf8.h"

static enum log_level threshold = LOG_WARNING;

void log_set_level(enum log_level level)
{
	threshold = level;
}

void log_init(void)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };
	const char *wanted = getenv("HUSK_LOG");
	for (size_t i = 0; wanted && i < ARRAY_LEN(names); i++)
		if (streq(wanted, names[i]))
			threshold = (enum log_level)i;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	static const char *const prefix[] = { "error: ", "warning: ", "", "debug: " };
	if (level > threshold)
		return;
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *text = xvasprintf(fmt, ap);
	va_end(ap);
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	/* Names of others are part of it: nothing in it is hidden or reordered. */
	AUTO(buf_release) struct buf shown = { 0 };
	utf8_clean_name(&shown, text);
	fprintf(stderr, "husk: %s%s\n", prefix[level], buf_str(&shown));
}
