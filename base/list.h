/* Intrusive doubly linked list. A head and an unlinked node point at themselves; list_remove() is idempotent. */
#ifndef HUSK_BASE_LIST_H
#define HUSK_BASE_LIST_H

#include "base/defs.h"

struct list {
	struct list *prev;
	struct list *next;
};

static inline void list_init(struct list *l)
{
	l->prev = l->next = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_append(struct list *head, struct list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

#define list_entry(node, type, member) container_of(node, type, member)
#define list_first(head, type, member) (list_empty(head) ? NULL : list_entry((head)->next, type, member))

/* The body may remove the current node. */
#define list_for_each(pos, head, type, member)                                                                         \
	for (type *pos = list_entry((head)->next, type, member),                                                       \
		  *pos##_next_ = list_entry(pos->member.next, type, member);                                           \
	     &pos->member != (head); pos = pos##_next_, pos##_next_ = list_entry(pos->member.next, type, member))

static inline size_t list_length(const struct list *l)
{
	size_t n = 0;
	for (const struct list *at = l->next; at && at != l; at = at->next)
		n++;
	return n;
}

#endif
