/* Shared by the files of config. */
#ifndef HUSK_MANAGER_MODEL_CONFIG_PRIVATE_H
#define HUSK_MANAGER_MODEL_CONFIG_PRIVATE_H

#include "manager/model/config.h"

#define MIB (1ull << 20)
#define TIB (1ull << 40)

struct buf;

/* A SECRET may contain a password. It is shown only to a caller that asks for the setting by name. */
enum setting_kind {
	SETTING_NUMBER,
	SETTING_SIZE,
	SETTING_CPUS,
	SETTING_BOOL,
	SETTING_CHOICE,
	SETTING_BY_NAME, /* has no field; config_lookup() reads it where it is needed */
	SETTING_PATH,	 /* this kind and those below have a char * field */
	SETTING_STRING,
	SETTING_SECRET,
};

struct setting {
	const char *name;
	enum setting_kind kind;
	size_t offset;
	const char *fallback; /* NULL = the field stays NULL or 0 */
	uint64_t min, max;
	const char *const *choices; /* the index is the value; ends with NULL */
	/* For docs/settings.md and husk(1). */
	enum setting_group group;
	const char *usual; /* the default in words, if fallback is NULL */
	const char *meaning, *example;
};

/* config-table.c */
extern const struct setting config_settings[];
extern const size_t config_n_settings;
/* NULL if the table has no such name. */
const struct setting *config_setting(const char *name);

/* Trims both ends in place. */
char *config_trimmed(char *s);
/* -errno; -EFBIG beyond the buffer's limit. Only regular files. */
int config_read_file(const char *path, struct buf *text);
/* Adds the pairs of a settings file to c->file. A missing file is an error only if must_exist. */
int config_load_file(struct config *c, const char *path, bool must_exist, struct fail *f);

#endif
