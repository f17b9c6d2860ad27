/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/log.h"
#include "bridge/starter.h"
#include "bridge/supervisor-call.h"

#define REQUEST "{\"request\":\"start-gpg-agent\"}\n"
#define ANSWER_USEC (10 * USEC_PER_SEC)
#define PAUSE_USEC \
        (1 * USEC_PER_SEC) /* after a failure: a guest that asks in a loop does not make us do so */

struct Starter {
        sd_event *event;
        char *path;
        StarterDone done;
        void *userdata;
        SupervisorCall *call; /* while a request is under way */
        uint64_t failed_at;   /* 0: the last one did not fail */
};

int starter_new(sd_event *event, const char *path, StarterDone done, void *userdata, Starter **ret) {
        _cleanup_starter_ Starter *s = NULL;

        s = new0(Starter, 1);
        if (!s)
                return -ENOMEM;

        s->event = event;
        s->done = done;
        s->userdata = userdata;
        s->path = strdup(path);
        if (!s->path)
                return -ENOMEM;

        *ret = TAKE_PTR(s);
        return 0;
}

Starter *starter_free(Starter *s) {
        if (!s)
                return NULL;

        supervisor_call_free(s->call);
        free(s->path);
        free(s);
        return NULL;
}

static void on_done(void *userdata, SupervisorAnswer *answer) {
        Starter *s = userdata;

        s->call = supervisor_call_free(s->call);
        s->failed_at = answer->ok ? 0 : now_usec();
        if (!answer->ok)
                log_debug("The supervisor did not start the gpg-agent.");

        s->done(s->userdata, answer->ok);
}

int starter_request(Starter *s) {
        int r;

        if (s->call)
                return 0;
        if (s->failed_at != 0 && now_usec() < s->failed_at + PAUSE_USEC)
                return -EAGAIN;

        r = supervisor_call_new(s->event, s->path, REQUEST, ANSWER_USEC, on_done, s, &s->call);
        if (r < 0)
                s->failed_at = now_usec();

        return r;
}
