#include "manager/deps/set.h"

#include <jansson.h>
#include <regex.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/percent.h"
#include "base/shape.h"
#include "manager/engine/engine.h"

#define DAY_MS 86400000ull
/* Shorter secrets are not replaced, since that would hide much of an installer's output. */
#define SECRET_MIN 4
/* A report has a name of up to DEPS_NAME_MAX and a version of up to DEPS_FOUND_MAX characters for each of DEPS_MAX
 * packages, and little else. It is parsed on the loop, so a larger or differently shaped one is rejected without
 * parsing. */
#define REPORT_BYTES_MAX (128u << 10)
#define REPORT_VALUES_MAX (2 * DEPS_MAX)
#define REPORT_DEPTH_MAX 2

/* --- validation -------------------------------------------------------------------------------------------------- */

static void regfreep(regex_t **r)
{
	if (*r)
		regfree(*r);
}

/* Matches the whole text against a pattern from this build's own manifests. */
static bool matches(const char *pattern, const char *text)
{
	regex_t compiled;
	AUTO(freep) char *whole = xasprintf("^(%s)$", pattern);
	if (regcomp(&compiled, whole, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	AUTO(regfreep) regex_t *release = &compiled;
	return regexec(release, text, 0, NULL, 0) == 0;
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
			return false;
	return true;
}

static int check_one(const struct installer *installer, const struct dependency *d, struct fail *f)
{
	if (strlen(d->name) > DEPS_NAME_MAX || !is_printable(d->name) || !matches(installer->name, d->name)) {
		fail_set(
			f, FAIL_INVALID,
			"Invalid package name: '%.214s'. Names must contain only letters, digits, dots, hyphens, underscores, and slashes.",
			d->name);
		return fail_hint(f, "%s", installer->rules);
	}
	if (*d->version && (strlen(d->version) > DEPS_VERSION_MAX || !is_printable(d->version) ||
			    !matches(installer->version, d->version))) {
		fail_set(f, FAIL_INVALID, "Invalid version of package '%s': '%.256s'", d->name, d->version);
		return fail_hint(f, "%s", installer->rules);
	}
	return 0;
}

int deps_check(const struct runtime *runtime, const struct dependency *v, size_t n, struct fail *f)
{
	if (n && !runtime->installer)
		return fail_set(f, FAIL_INVALID, "the %s runtime does not support dependencies", runtime->name);
	if (n > DEPS_MAX)
		return fail_set(f, FAIL_INVALID, "%zu dependencies exceed the limit of a session (%d)", n, DEPS_MAX);
	for (size_t i = 0; i < n; i++)
		if (check_one(runtime->installer, &v[i], f) < 0)
			return -1;
	return 0;
}

bool deps_unpinned(const struct runtime *runtime, const struct dependency *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!*v[i].version || !matches(runtime->installer->pinned, v[i].version))
			return true;
	return false;
}

/* --- the set's name ---------------------------------------------------------------------------------------------- */

char *deps_wanted(const struct dependency *v, size_t n)
{
	json_auto_t *o = json_object();
	for (size_t i = 0; i < n; i++)
		json_object_set_new(o, v[i].name, json_string(v[i].version));
	char *text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
	return text ? text : xstrdup("{}");
}

void deps_key(char ret[DEPS_KEY_SIZE], const char *image, const char *wanted, const struct strv *sources)
{
	AUTO(strv_release) struct strv texts = { 0 };
	strv_add_all(&texts, image, wanted, NULL);
	for (size_t i = 0; i < sources->n; i++)
		strv_add(&texts, sources->v[i]);
	token_hash(ret, (const char *const *)texts.v, texts.n);
}

char *deps_command(const struct runtime *runtime, const struct dependency *v, size_t n, struct fail *f)
{
	const char *later = runtime->installer ? runtime->installer->later : NULL;
	if (!later) {
		cause_set(f, FAIL_INVALID, CAUSE_NOT_SUPPORTED, "The %s runtime cannot install packages in a session.",
			  runtime->name);
		fail_hint(f, "Run its installer as a command.");
		return NULL;
	}
	if (!n) {
		fail_set(f, FAIL_INVALID, "No package is named.");
		return NULL;
	}
	if (deps_check(runtime, v, n, f) < 0)
		return NULL;
	AUTO(freep) char *wanted = deps_wanted(v, n);
	/* No pattern of a runtime allows it in a name or a version. */
	if (strchr(wanted, '\'')) {
		fail_set(f, FAIL_INVALID, "The name or version of a package contains a quote.");
		return NULL;
	}
	return xasprintf("%s 198<<<'%s'", later, wanted);
}

/* --- package indexes --------------------------------------------------------------------------------------------- */

/* The user part of a URL: from after "//" to the last "@" of the authority; false if it has none. */
static bool find_login(const char *url, size_t n, size_t *ret_start, size_t *ret_end)
{
	const char *slashes = memmem(url, n, "//", 2);
	if (!slashes)
		return false;
	size_t start = (size_t)(slashes - url) + 2, at = 0;
	for (size_t i = start; i < n && !strchr("/?#", url[i]); i++)
		if (url[i] == '@')
			at = i;
	*ret_start = start;
	*ret_end = at;
	return at > 0;
}

char *deps_without_login(const char *urls)
{
	struct buf out = { 0 };
	while (*urls) {
		size_t blank = strspn(urls, " \t\r\n"), n = strcspn(urls + blank, " \t\r\n"), start, end;
		const char *url = urls + blank;
		buf_add(&out, urls, blank);
		if (find_login(url, n, &start, &end)) {
			buf_add(&out, url, start);
			buf_add(&out, url + end + 1, n - end - 1);
		} else {
			buf_add(&out, url, n);
		}
		urls = url + n;
	}
	return buf_steal_str(&out);
}

void deps_sources(struct strv *ret, const struct runtime *runtime, const struct config *config, bool with_logins)
{
	for (const char *const *name = runtime->installer ? runtime->installer->settings : NULL; name && *name;
	     name++) {
		const char *value = config_lookup(config, *name);
		AUTO(freep) char *open = value && !with_logins ? deps_without_login(value) : NULL;
		if (value)
			strv_addf(ret, "%s=%s", *name, open ? open : value);
	}
}

static void add_secret(struct strv *ret, const char *text, size_t n)
{
	AUTO(freep) char *plain = xstrndup(text, n);
	AUTO(freep) char *clear = percent_decode(text, n);
	if (strlen(plain) >= SECRET_MIN)
		strv_add(ret, plain);
	if (strlen(clear) >= SECRET_MIN && !streq(plain, clear))
		strv_add(ret, clear);
}

void deps_secrets(struct strv *ret, const struct strv *sources)
{
	for (size_t i = 0; i < sources->n; i++) {
		const char *url = strchr(sources->v[i], '=');
		for (size_t n, start, end; url && *url; url += n) {
			url += strspn(url, "= \t\r\n");
			n = strcspn(url, " \t\r\n");
			if (!find_login(url, n, &start, &end))
				continue;
			const char *login = url + start, *colon = memchr(login, ':', end - start);
			/* The longest first, so that no remainder of a secret is shown. */
			add_secret(ret, login, end - start);
			if (colon)
				add_secret(ret, colon + 1, end - start - (size_t)(colon + 1 - login));
		}
	}
}

void deps_scrub(struct buf *out, const char *text, size_t n, const struct strv *secrets)
{
	for (size_t i = 0; i < n;) {
		size_t hit = 0;
		for (size_t k = 0; k < secrets->n && !hit; k++) {
			size_t len = strlen(secrets->v[k]);
			if (len <= n - i && memcmp(text + i, secrets->v[k], len) == 0)
				hit = len;
		}
		if (hit)
			buf_add_str(out, "****");
		else
			buf_add(out, text + i, 1);
		i += hit ? hit : 1;
	}
}

/* --- content ----------------------------------------------------------------------------------------------------- */

/* A package can write any report and any metadata of its own. So only requested names are accepted, and a version
 * must not contain characters with a special meaning. */
static bool is_version(const json_t *value)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_!~^";
	const char *text = json_string_value(value);
	size_t n = json_string_length(value);
	return text && n && n <= DEPS_FOUND_MAX && strspn(text, allowed) == n;
}

