/* SPDX-License-Identifier: MIT */

#include <stdio.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "bridge/report.h"
#include "shared/journal.h"
#include "shared/notify.h"

#define STATUS_USEC (1 * USEC_PER_SEC)
#define SUMMARY_USEC (10 * USEC_PER_SEC)
#define LAST_USEC (USEC_PER_SEC / 2) /* for the last one: of the second that the unit has to end in */
#define SERVICES_MAX WIRE_SERVICES_MAX

struct Report {
        const Manifest *manifest;
        PeerCheck *peers;
        Budget budget;

        sd_event_source *status_timer;
        uint64_t status_at; /* when the last one was sent */
        size_t n_open;
        uint64_t n_served;
        uint64_t n_refused;

        sd_event_source *summary_timer;
        struct {
                uint64_t untold;
                uint64_t told_at;                /* when there was last an entry about one; 0: never */
        } kinds[SERVICES_MAX + 1][_OUTCOME_MAX]; /* by service, the last row for none */
};

static void send_status_later(Report *r) {
        if (sd_event_source_set_time(r->status_timer, r->status_at + STATUS_USEC) >= 0)
                (void) sd_event_source_set_enabled(r->status_timer, SD_EVENT_ONESHOT);
}

static void send_status(Report *r) {
        r->status_at = now_usec();
        if (notify_sendf("STATUS=Launch %s of %s: %zu open, %llu served, %llu refused.", r->manifest->id,
                            r->manifest->profile, r->n_open, (unsigned long long) r->n_served,
                            (unsigned long long) r->n_refused) == -EAGAIN)
                send_status_later(r);
}

static int on_status(sd_event_source *s, uint64_t usec, void *userdata) {
        send_status(userdata);
        return 0;
}

/* Now, or when a second has passed since the last time. */
static void status_changed(Report *r) {
        int enabled;

        if (sd_event_source_get_enabled(r->status_timer, &enabled) < 0 || enabled != SD_EVENT_OFF)
                return;

        if (now_usec() >= r->status_at + STATUS_USEC)
                send_status(r);
        else
                send_status_later(r);
}

static size_t service_row(const Report *r, const ManifestService *service) {
        return service ? (size_t) (service - r->manifest->services) : SERVICES_MAX;
}

static const char *name_of(const ManifestService *service, char *buf) {
        return service ? service_format(service->id, buf) : NULL;
}

/* A connection that is not let in has no service, or a refusal for its outcome. */
static bool is_refused(Outcome outcome, const ManifestService *service) {
        return outcome_is_refused(outcome) || !service;
}

static void send_summary(Report *r, size_t row, Outcome outcome) {
        const ManifestService *service = row < SERVICES_MAX ? &r->manifest->services[row] : NULL;
        char name[WIRE_SERVICE_MAX], count[32], text[256];
        bool refused = is_refused(outcome, service);
        const JournalField fields[] = {
                { .name = "BRIDGE_SERVICE", .value = name_of(service, name) },
                { .name = "BRIDGE_OUTCOME", .value = refused ? "refused" : "served" },
                { .name = "BRIDGE_REASON", .value = outcome_to_string(outcome) },
                { .name = "BRIDGE_COUNT", .value = count },
        };
        const JournalEntry entry = {
                .priority = refused ? LOG_NOTICE : LOG_INFO,
                .message_id = MESSAGE_CONNECTIONS_SUPPRESSED,
                .message = text,
                .profile = r->manifest->profile,
                .launch = r->manifest->id,
                .fields = fields,
                .n_fields = ELEMENTSOF(fields),
        };

        (void) snprintf(count, sizeof(count), "%llu", (unsigned long long) r->kinds[row][outcome].untold);
        (void) snprintf(text, sizeof(text), "%s more connections%s%s %s: %s.", count, service ? " to " : "",
                        service ? name : "", refused ? "refused" : "served", outcome_to_text(outcome));

        /* What the journal does not take now is told next time. */
        if (journal_send(&entry) >= 0)
                r->kinds[row][outcome].untold = 0;
}

