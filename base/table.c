#include "base/table.h"

#include <search.h>

#include "base/alloc.h"

struct row {
	const void *key; /* stored behind the value, or the caller's when searching */
	size_t key_len;
	char value[];
};

static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->key_len != y->key_len)
		return x->key_len < y->key_len ? -1 : 1;
	return x->key_len ? memcmp(x->key, y->key, x->key_len) : 0;
}

static struct row *find(const struct table *t, const void *key, size_t key_len)
{
	const struct row wanted = { .key = key, .key_len = key_len };
	void *const *found = tfind(&wanted, &t->root, compare);
	return found ? *found : NULL;
}

bool table_add(struct table *t, const void *key, size_t key_len, const void *value, size_t value_len)
{
	if (find(t, key, key_len))
		return false;
	struct row *row = xcalloc(1, sizeof(*row) + value_len + 1 + key_len);
	char *own_key = row->value + value_len + 1;
	if (value_len)
		memcpy(row->value, value, value_len);
	if (key_len)
		memcpy(own_key, key, key_len);
	row->key = own_key;
	row->key_len = key_len;
	if (!tsearch(row, &t->root, compare))
		abort();
	t->n++;
	t->bytes += key_len + value_len;
	return true;
}

void *table_find(const struct table *t, const void *key, size_t key_len)
{
	struct row *row = find(t, key, key_len);
	return row ? row->value : NULL;
}

void table_release(struct table *t)
{
	tdestroy(t->root, free);
	*t = (struct table){ 0 };
}
