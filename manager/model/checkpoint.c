#include "manager/model/checkpoint.h"

#include "base/alloc.h"

static const char *const names[CHECKPOINT_ACTIONS] = { [CHECKPOINT_SAVE] = "save",
						       [CHECKPOINT_UNDO] = "undo",
						       [CHECKPOINT_BRANCH] = "branch",
						       [CHECKPOINT_KEEP] = "keep",
						       [CHECKPOINT_DROP] = "drop" };

const char *checkpoint_action_name(enum checkpoint_action action)
{
	return names[action];
}

enum checkpoint_action checkpoint_action_find(const char *name)
{
	size_t i = 0;
	while (i < CHECKPOINT_ACTIONS && !(name && streq(names[i], name)))
		i++;
	return (enum checkpoint_action)i;
}

void checkpoint_info_release(struct checkpoint_info *c)
{
	free(c->name);
	free(c->state);
	strv_release(&c->lost);
	*c = (struct checkpoint_info){ 0 };
}

void checkpoint_infos_free(struct checkpoint_info *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		checkpoint_info_release(&v[i]);
	free(v);
}

struct restored *restored_free(struct restored *r)
{
	if (!r)
		return NULL;
	free(r->name);
	strv_release(&r->lost);
	strv_release(&r->files);
	free(r);
	return NULL;
}

static void copy_texts(struct strv *to, const struct strv *from)
{
	*to = (struct strv){ 0 };
	for (size_t i = 0; i < from->n; i++)
		strv_add(to, from->v[i]);
}

struct restored *restored_copy(const struct restored *r)
{
	if (!r)
		return NULL;
	struct restored *c = new0(struct restored);
	*c = *r;
	c->name = r->name ? xstrdup(r->name) : NULL;
	copy_texts(&c->lost, &r->lost);
	copy_texts(&c->files, &r->files);
	return c;
}

void checkpoint_answer_release(struct checkpoint_answer *a)
{
	if (a->saved)
		checkpoint_info_release(a->saved);
	free(a->saved);
	restored_free(a->restored);
	free(a->note);
	strv_release(&a->dropped);
	checkpoint_infos_free(a->checkpoints, a->n_checkpoints);
	checkpoint_infos_free(a->branches, a->n_branches);
	*a = (struct checkpoint_answer){ 0 };
}