static bool is_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_~@/[], ";
	size_t n = strlen(name);
	return n && n <= DEPS_NAME_MAX && strspn(name, allowed) == n;
}

/* Versions of requested packages only; NULL if they are not valid. */
static char *checked_versions(json_t *versions, const char *wanted)
{
	const char *name;
	json_t *value;
	json_auto_t *requested = json_loads(wanted, 0, NULL), *found = json_object();
	if (!json_is_object(versions) || !json_is_object(requested))
		return NULL;
	json_object_foreach(versions, name, value) {
		if (!is_name(name) || !is_version(value))
			return NULL;
		if (json_object_get(requested, name))
			json_object_set(found, name, value);
	}
	return json_dumps(found, JSON_COMPACT | JSON_SORT_KEYS);
}

static json_t *parse_report(const struct mime_part *part)
{
	if (part->len > REPORT_BYTES_MAX)
		return NULL;
	struct shape shape = shape_of(part->data, part->len);
	if (shape.values > REPORT_VALUES_MAX || shape.depth > REPORT_DEPTH_MAX || shape.containers > REPORT_DEPTH_MAX)
		return NULL;
	return json_loadb(part->data, part->len, 0, NULL);
}

char *deps_read_report(const struct mime_bundle *result, const char *wanted, uint64_t *ret_size)
{
	json_auto_t *report = NULL;
	for (size_t i = 0; i < result->n && !report; i++)
		if (streq(result->parts[i].type, "application/json"))
			report = parse_report(&result->parts[i]);
	json_int_t size = json_integer_value(json_object_get(report, "size"));
	char *versions = size >= 0 ? checked_versions(json_object_get(report, "versions"), wanted) : NULL;
	if (versions)
		*ret_size = (uint64_t)size;
	return versions;
}

