/* The struct of a session, for its own files. */
#ifndef HUSK_MANAGER_SESSION_SESSION_PRIVATE_H
#define HUSK_MANAGER_SESSION_SESSION_PRIVATE_H

#include "manager/line/line.h"
#include "manager/model/token.h"
#include "manager/session/session.h"

struct session {
	char id[TOKEN_SIZE];
	char *container;
	char *mark;		  /* label of its container; NULL = it has none */
	char *store;		  /* store label of an adopted container; NULL = this process started it */
	bool own;		  /* the container is known to belong to this session */
	bool stops;		  /* a stop was requested and waits for `own` */
	struct session_spec spec; /* do not read its strings */
	char *image;
	enum session_state state;
	bool lost;
	bool unclaimed; /* warm: no claim was requested yet */
	bool claimed;	/* PID 1 knows its session and conversation */
	bool kernel_up;
	struct fail death;
	uint64_t epoch;
	uint64_t created_ms;
	uint64_t ends_ms; /* end of its maximum lifetime; 0 = none, or not known yet */
	uint64_t oom_ms;
	uint64_t check_until_ms; /* an adoption fails if the engine has not answered by then */
	struct engine_task *task;
	struct transport *transport; /* used by the line */
	struct line *line;
	struct timer *deadline;
	struct engine_query *query; /* checks the container of an adoption, or asks how a container ended */
	struct fail ending;	    /* PID 1's reason for ending by itself, or an event during the create */
	char container_id[65];	    /* "" = not known yet */
	char ending_id[65];	    /* id of the container that this event was about */
	struct fail unexplained;    /* a death whose cause the owner is looking up; kind 0 = none */
	uint64_t engine_away_ms;    /* when the engine was last unreachable; 0 = never */
};

#endif