/* Returns whether something could not be told. */
static bool send_summaries(Report *r) {
        bool left = false;

        for (size_t row = 0; row < ELEMENTSOF(r->kinds); row++)
                for (Outcome o = 0; o < _OUTCOME_MAX; o++) {
                        if (r->kinds[row][o].untold > 0)
                                send_summary(r, row, o);
                        left = left || r->kinds[row][o].untold > 0;
                }

        return left;
}

static void arm_summary(Report *r) {
        int enabled;

        if (sd_event_source_get_enabled(r->summary_timer, &enabled) < 0 || enabled != SD_EVENT_OFF)
                return;

        if (sd_event_source_set_time_relative(r->summary_timer, SUMMARY_USEC) >= 0)
                (void) sd_event_source_set_enabled(r->summary_timer, SD_EVENT_ONESHOT);
}

static int on_summary(sd_event_source *s, uint64_t usec, void *userdata) {
        Report *r = userdata;

        if (send_summaries(r))
                arm_summary(r);

        return 0;
}

static void count_untold(Report *r, const ConnectionEnd *end) {
        r->kinds[service_row(r, end->service)][end->outcome].untold++;
        arm_summary(r);
}

static int send_entry(Report *r, const ConnectionEnd *end) {
        bool refused = is_refused(end->outcome, end->service), known = end->peer.uid != UID_UNKNOWN;
        char name[WIRE_SERVICE_MAX], uid[32], in[32], out[32], duration[32], text[256], requests[32],
                        signatures[32];
        const char *shown = name_of(end->service, name);
        const JournalField fields[] = {
                { .name = "BRIDGE_SERVICE", .value = shown ?: end->asked_for, .foreign = !shown },
                { .name = "BRIDGE_OUTCOME", .value = refused ? "refused" : "served" },
                { .name = "BRIDGE_REASON", .value = outcome_to_string(end->outcome) },
                { .name = "PEER_UID", .value = known ? uid : NULL },
                { .name = "PEER_CGROUP", .value = peer_cgroup_name(r->peers, &end->peer) },
                { .name = "BRIDGE_BYTES_IN", .value = refused ? NULL : in },
                { .name = "BRIDGE_BYTES_OUT", .value = refused ? NULL : out },
                { .name = "BRIDGE_DURATION_USEC", .value = duration },
                { .name = "BRIDGE_SIGNATURES", .value = end->n_signed > 0 ? signatures : NULL },
                { .name = "BRIDGE_REQUESTS_REFUSED", .value = end->n_refused > 0 ? requests : NULL },
        };
        const JournalEntry entry = {
                .priority = refused ? LOG_NOTICE : LOG_INFO,
                .message_id = refused ? MESSAGE_CONNECTION_REFUSED : MESSAGE_CONNECTION_SERVED,
                .message = text,
                .profile = r->manifest->profile,
                .launch = r->manifest->id,
                .fields = fields,
                .n_fields = ELEMENTSOF(fields),
        };

        (void) snprintf(uid, sizeof(uid), "%u", end->peer.uid);
        (void) snprintf(in, sizeof(in), "%llu", (unsigned long long) end->bytes_in);
        (void) snprintf(out, sizeof(out), "%llu", (unsigned long long) end->bytes_out);
        (void) snprintf(duration, sizeof(duration), "%llu", (unsigned long long) end->duration);
        (void) snprintf(signatures, sizeof(signatures), "%llu", (unsigned long long) end->n_signed);
        (void) snprintf(requests, sizeof(requests), "%llu", (unsigned long long) end->n_refused);

        if (refused)
                (void) snprintf(text, sizeof(text), "Refused a connection%s%s%s%s: %s.", shown ? " to " : "",
                                shown ?: "", known ? " from uid " : "", known ? uid : "",
                                outcome_to_text(end->outcome));
        else
                (void) snprintf(text, sizeof(text), "Served %s: %s bytes in, %s out; %s%s%s%s.", shown, in, out,
                                end->n_refused > 0 ? "requests refused: " : "",
                                end->n_refused > 0 ? requests : "", end->n_refused > 0 ? "; " : "",
                                outcome_to_text(end->outcome));

        return journal_send(&entry);
}

