/* Compares the versions of the engine and its runtimes with known container escapes. */
#include <ctype.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "manager/doctor/doctor-private.h"

struct release {
	unsigned v[3];
	unsigned candidate; /* 5 in "1.0.0-rc5", 3 in "1.4.0-rc.3"; 0 = not a release candidate */
};

/* An escape, and the first release with its fix in each release line (such as 1.2.x). A line that is not listed has
 * no fix if it is older than the last one listed. */
struct escape {
	const char *part; /* "runc" */
	const char *cve;
	const char *what;
	struct release fixed[4]; /* ascending; {0} ends the list */
	struct release since;	 /* the first vulnerable release; {0} = all before the fix */
	bool conditional;	 /* affects few engines: only a warning */
};

/* The releases are from the advisories that the comments name or quote. Escapes that concern only builds (BuildKit),
 * Kubernetes (containerd's CRI plugin), Swarm and Docker Desktop are left out. */
static const struct escape escapes[] = {
	/* "Docker 19.03.x before 19.03.1" */
	{ "Engine",
	  "CVE-2019-14271",
	  "`docker cp` runs code of a container as root on the host",
	  { { { 19, 3, 1 } } },
	  .since = { { 19, 3, 0 } } },
	/* GHSA-3fwx-pjgw-3558 */
	{ "Engine", "CVE-2021-41091", "any local user can reach containers' files", { { { 20, 10, 9 } } } },
	/* GHSA-v23v-6jw2-98fq */
	{ "Engine",
	  "CVE-2024-41110",
	  "authorization plugins, if there are any, can be bypassed",
	  { { { 23, 0, 15 } }, { { 25, 0, 6 } }, { { 26, 1, 5 } }, { { 27, 1, 1 } } },
	  .conditional = true },
	/* GHSA-x744-4wpc-v9h2: the previous fix was incomplete */
	{ "Engine",
	  "CVE-2026-34040",
	  "authorization plugins, if there are any, can be bypassed",
	  { { { 29, 3, 1 } } },
	  .conditional = true },
	/* GHSA-36xw-fx78-c5r4 */
	{ "containerd",
	  "CVE-2020-15257",
	  "containers with the host's network can control the shim through its socket",
	  { { { 1, 3, 9 } }, { { 1, 4, 3 } } } },
	/* "through 1.0-rc6" */
	{ "runc", "CVE-2019-5736", "a container can overwrite runc on the host", { { { 1, 0, 0 }, 7 } } },
	/* GHSA-c3xm-pvg7-gh7r */
	{ "runc", "CVE-2021-30465", "a race lets a container mount the host's files", { { { 1, 0, 0 }, 95 } } },
	/* GHSA-xr7r-f8xq-vfvv */
	{ "runc", "CVE-2024-21626", "a leaked file descriptor gives access to the host's files", { { { 1, 1, 12 } } } },
	/* GHSA-9493-h29p-rfm2, GHSA-qw9x-cqr3-wc7r, GHSA-cgrx-mc8f-2prm */
	{ "runc",
	  "CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881",
	  "races on masked paths let a container write to the host's /proc",
	  { { { 1, 2, 8 } }, { { 1, 3, 3 } }, { { 1, 4, 0 }, 3 } } },
};

/* Parses "-rc95", "-rc.3" or "~rc95". A candidate without a number counts as the first. */
static unsigned read_candidate(const char *version)
{
	const char *at = strstr(version, "rc");
	if (!at || at == version || !strchr("-~", at[-1]))
		return 0;
	unsigned n = 0;
	for (at += at[2] == '.' ? 3 : 2; isdigit((unsigned char)*at) && n < 1000000; at++)
		n = n * 10 + (unsigned)(*at - '0');
	return MAX(n, 1);
}

/* Parses the numbers at the start of a version; false if there are none. */
static bool read_release(const char *version, struct release *ret)
{
	*ret = (struct release){ .candidate = read_candidate(version) };
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
	/* A release comes after all of its candidates: its 0 - 1 wraps around to the largest number. */
	unsigned x = a->candidate - 1, y = b->candidate - 1;
	return x == y ? 0 : x < y ? -1 : 1;
}

/* Releases of one line share the first two numbers. */
static bool has_fix(const struct escape *e, const struct release *r)
{
	size_t last = 0;
	if (e->since.v[0] && compare(r, &e->since) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(e->fixed) && e->fixed[i].v[0]; i++) {
		last = i;
		if (e->fixed[i].v[0] == r->v[0] && e->fixed[i].v[1] == r->v[1])
			return compare(r, &e->fixed[i]) >= 0;
	}
	return compare(r, &e->fixed[last]) > 0;
}

/* True for versions such as "1.1.5+ds1-1+deb12u1", "1.1.12-0ubuntu2" and "20.10.24+dfsg1". Distributions backport
 * fixes to old versions. */
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
	bool conditional = true;
	if (!component->version || !read_release(component->version, &release)) {
		checks_add(c, name, CHECK_WARN, NULL, "the engine does not report its version");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
		const struct escape *e = &escapes[i];
		if (!streq(e->part, part) || has_fix(e, &release))
			continue;
		conditional &= e->conditional;
		buf_printf(&open, "%s %s (%s)", open.len ? "," : "", e->cve, e->what);
		/* The releases that fix the last escape also fix those before it. */
		buf_reset(&enough);
		for (size_t k = 0; k < ARRAY_LEN(e->fixed) && e->fixed[k].v[0]; k++)
			buf_printf(&enough, "%s%u.%u.%u", k ? ", " : "", e->fixed[k].v[0], e->fixed[k].v[1],
				   e->fixed[k].v[2]);
	}
	if (!open.len) {
		checks_add(c, name, CHECK_OK, NULL, "%s: all known escapes are fixed", component->version);
		return;
	}
	bool theirs =
		is_distribution_s(component->version) || (component->build && is_distribution_s(component->build));
	AUTO(freep) char *fix =
		xasprintf("%s%s %s or newer",
			  theirs ? "check whether your distribution has backported the fixes, or install " : "install ",
			  streq(part, "Engine") ? "docker" : part, buf_str(&enough));
	checks_add(c, name, theirs || conditional ? CHECK_WARN : CHECK_FAIL, fix, "%s%s%s: older than the fix for%s",
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
