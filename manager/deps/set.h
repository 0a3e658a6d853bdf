/* A set of dependencies as plain data: which entries are allowed, its name, its sources, and how long it is valid.
 * Nothing here contacts a network or an engine. The runtime's manifest defines what a name or a version looks
 * like. */
#ifndef HUSK_MANAGER_DEPS_SET_H
#define HUSK_MANAGER_DEPS_SET_H

#include "base/buf.h"
#include "base/strv.h"
#include "manager/model/result.h"
#include "manager/model/runtime.h"
#include "manager/model/token.h"
#include "manager/store/store.h"

#define DEPS_IMAGE "husk-deps"
#define DEPS_KEY_SIZE TOKEN_HASH_SIZE
/* More than any session needs, and few enough for every installer's argument list. */
#define DEPS_MAX 200
#define DEPS_NAME_MAX 214
#define DEPS_VERSION_MAX 256
/* Longest version in an installer's report. */
#define DEPS_FOUND_MAX 64

/* -1 with f, which names the first bad entry. */
int deps_check(const struct runtime *runtime, const struct dependency *v, size_t n, struct fail *f);
/* True if an entry leaves the version open, so that the set becomes outdated. */
bool deps_unpinned(const struct runtime *runtime, const struct dependency *v, size_t n);
/* A bash command that installs them in a running session. The caller owns it. NULL with f. */
char *deps_command(const struct runtime *runtime, const struct dependency *v, size_t n, struct fail *f);
/* {"name":"version",…}, sorted, so that equal sets have equal text. The caller owns it. */
char *deps_wanted(const struct dependency *v, size_t n);
/* The set's name: a hash of its base image, the requested packages and their sources (NAME=value, without logins). */
void deps_key(char ret[DEPS_KEY_SIZE], const char *image, const char *wanted, const struct strv *sources);

/* The runtime's index settings as NAME=value. Leave the logins out wherever code can see the result. */
void deps_sources(struct strv *ret, const struct runtime *runtime, const struct config *config, bool with_logins);
/* Removes user and password from URLs that are separated by spaces. The caller owns the result. */
char *deps_without_login(const char *urls);
/* Adds the secrets that must never be shown: logins and passwords, as they are in the URLs and decoded. */
void deps_secrets(struct strv *ret, const struct strv *sources);
/* Appends n bytes of text to out, with secrets replaced by stars. */
void deps_scrub(struct buf *out, const char *text, size_t n, const struct strv *secrets);

/* The content of a set. versions is JSON, name -> version as installed; owned. */
struct deps_content {
	char *versions;
	uint64_t size;	/* bytes */
	uint64_t built; /* ms */
};
/* Parses an installer's report of what it has installed; NULL if it is not valid. The caller owns it. */
char *deps_read_report(const struct mime_bundle *result, const char *wanted, uint64_t *ret_size);
/* The name of the image of the set with this key; NULL if it is not a key. The caller owns it. */
char *deps_image(const char *key);
/* The labels of a set's image, and the parser for them; -1 if they are not those of the set with this key. The
 * labels are untrusted: every user of the engine can write them. */
void deps_labels(struct strv *ret, const char *key, const struct deps_content *content);
int deps_read_labels(struct deps_content *ret, const struct strv *labels, const char *key, const char *wanted);

/* True if a set built at that time is too old now. */
bool deps_stale(bool unpinned, uint64_t built_ms, uint64_t now_ms, uint64_t max_age_days);
/* Chooses the least recently used sets (list is in that order) to remove, so that the rest fits into max_bytes.
 * Never chooses `keep` or a set that is being built. Returns their number; their indices are in ret, which has room
 * for list->n. */
size_t deps_evict(const struct set_list *list, uint64_t max_bytes, const char *keep, size_t *ret);

#endif
