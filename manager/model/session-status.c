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
	for (size_t i = 0; i < s->n_checkpoints; i++)
		checkpoint_info_release(&s->checkpoints[i]);
	free(s->checkpoints);
	free(s->no_checkpoints);
	*s = (struct session_status){ 0 };
}
