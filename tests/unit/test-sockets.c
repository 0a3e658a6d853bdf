/* kernels/guard/sockets: the kernel's list of a namespace's sockets, and their memory. */
/* evidence: container-sockets */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "kernels/guard/sockets.h"
#include "kernels/system/limits.h"
#include "tests/unit/unit.h"

#define MIB (1ull << 20)

static void files_of_the_kernel_are_parsed(void **state)
{
	uint64_t bytes, n;
	sockets_parse_stat("sockets: used 92\nTCP: inuse 1 orphan 0 tw 0 alloc 15 mem 65\nUDP: inuse 0 mem 3\n"
			   "UDPLITE: inuse 0\nRAW: inuse 0\nFRAG: inuse 0 memory 7\n",
			   &bytes, &n);
	assert_int_equal(bytes, 68 * sysconf(_SC_PAGESIZE));
	assert_int_equal(n, 92);
	sockets_parse_stat("nonsense\nTCP: \nUDP: inuse 5\nFRAG: mem 9\n", &bytes, &n);
	assert_int_equal(bytes, 0);
	assert_int_equal(n, 0);
	assert_int_equal(sockets_parse_netlink("sk               Eth Pid        Groups   Rmem     Wmem"), 0);
	assert_int_equal(
		sockets_parse_netlink(
			"0000000000000000 0   1234       00000000 4096     512      0     2        0        1     \n"),
		4608);
	assert_int_equal(sockets_parse_icmp("  sl  local_address rem_address   st tx_queue rx_queue tr"), 0);
	assert_int_equal(sockets_parse_icmp(
				 "   79: 00000000:004F 00000000:0000 07 00000100:00000200 00:00000000 00000000  1000"),
			 768);
	assert_int_equal(sockets_parse_icmp("   79: 00000000000000000000000000000000:004F "
					    "00000000000000000000000000000000:0000 07 00000000:00000200 00:00000000"),
			 512);
}

static void the_limit_is_a_share_of_the_memory(void **state)
{
	assert_int_equal(sockets_limit(2048 * MIB), 256 * MIB);
	assert_int_equal(sockets_limit(100 * MIB), 64 * MIB);
	assert_int_equal(sockets_limit(LIMIT_UNKNOWN), 256 * MIB);
}

static void unread_bytes_are_measured(void **state)
{
	AUTO(closep) int diag = sockets_open_diag();
	AUTO(closep) int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	AUTO(closep) int sender = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	char data[65536] = { 0 };
	uint64_t sent = 0;
	assert_true(diag >= 0);
	assert_return_code(bind(listener, (struct sockaddr *)&sa, sizeof(sa)), errno);
	assert_return_code(listen(listener, 1), errno);
	assert_return_code(getsockname(listener, (struct sockaddr *)&sa, &len), errno);
	assert_return_code(connect(sender, (struct sockaddr *)&sa, len), errno);
	uint64_t before = sockets_measure(diag, UINT64_MAX - 1);
	for (ssize_t n = 0; (n = send(sender, data, sizeof(data), MSG_DONTWAIT)) > 0;)
		sent += (uint64_t)n;
	uint64_t after = sockets_measure(diag, UINT64_MAX - 1);
	assert_true(sent > 65536 && after >= before + sent / 2);
	assert_true(sockets_measure(diag, 1) <= after + MIB);
	assert_int_equal(sockets_measure(-1, 1), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_the_kernel_are_parsed),
		cmocka_unit_test(the_limit_is_a_share_of_the_memory),
		cmocka_unit_test(unread_bytes_are_measured),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