int report_new(sd_event *event, const Manifest *manifest, PeerCheck *peers, Report **ret) {
        _cleanup_report_ Report *r = NULL;
        int k;

        r = new0(Report, 1);
        if (!r)
                return -ENOMEM;

        r->manifest = manifest;
        r->peers = peers;
        r->budget = budget_full(now_usec());

        k = sd_event_add_time(event, &r->status_timer, CLOCK_MONOTONIC, UINT64_MAX, 0, on_status, r);
        if (k >= 0)
                k = sd_event_source_set_enabled(r->status_timer, SD_EVENT_OFF);
        if (k >= 0)
                k = sd_event_add_time(
                                event, &r->summary_timer, CLOCK_MONOTONIC, UINT64_MAX, 0, on_summary, r);
        if (k >= 0)
                k = sd_event_source_set_enabled(r->summary_timer, SD_EVENT_OFF);
        if (k < 0)
                return k;

        *ret = TAKE_PTR(r);
        return 0;
}

Report *report_free(Report *r) {
        if (!r)
                return NULL;

        sd_event_source_disable_unref(r->status_timer);
        sd_event_source_disable_unref(r->summary_timer);
        free(r);
        return NULL;
}

void report_flush(Report *r) {
        if (!r)
                return;

        journal_wait_until(now_usec() + LAST_USEC);
        (void) send_summaries(r);
}

void report_open(Report *r, size_t n_open) {
        if (r->n_open == n_open)
                return;

        r->n_open = n_open;
        status_changed(r);
}

/* Within the budget, of which something is kept, so that no flood of one kind hides that there was another,
 * and whose. */
static bool tell(Report *r, const ConnectionEnd *end) {
        uint64_t *told_at = &r->kinds[service_row(r, end->service)][end->outcome].told_at, now = now_usec();
        bool first = *told_at == 0 || now >= *told_at + SUMMARY_USEC;

        if (!budget_take(&r->budget, now, first ? 0 : BUDGET_KINDS_RESERVE + BUDGET_SIGNATURES_RESERVE) || send_entry(r, end) < 0)
                return false;

        *told_at = now;
        return true;
}

void report_end(Report *r, const ConnectionEnd *end) {
        if (is_refused(end->outcome, end->service))
                r->n_refused++;
        else
                r->n_served++;
        status_changed(r);

        if (!tell(r, end))
                count_untold(r, end);
}

int report_signature(Report *r, const ManifestService *service, const AgentSignature *signature) {
        const char *user = signature->purpose == SIGNATURE_USER ? signature->name : NULL,
                   *namespace = signature->purpose == SIGNATURE_FILE ? signature->name : NULL;
        char name[WIRE_SERVICE_MAX], text[3 * JOURNAL_FOREIGN_TEXT_MAX];
        const JournalField fields[] = {
                { .name = "BRIDGE_SERVICE", .value = name_of(service, name) },
                { .name = "BRIDGE_KEY_FINGERPRINT", .value = signature->fingerprint },
                { .name = "BRIDGE_KEY_COMMENT", .value = signature->comment, .foreign = true },
                { .name = "BRIDGE_SIGNATURE_PURPOSE",
                                .value = signature_purpose_to_string(signature->purpose) },
                { .name = "BRIDGE_SIGNATURE_USER", .value = user, .foreign = true },
                { .name = "BRIDGE_SIGNATURE_NAMESPACE", .value = namespace, .foreign = true },
        };
        const JournalEntry entry = {
                .priority = LOG_INFO,
                .message_id = MESSAGE_SIGNATURE_MADE,
                .message = text,
                .profile = r->manifest->profile,
                .launch = r->manifest->id,
                .fields = fields,
                .n_fields = ELEMENTSOF(fields),
        };

        (void) snprintf(text, sizeof(text), "Signed by %s with key %s (%s)%s%s.", name, signature->fingerprint,
                        signature->comment ?: "not listed",
                        user                ? ", to log in as "
                                : namespace ? ", a file in namespace "
                                            : ", neither a login nor a file",
                        signature->name ?: "");

        return journal_send(&entry);
}


Budget *report_budget(Report *r) {
        return &r->budget;
}

void report_ready(Report *r) {
        (void) notify_ready();
        send_status(r);
}
