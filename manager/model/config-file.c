/* The settings file: NAME=value lines. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "manager/model/config-private.h"

#define SETTINGS_FILE_MAX 65536u

int config_read_file(const char *path, struct buf *text)
{
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	for (;;) {
		uint8_t *at = buf_reserve(text, 4096);
		if (!at)
			return -EFBIG;
		ssize_t n = read(fd, at, 4096);
		if (n <= 0)
			return n < 0 ? -errno : 0;
		text->len += (size_t)n;
	}
}

char *config_trimmed(char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	size_t n = strlen(s);
	while (n && (s[n - 1] == ' ' || s[n - 1] == '\t' || s[n - 1] == '\r'))
		s[--n] = '\0';
	return s;
}

/* A value may be quoted; an unquoted one ends at " #". */
static char *value_of(char *s)
{
	s = config_trimmed(s);
	size_t n = strlen(s);
	if (n >= 2 && (*s == '"' || *s == '\'')) {
		char *end = strchr(s + 1, *s);
		if (end) {
			*end = '\0';
			return s + 1;
		}
	}
	char *comment = strstr(s, " #");
	if (comment)
		*comment = '\0';
	return config_trimmed(s);
}

static int parse_file_line(struct config *c, char *line, const char *path, unsigned number, struct fail *f)
{
	line = config_trimmed(line);
	if (!*line || *line == '#')
		return 0;
	if (strncmp(line, "export ", 7) == 0)
		line += 7;
	char *equals = strchr(line, '=');
	if (!equals || equals == line)
		return fail_set(f, FAIL_INVALID, "settings file '%s', line %u: expected NAME=value", path, number);
	*equals = '\0';
	strv_addf(&c->file, "%s=%s", config_trimmed(line), value_of(equals + 1));
	return 0;
}

int config_load_file(struct config *c, const char *path, bool must_exist, struct fail *f)
{
	AUTO(buf_release) struct buf text = { .max = SETTINGS_FILE_MAX };
	int r = config_read_file(path, &text);
	if (r == -ENOENT && !must_exist)
		return 0;
	if (r < 0)
		return fail_set(f, FAIL_INVALID, "cannot read settings file '%s': %s", path, strerror(-r));
	AUTO(freep) char *copy = buf_steal_str(&text);
	unsigned number = 0;
	for (char *rest = copy, *line; (line = strsep(&rest, "\n"));)
		if (parse_file_line(c, line, path, ++number, f) < 0)
			return -1;
	return 0;
}
