/* Codes that log browsers in (login.c). */
#ifndef HUSK_API_LOGIN_H
#define HUSK_API_LOGIN_H

#include "api/host.h"

/* Frees all codes. */
void login_codes_drop(struct api *api);

#endif
