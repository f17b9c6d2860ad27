/* SPDX-License-Identifier: MIT */
#pragma once

/* The roles of the guest program. Each takes its own name as argv[0] and returns the process's exit status.
 */

int applet_entry(int argc, char **argv);
int applet_bridge_connect(int argc, char **argv);
int applet_wl_paste(int argc, char **argv);
int applet_browser(int argc, char **argv);
int applet_podman(int argc, char **argv);
