/* SPDX-License-Identifier: MIT */
#pragma once

/* The watch over the guards of a held launch, from when its launcher asks for it until its connection ends. */

#include "supervisor/supervisor.h"

/* Begins it. 0, and the answer comes when it stands, or negative errno. */
int watch_start(Connection *c);

/* NULL allowed. A guest that stands still for it is killed: nobody is left who would see to its guards. */
Watch *watch_free(Watch *w);
