/* What a session consists of, for its own files. */
#ifndef HUSK_MANAGER_SESSION_SESSION_PRIVATE_H
#define HUSK_MANAGER_SESSION_SESSION_PRIVATE_H

#include "manager/line/line.h"
#include "manager/model/token.h"
#include "manager/session/session.h"

struct session {
	char id[TOKEN_SIZE];
	char *container;
	char *mark;		  /* the label of its container; NULL = it has none */
	char *store;		  /* likewise, of one that was adopted; NULL = this process has started it */
	bool own;		  /* the container is known to be this session's */
	bool stops;		  /* as soon as that is known */
	struct session_spec spec; /* its strings are not read */
	char *image;
	enum session_state state;
	bool lost;
	bool unclaimed; /* and is not to be told yet */
	bool claimed;	/* PID 1 knows whose it is */
	bool kernel_up;
	struct fail death;
	uint64_t epoch;
	uint64_t created_ms;
	uint64_t ends_ms; /* its hard lifetime; 0 = none, or not known yet */
	uint64_t oom_ms;
	uint64_t look_until_ms; /* when an adoption is given up whose engine does not answer */
	struct engine_task *task;
	struct transport *transport; /* the line's */
	struct line *line;
	struct timer *deadline;
	struct engine_query *query; /* how the container ended, where no events tell */
	struct fail ending;	    /* what PID 1 said when it ended by itself, or an event while it was made */
	char container_id[65];	    /* "" until it is known */
	char ending_id[65];	    /* of the container that the event was of */
	struct fail unexplained;    /* the death that the owner is asked about; kind 0 = none */
	uint64_t engine_away_ms;    /* when the engine was last found to be away; 0 = it was not */
};

#endif
