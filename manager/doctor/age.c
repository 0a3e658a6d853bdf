/* How old the engine and what it runs containers with are, by the escapes that are known. */
#include <ctype.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "manager/doctor/doctor-private.h"

struct release {
	unsigned v[3];
	bool is_candidate; /* "1.0.0-rc5": before the release of that number */
};

/* An escape, and the releases that closed it: of each line the first one that has the fix. A line that is not named and older than
 * the last one has it not. */
struct escape {
	const char *part; /* "runc" */
	const char *cve;
	const char *what;
	struct release fixed[4]; /* rising; {0} ends it */
};

static const struct escape escapes[] = {
	{ "Engine", "CVE-2019-14271", "`docker cp` runs code of a container as root", { { { 19, 3, 1 } } } },
	{ "Engine", "CVE-2021-41091", "any local user reaches into containers' files", { { { 20, 10, 9 } } } },
	{ "Engine",
	  "CVE-2024-41110",
	  "authorization plugins can be passed by",
	  { { { 23, 0, 15 } }, { { 25, 0, 6 } }, { { 26, 1, 5 } }, { { 27, 1, 1 } } } },
	{ "containerd",
	  "CVE-2020-15257",
	  "the shim's socket is open to containers with the host's network",
	  { { { 1, 3, 9 } }, { { 1, 4, 3 } } } },
	{ "runc", "CVE-2019-5736", "a container overwrites runc on the host", { { { 1, 0, 0 } } } },
	{ "runc", "CVE-2021-30465", "a mount is raced out of the container", { { { 1, 0, 0 } } } },
	{ "runc", "CVE-2024-21626", "a leaked descriptor leads to the host's files", { { { 1, 1, 12 } } } },
	{ "runc",
	  "CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881",
	  "races with masked paths lead to the host's /proc",
	  { { { 1, 2, 8 } }, { { 1, 3, 3 } }, { { 1, 4, 0 } } } },
};

/* The numbers that a version begins with; false if it begins with none. */
static bool read_release(const char *version, struct release *ret)
{
	*ret = (struct release){ .is_candidate = strstr(version, "-rc") };
	for (size_t i = 0; i < ARRAY_LEN(ret->v); i++) {
		if (!isdigit((unsigned char)*version))
			return i > 0;
		while (isdigit((unsigned char)*version) && ret->v[i] < 1000000)
			ret->v[i] = ret->v[i] * 10 + (unsigned)(*version++ - '0');
		if (*version++ != '.')
			return true;
	}
	return true;
}

static int compare(const struct release *a, const struct release *b)
{
	for (size_t i = 0; i < ARRAY_LEN(a->v); i++)
		if (a->v[i] != b->v[i])
			return a->v[i] < b->v[i] ? -1 : 1;
	return (int)b->is_candidate - (int)a->is_candidate;
}

/* A line is what shares the first two numbers. */
static bool has_fix(const struct escape *e, const struct release *r)
{
	size_t last = 0;
	for (size_t i = 0; i < ARRAY_LEN(e->fixed) && e->fixed[i].v[0]; i++) {
		last = i;
		if (e->fixed[i].v[0] == r->v[0] && e->fixed[i].v[1] == r->v[1])
			return compare(r, &e->fixed[i]) >= 0;
	}
	return compare(r, &e->fixed[last]) > 0;
}

/* "1.1.5+ds1-1+deb12u1", "1.1.12-0ubuntu2", "20.10.24+dfsg1": fixes come under the old number. */
static bool is_distribution_s(const char *version)
{
	static const char *const marks[] = { "deb", "ubuntu", "+ds", "~ds", "dfsg", ".el", ".fc", ".amzn" };
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (strstr(version, marks[i]))
			return true;
	return false;
}

static void judge_part(struct checks *c, const char *name, const char *part, const struct engine_component *component)
{
	AUTO(buf_release) struct buf open = { 0 };
	AUTO(buf_release) struct buf enough = { 0 };
	struct release release;
	if (!component->version || !read_release(component->version, &release)) {
		checks_add(c, name, CHECK_WARN, NULL, "the engine does not say its version");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
		const struct escape *e = &escapes[i];
		if (!streq(e->part, part) || has_fix(e, &release))
			continue;
		buf_printf(&open, "%s %s (%s)", open.len ? "," : "", e->cve, e->what);
		/* What closes the last one closes those before it. */
		buf_reset(&enough);
		for (size_t k = 0; k < ARRAY_LEN(e->fixed) && e->fixed[k].v[0]; k++)
			buf_printf(&enough, "%s%u.%u.%u", k ? ", " : "", e->fixed[k].v[0], e->fixed[k].v[1],
				   e->fixed[k].v[2]);
	}
	if (!open.len) {
		checks_add(c, name, CHECK_OK, NULL, "%s: no escape is known that it has not closed",
			   component->version);
		return;
	}
	bool theirs =
		is_distribution_s(component->version) || (component->build && is_distribution_s(component->build));
	AUTO(freep) char *fix =
		xasprintf("%s%s %s or newer",
			  theirs ? "look up whether your distribution has put the fixes in, or install " : "install ",
			  streq(part, "Engine") ? "docker" : part, buf_str(&enough));
	checks_add(c, name, theirs ? CHECK_WARN : CHECK_FAIL, fix, "%s%s%s: older than the fix of%s",
		   component->version, theirs && component->build ? ", " : "",
		   theirs && component->build ? component->build : "", buf_str(&open));
}

void doctor_judge_age(struct checks *c, const struct engine_version *engine)
{
	bool docker = !*engine->name || streq(engine->name, "Engine");
	if (!docker)
		return;
	judge_part(c, "engine age", "Engine", &(struct engine_component){ .version = engine->version });
	judge_part(c, "containerd", "containerd", &engine->containerd);
	judge_part(c, "runc", "runc", &engine->runc);
}
