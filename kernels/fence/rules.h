/* The fence as messages to nf_tables: one table `inet husk`, in the order in which the kernel has to hear of it.
 *
 * It concerns what comes from, or goes to, the bridge husk0 and nothing else. A session may ask for names (port 53) anywhere, reach
 * what an opening lets through and every public address; not what is private, shared, link-local or multicast, and nothing that the
 * machine itself listens on, by whatever address. New connections are counted by source. Nobody opens a connection into a session. */
#ifndef HUSK_KERNELS_FENCE_RULES_H
#define HUSK_KERNELS_FENCE_RULES_H

#include "base/buf.h"
#include "kernels/fence/opening.h"

#define FENCE_TABLE "husk"
#define FENCE_BRIDGE "husk0"
/* Chain of the openings: rules there carry opening_write()'s text. */
#define FENCE_OPENINGS "openings"
/* Connections that one session may have at a time, UDP's included: enough for any installer, a fraction of what a machine can track. */
#define FENCE_CONNECTIONS 1024

/* How what is refused hears of it: at once, or, on a kernel that cannot, by silence. */
enum refusal { REFUSE_REJECT, REFUSE_DROP };

/* Adds the table, its chains, sets and rules. Without what takes an older table away. */
void rules_write(struct buf *b, const struct openings *openings, enum refusal refusal);
/* A message for the table as a whole: NFT_MSG_NEWTABLE or NFT_MSG_DELTABLE. */
void rules_table(struct buf *b, uint16_t type, uint16_t flags);
/* The comment of a rule, as opening_write() wrote it; NULL if it has none. data, n: its user data. */
const char *rules_comment(const uint8_t *data, size_t n);

#endif
