/* kernels/gate/hosts: how many names have an address, and how many listeners they have. */
#include "kernels/gate/hosts.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "tests/unit/unit.h"

static struct hosts all;

static int setup(void **state UNUSED)
{
	hosts_init(&all);
	all.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return all.epoll_fd < 0 ? -1 : 0;
}

static int teardown(void **state UNUSED)
{
	hosts_apply(&all, &(struct names){ 0 });
	assert_int_equal(all.n, 0);
	assert_int_equal(all.n_listeners, 0);
	close(all.epoll_fd);
	return 0;
}

static uint32_t address_of(unsigned number, size_t n_ports)
{
	char name[16];
	uint16_t ports[NAME_PORTS_MAX];
	for (size_t i = 0; i < n_ports; i++)
		ports[i] = (uint16_t)(20080 + i);
	snprintf(name, sizeof(name), "n%u.example", number);
	return hosts_address(&all, name, ports, n_ports);
}

static void the_longest_unused_names_give_up_their_addresses(void **state UNUSED)
{
	uint32_t first = address_of(0, 1), second = address_of(1, 1);
	for (unsigned i = 2; i < GATE_HOSTS_MAX; i++)
		address_of(i, 1);
	assert_int_equal(all.n, GATE_HOSTS_MAX);
	assert_int_equal(address_of(0, 1), first);
	address_of(GATE_HOSTS_MAX, 1);
	assert_int_equal(all.n, GATE_HOSTS_MAX);
	assert_int_equal(address_of(0, 1), first);
	assert_int_not_equal(address_of(1, 1), second);
	assert_int_equal(all.n, GATE_HOSTS_MAX);
}

static void listeners_have_a_limit(void **state UNUSED)
{
	for (unsigned i = 0; i < 2 * GATE_LISTENERS_MAX / 16; i++) {
		address_of(i, 16);
		assert_true(all.n_listeners <= GATE_LISTENERS_MAX);
	}
	assert_int_equal(all.n_listeners, GATE_LISTENERS_MAX);
	assert_int_equal(all.n, GATE_LISTENERS_MAX / 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_longest_unused_names_give_up_their_addresses, setup, teardown),
		cmocka_unit_test_setup_teardown(listeners_have_a_limit, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
