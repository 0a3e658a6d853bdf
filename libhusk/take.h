/* Copies the manager's answers for the caller. */
#ifndef HUSK_LIBHUSK_TAKE_H
#define HUSK_LIBHUSK_TAKE_H

#include "libhusk/husk.h"
#include "libhusk/pool.h"
#include "manager/manager.h"

/* The caller frees each with the husk_*_free() function of its type. */
struct husk_session *take_session(const struct session_info *info, const char *note);
struct husk_look *take_status(const struct session_details *details);
struct husk_result *take_result(const struct run_result *result);
struct husk_files *take_copies(const struct copy_result *results, size_t n, const char *session);
struct husk_files *take_exports(const struct export_info *v, size_t n);
struct husk_sessions *take_listed(const struct listed_session *v, size_t n, const struct fail *unsure);
struct husk_history *take_history(const struct history *history);

struct husk_checkpoints *take_checkpoints(const struct checkpoint_answer *answer);

/* Parts of other answers, which the pool owns. NULL for NULL. */
const struct husk_restored *take_restored(struct pool *p, const struct restored *restored);
const struct husk_checkpoint *const *take_checkpoint_list(struct pool *p, const struct checkpoint_info *v, size_t n);

/* An empty list of sessions, and a function that adds a session to it. */
struct husk_sessions *take_nothing(void);
void take_add(struct husk_sessions *list, const struct session_info *info);

#endif
