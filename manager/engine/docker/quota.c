#include "manager/engine/docker/quota.h"

#define LINE_MAX_BYTES 8192

static void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static bool has_option(const char *options, const char *wanted)
{
	size_t n = strlen(wanted);
	for (const char *p = options; (p = strstr(p, wanted)); p += n)
		if ((p == options || p[-1] == ',') && (!p[n] || strchr(",\n", p[n])))
			return true;
	return false;
}

const char *quota_mounts = "/proc/self/mountinfo";

bool quota_is_likely(void)
{
	AUTO(fclosep) FILE *f = fopen(quota_mounts, "re");
	char line[LINE_MAX_BYTES];
	while (f && fgets(line, sizeof(line), f)) {
		/* "… - xfs /dev/sda1 rw,attr2,prjquota" */
		char *rest = strstr(line, " - "), *type, *source;
		if (!rest)
			continue;
		rest += 3;
		type = strsep(&rest, " ");
		source = strsep(&rest, " ");
		if (source && rest && streq(type, "xfs") &&
		    (has_option(rest, "prjquota") || has_option(rest, "pquota")))
			return true;
	}
	return false;
}
