#include "manager/store/db.h"

int postgres_open(struct db **ret, const struct db_place *place, uint64_t deadline_ms, struct fail *f)
{
	(void)ret, (void)place, (void)deadline_ms;
	return fail_set(f, FAIL_STORE, "this build has no Postgres yet");
}
