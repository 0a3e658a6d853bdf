/* base/list: the loop macro whose body may remove the current node. */
#include "base/list.h"
#include "tests/unit/unit.h"

struct item {
	int value;
	struct list node;
};

static int sum(struct list *head)
{
	int total = 0;
	list_for_each(i, head, struct item, node)
		total = total * 10 + i->value;
	return total;
}

static void fill(struct list *head, struct item *items, int n)
{
	list_init(head);
	for (int i = 0; i < n; i++) {
		items[i].value = i + 1;
		list_append(head, &items[i].node);
	}
}

static void starts_empty(void **state)
{
	struct list head;
	list_init(&head);
	assert_true(list_empty(&head));
	assert_null(list_first(&head, struct item, node));
	assert_int_equal(sum(&head), 0);
}

static void keeps_order(void **state)
{
	struct list head;
	struct item items[4];
	fill(&head, items, 4);
	assert_false(list_empty(&head));
	assert_int_equal(sum(&head), 1234);
	assert_ptr_equal(list_first(&head, struct item, node), &items[0]);
}

static void removes_anywhere_and_twice(void **state)
{
	struct list head;
	struct item items[4];
	fill(&head, items, 4);
	list_remove(&items[1].node);
	list_remove(&items[1].node);
	assert_int_equal(sum(&head), 134);
	list_remove(&items[0].node);
	list_remove(&items[3].node);
	assert_int_equal(sum(&head), 3);
	list_append(&head, &items[0].node);
	assert_int_equal(sum(&head), 31);
	list_remove(&items[2].node);
	list_remove(&items[0].node);
	assert_true(list_empty(&head));
}

static void body_may_remove_the_current_node(void **state)
{
	struct list head;
	struct item items[5];
	fill(&head, items, 5);
	list_for_each(i, &head, struct item, node)
		if (i->value % 2)
			list_remove(&i->node);
	assert_int_equal(sum(&head), 24);
	list_for_each(i, &head, struct item, node)
		list_remove(&i->node);
	assert_true(list_empty(&head));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_empty),
		cmocka_unit_test(keeps_order),
		cmocka_unit_test(removes_anywhere_and_twice),
		cmocka_unit_test(body_may_remove_the_current_node),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
