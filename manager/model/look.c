#include "manager/model/look.h"

#include "base/alloc.h"

void look_release(struct look *l)
{
	for (size_t i = 0; i < l->n_disks; i++)
		free(l->disks[i].path);
	for (size_t i = 0; i < l->n_variables; i++) {
		free(l->variables[i].name);
		free(l->variables[i].type);
		free(l->variables[i].shape);
	}
	free(l->variables);
	*l = (struct look){ 0 };
}
