/* SPDX-License-Identifier: MIT */
#pragma once

/* What the bridge tells: one journal entry for each end of a connection, as far as the budget goes, a
 * summary of the rest every ten seconds, and the status text. The journal holds a user's services to one
 * common limit, and a bridge that exceeds it would silence all of them. */

#include <systemd/sd-event.h>

#include "bridge/agent-signature.h"
#include "bridge/budget.h"
#include "bridge/outcome.h"
#include "bridge/peer.h"
#include "shared/manifest.h"

typedef struct ConnectionEnd {
        Outcome outcome;
        const ManifestService *service; /* NULL: none */
        const char *asked_for;          /* what no service has for a name; foreign text, or NULL */
        Peer peer;
        uint64_t bytes_in;  /* from the guest */
        uint64_t bytes_out; /* to the guest */
        uint64_t duration;
        uint64_t n_refused; /* requests on it that were not let through */
        uint64_t n_signed;  /* signatures that it got */
} ConnectionEnd;

typedef struct Report Report;

/* Everything handed in must outlive the report. Returns 0 or negative errno. */
int report_new(sd_event *event, const Manifest *manifest, PeerCheck *peers, Report **ret);

Report *report_free(Report *r);
DEFINE_CLEANUP(Report *, report_free);
#define _cleanup_report_ _cleanup_(report_freep)

/* An entry for a signature that the guest gets, once the journal has it. Its part of the budget is taken by who asks the agent
 * (leave.h). Returns 0 or negative errno. */
int report_signature(Report *r, const ManifestService *service, const AgentSignature *signature);
Budget *report_budget(Report *r);

void report_open(Report *r, size_t n_open);
void report_end(Report *r, const ConnectionEnd *end);

/* Writes the summary of what was not told yet; the last thing to say. Waits for a journal that is slow, for a
 * part of a second. */
void report_flush(Report *r);

/* READY=1, with the first status text. */
void report_ready(Report *r);
