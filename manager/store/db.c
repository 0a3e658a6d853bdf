#include "manager/store/db.h"

#include "base/loop.h"
#include "base/utf8.h"

uint64_t db_time_left(const struct db *db)
{
	uint64_t now = loop_now_ms();
	return now < db->deadline_ms ? db->deadline_ms - now : 0;
}

int db_exec(struct db *db, struct db_query *q, struct fail *f)
{
	/* SQLite would store text that is not UTF-8, but Postgres refuses it, so Husk refuses it for both. */
	for (size_t i = 0; i < q->n; i++)
		if (q->params[i].kind == DB_TEXT && !utf8_valid(q->params[i].text, strlen(q->params[i].text)))
			return fail_set(f, FAIL_INTERNAL, "the store accepts only UTF-8 text");
	q->changed = 0;
	return db->ops->exec(db, q, f);
}

int db_transaction(struct db *db, enum db_durability durability, int (*body)(struct db *db, void *ctx, struct fail *f),
		   void *ctx, struct fail *f)
{
	if (db->ops->begin(db, durability, f) == 0 && body(db, ctx, f) == 0 && db->ops->commit(db, f) == 0)
		return 0;
	db->ops->rollback(db);
	return -1;
}

static void take_number(void *ctx, const struct db_value *columns, size_t n)
{
	if (n)
		*(uint64_t *)ctx = column_int(&columns[0]);
}

int db_number(struct db *db, struct db_query *q, uint64_t *ret, struct fail *f)
{
	*ret = 0;
	q->on_row = take_number;
	q->ctx = ret;
	return db_exec(db, q, f);
}
