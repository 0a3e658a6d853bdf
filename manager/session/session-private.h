/* What session.c and session-run.c share. */
#ifndef HUSK_MANAGER_SESSION_SESSION_PRIVATE_H
#define HUSK_MANAGER_SESSION_SESSION_PRIVATE_H

#include "manager/session/session.h"

void session_send_frame(struct session *s, enum frame_type type, uint32_t call);

struct run *runs_find(struct session *s, uint32_t call);
/* After a new hello: PID 1 replays what it knows; what it never heard of is sent again. */
void runs_resume(struct session *s, uint32_t last_known);
/* Ends all with what has come so far and a cause of ours. hint NULL = by how it ended. */
void runs_cut(struct session *s, enum ending ending, const char *detail, const char *hint);
/* Its END has come: acknowledges and answers it. */
void run_ended(struct session *s, struct run *run);
/* Takes it off the session without an answer. */
void run_unlink(struct run *run);

#endif
