#include "manager/model/session-status.h"

#include "base/alloc.h"

void session_status_release(struct session_status *s)
{
	for (size_t i = 0; i < s->n_disks; i++)
		free(s->disks[i].path);
	for (size_t i = 0; i < s->n_variables; i++) {
		free(s->variables[i].name);
		free(s->variables[i].type);
		free(s->variables[i].shape);
	}
	free(s->variables);
	checkpoint_infos_free(s->checkpoints, s->n_checkpoints);
	checkpoint_infos_free(s->branches, s->n_branches);
	free(s->no_checkpoints);
	*s = (struct session_status){ 0 };
}