char *deps_image(const char *key)
{
	size_t n = TOKEN_HASH_SIZE - 1;
	bool good = strlen(key) == n && strspn(key, "0123456789abcdef") == n;
	return good ? xasprintf(DEPS_IMAGE ":%s", key) : NULL;
}

void deps_labels(struct strv *ret, const char *key, const struct deps_content *content)
{
	strv_addf(ret, BAKE_LABEL "=%s", key);
	strv_addf(ret, "husk.versions=%s", content->versions);
	strv_addf(ret, "husk.size=%llu", (unsigned long long)content->size);
	strv_addf(ret, "husk.built=%llu", (unsigned long long)content->built);
}

/* The value of a label; NULL if it is missing. */
static const char *label(const struct strv *labels, const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < labels->n; i++)
		if (strncmp(labels->v[i], name, n) == 0 && labels->v[i][n] == '=')
			return labels->v[i] + n + 1;
	return NULL;
}

int deps_read_labels(struct deps_content *ret, const struct strv *labels, const char *key, const char *wanted)
{
	const char *of = label(labels, BAKE_LABEL);
	const char *versions = label(labels, "husk.versions");
	const char *size = label(labels, "husk.size");
	const char *built = label(labels, "husk.built");
	struct deps_content content = { 0 };
	json_auto_t *parsed = versions ? json_loads(versions, 0, NULL) : NULL;
	if (!of || !streq(of, key) || !size || parse_u64(size, &content.size) < 0 || !built ||
	    parse_u64(built, &content.built) < 0)
		return -1;
	content.versions = checked_versions(parsed, wanted);
	if (!content.versions)
		return -1;
	*ret = content;
	return 0;
}

/* --- age and cache size ------------------------------------------------------------------------------------------ */

bool deps_stale(bool unpinned, uint64_t built_ms, uint64_t now_ms, uint64_t max_age_days)
{
	return unpinned && built_ms <= now_ms && now_ms - built_ms > max_age_days * DAY_MS;
}

size_t deps_evict(const struct set_list *list, uint64_t max_bytes, const char *keep, size_t *ret)
{
	uint64_t total = 0;
	size_t n = 0;
	for (size_t i = 0; i < list->n; i++)
		total += list->v[i].size;
	for (size_t i = 0; i < list->n && total > max_bytes; i++) {
		if (list->v[i].builder || streq(list->v[i].key, keep))
			continue;
		total -= list->v[i].size;
		ret[n++] = i;
	}
	return n;
}
