#include "manager/store/kept.h"

#include "base/alloc.h"
#include "base/loop.h"
#include "manager/store/db.h"
#include "manager/store/key.h"

#define KEPT_FILE "settings.db"
#define DEADLINE_MS 5000

struct kept {
	struct db *db;
	struct key key;
	const char *name, *value; /* for put */
	struct strv *pairs;	  /* for read */
	struct fail failure;	  /* from reading a row */
};

static char *path_of(const struct kept_place *place)
{
	return xasprintf("%s/" KEPT_FILE, place->state_dir);
}

static int kept_open(struct kept *k, const struct kept_place *place, struct fail *f)
{
	AUTO(freep) char *path = path_of(place);
	const struct db_place file = { .path = path };
	key_init(&k->key, place->secret, place->state_dir);
	return sqlite_open(&k->db, &file, loop_now_ms() + DEADLINE_MS, f);
}

static void kept_close(struct kept *k)
{
	if (k->db)
		k->db->ops->close(k->db);
	key_release(&k->key);
	fail_release(&k->failure);
}

static int make_table(struct db *db, struct fail *f)
{
	struct db_query q = {
		.sql = "CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, sealed TEXT NOT NULL)"
	};
	return db_exec(db, &q, f);
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static void take_row(void *ctx, const struct db_value *columns, size_t n)
{
	struct kept *k = ctx;
	AUTO(freep) char *value = NULL;
	if (n < 2 || columns[0].kind != DB_TEXT || columns[1].kind != DB_TEXT || k->failure.kind)
		return;
	if (key_open(&k->key, columns[0].text, columns[1].text, &value, &k->failure) < 0)
		fail_hint(
			&k->failure,
			"restore the key (ENCRYPTION_KEY, or the file settings.key), or remove the setting: husk config unset %s",
			columns[0].text);
	else
		strv_addf(k->pairs, "%s=%s", columns[0].text, value);
}

static int read_all(struct db *db, void *ctx, struct fail *f)
{
	struct kept *k = ctx;
	struct db_query q = { .sql = "SELECT name, sealed FROM settings ORDER BY name", .on_row = take_row, .ctx = k };
	if (make_table(db, f) < 0 || db_exec(db, &q, f) < 0)
		return -1;
	if (!k->failure.kind)
		return 0;
	fail_move(f, &k->failure);
	return -1;
}

int kept_read(const struct kept_place *place, struct strv *ret, struct fail *f)
{
	AUTO(freep) char *path = path_of(place);
	if (access(path, F_OK) < 0)
		return 0;
	AUTO(kept_close) struct kept k = { .pairs = ret };
	if (kept_open(&k, place, f) < 0 || read_all(k.db, &k, f) < 0)
		return fail_wrap(f, "cannot read the settings stored in '%s'", path);
	return 0;
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

static int put(struct db *db, void *ctx, struct fail *f)
{
	struct kept *k = ctx;
	if (make_table(db, f) < 0)
		return -1;
	if (!k->value) {
		struct db_query q = { .sql = "DELETE FROM settings WHERE name = $1", DB_PARAMS(db_text(k->name)) };
		if (db_exec(db, &q, f) < 0)
			return -1;
		return q.changed ? 0 : fail_set(f, FAIL_NOT_FOUND, "the setting %s is not stored", k->name);
	}
	AUTO(freep) char *sealed = NULL;
	if (key_seal(&k->key, k->name, k->value, &sealed, f) < 0)
		return -1;
	struct db_query q = {
		.sql = "INSERT INTO settings (name, sealed) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed",
		DB_PARAMS(db_text(k->name), db_text(sealed))
	};
	return db_exec(db, &q, f);
}

int kept_put(const struct kept_place *place, const char *name, const char *value, struct fail *f)
{
	AUTO(kept_close) struct kept k = { .name = name, .value = value };
	return kept_open(&k, place, f) < 0 ? -1 : db_transaction(k.db, DB_DURABLE, put, &k, f);
}
