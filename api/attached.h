/* Runs that belong to the connection that started them: the answer is a stream of the run's events, and the run is
 * interrupted when the connection closes. The stream stays open at prompts; input and interrupts are posted on other
 * connections. The results of other runs never report such a run, and its events carry everything that it shows. */
#ifndef HUSK_API_ATTACHED_H
#define HUSK_API_ATTACHED_H

#include "api/exchange.h"

/* Starts the run and answers the exchange with the stream, or with a failure. The callbacks and the owner of the request
 * are set here. A client that sends the field Husk-Client with a value of its own choice is the only one that may answer
 * the run's prompts. */
void attached_begin(struct exchange *x, const struct run_request *request);
/* The owner of such a run for run_request.client, if this exchange may answer its prompts; else 0. */
uint64_t attached_client(const struct exchange *x, uint64_t number);
/* Interrupts such a run, even if it waits for input. False if there is none with this number. */
bool attached_interrupt(const struct exchange *x, uint64_t number);

#endif
