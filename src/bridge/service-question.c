/* SPDX-License-Identifier: MIT */

/* Theory of operation.
 *
 * `clipboard` and `open` are questions: one more line from the guest, one answer, and the connection ends.
 * Neither is answered here. The line is judged by a pure function of what the service allows, and what
 * passes goes on, printed anew from what was understood of it, to the supervisor, which judges it again and
 * starts what is to be started. With the clipboard's contents it hands over a file in memory, sealed; from
 * there they go to the guest without a copy in between, as fast as it reads.
 *
 * A session is in one state at a time, with one watch on the guest's socket:
 *
 *   reading    the line; it must be complete within five seconds
 *   asking     nothing is read; that the guest hangs up ends it, and with it the supervisor's work
 *   answering  while there is something left to send; a guest that takes nothing for ten seconds is dropped
 *
 * Few sessions of a service may be past reading at a time: each can hold a file of 64 MiB, and a program
 * that runs on the host. */

#include <stdio.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "bridge/service.h"
#include "bridge/supervisor-call.h"
#include "shared/chrome-url.h"
#include "shared/paste.h"

#define QUESTIONS_MAX 64 /* of both services, in any state: each has a timer, and a descriptor in the event loop */
#define BUSY_MAX 4       /* of each service */
#define ANSWER_USEC (15 * USEC_PER_SEC) /* the supervisor's own bounds are lower */
#define STALL_USEC (10 * USEC_PER_SEC)
#define CHUNK_MAX (1 * MIB)

typedef enum QuestionState {
        QUESTION_READING,
        QUESTION_ASKING,
        QUESTION_ANSWERING,
} QuestionState;

typedef struct Question {
        Client *client;
        QuestionState state;
        sd_event_source *source; /* the guest's socket */
        sd_event_source *timer;
        SupervisorCall *call;
        bool counted;
        bool with_length; /* the guest wants to know how much will come */

        char line[WIRE_QUESTION_MAX];
        size_t n_line;

        Outcome outcome; /* when all of the answer is sent */
        char answer[64]; /* what comes first */
        size_t n_answer;
        int contents_fd; /* what comes then */
        size_t n_contents;
        size_t sent; /* of both */
} Question;

/* What is different about the two. */
typedef struct QuestionKind {
        /* Prints the supervisor's request for the first `n` bytes of the line. 0, -EPERM: not allowed, or
         * -ENOMEM. */
        int (*format_request)(Question *q, size_t n, char **ret);
        /* Prints the answer that says no. */
        void (*format_no)(const char *reason, char *buf, size_t size);
} QuestionKind;

static const QuestionKind *kind_of(const Question *q);

/* The answer */

static void question_watch(Question *q, uint32_t events, sd_event_io_handler_t f) {
        q->source = sd_event_source_disable_unref(q->source);
        if (sd_event_add_io(q->client->manager->event, &q->source, q->client->fd, events, f, q) < 0)
                client_end(q->client, OUTCOME_OUT_OF_RESOURCES);
}

/* Returns 1 when all is sent, 0 when the guest takes no more at present, or negative errno. */
static int question_send(Question *q) {
        int fd = q->client->fd;

        while (q->sent < q->n_answer + q->n_contents) {
                ssize_t k;

                if (q->sent < q->n_answer)
                        k = send(fd, q->answer + q->sent, q->n_answer - q->sent,
                                        MSG_NOSIGNAL | MSG_DONTWAIT | (q->n_contents > 0 ? MSG_MORE : 0));
                else {
                        off_t offset = (off_t) (q->sent - q->n_answer);

                        k = sendfile(fd, q->contents_fd, &offset,
                                        MIN(q->n_answer + q->n_contents - q->sent, CHUNK_MAX));
                }
                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return errno == EAGAIN ? 0 : -errno;
                if (k == 0)
                        return -EIO;

                q->sent += (size_t) k;
        }

        return 1;
}

static int on_writable(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        Question *q = userdata;
        size_t before = q->sent;
        int r;

        r = question_send(q);
        if (r == 0) {
                if (q->sent > before)
                        (void) sd_event_source_set_time_relative(q->timer, STALL_USEC);
                return 0;
        }

        client_end(q->client, r > 0 ? q->outcome : OUTCOME_BROKEN_OFF);
        return 0;
}

static int on_stalled(sd_event_source *s, uint64_t usec, void *userdata) {
        Question *q = userdata;

        client_end(q->client, OUTCOME_STALLED);
        return 0;
}

/* Begins to send. The client may have ended when this returns. */
static void question_answer(Question *q, Outcome outcome) {
        Client *c = q->client;
        int r;

        q->state = QUESTION_ANSWERING;
        q->outcome = outcome;
        q->source = sd_event_source_disable_unref(q->source);
        q->timer = sd_event_source_disable_unref(q->timer);

        r = question_send(q);
        if (r != 0) {
                client_end(c, r > 0 ? outcome : OUTCOME_BROKEN_OFF);
                return;
        }

        if (sd_event_add_time_relative(c->manager->event, &q->timer, CLOCK_MONOTONIC, STALL_USEC, 0,
                            on_stalled, q) < 0)
                client_end(c, OUTCOME_OUT_OF_RESOURCES);
        else
                question_watch(q, EPOLLOUT, on_writable);
}

static void question_say_no(Question *q, const char *reason, Outcome outcome) {
        kind_of(q)->format_no(reason, q->answer, sizeof(q->answer));
        q->n_answer = strlen(q->answer);
        question_answer(q, outcome);
}

/* Asking */

static void on_answer(void *userdata, SupervisorAnswer *answer) {
        Question *q = userdata;
        struct stat st = {};

        q->call = supervisor_call_free(q->call);
        if (answer->ok && answer->fd >= 0 && fstat(answer->fd, &st) < 0)
                answer->ok = false;
        if (!answer->ok) {
                question_say_no(q, answer->reason[0] != '\0' ? answer->reason : "failed", OUTCOME_FAILED);
                return;
        }

        q->contents_fd = TAKE_FD(answer->fd);
        q->n_contents = (size_t) st.st_size;
        if (q->with_length)
                (void) snprintf(q->answer, sizeof(q->answer), WIRE_YES_LENGTH "%zu\n", q->n_contents);
        else
                (void) stpcpy(q->answer, WIRE_YES);
        q->n_answer = strlen(q->answer);
        question_answer(q, OUTCOME_SERVED);
}

static int on_hang_up(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        Question *q = userdata;

        client_end(q->client, OUTCOME_BROKEN_OFF);
        return 0;
}

static void question_ask(Question *q, size_t n) {
        _cleanup_free_ char *request = NULL;
        Client *c = q->client;
        Manager *m = c->manager;
        size_t *busy = &m->n_busy[c->service->id.kind];
        int r;

        q->state = QUESTION_ASKING;
        q->timer = sd_event_source_disable_unref(q->timer);

        r = kind_of(q)->format_request(q, n, &request);
        if (r == -EPERM) {
                question_say_no(q, "refused", OUTCOME_REQUEST_REFUSED);
                return;
        }
        if (r >= 0 && *busy >= BUSY_MAX) {
                question_say_no(q, "busy", OUTCOME_TOO_MANY);
                return;
        }

        (*busy)++;
        q->counted = true;
        if (r >= 0)
                r = supervisor_call_new(m->event, m->supervisor_path, request, ANSWER_USEC, on_answer, q, &q->call);
        if (r < 0)
                question_say_no(q, "failed", OUTCOME_BACKEND_GONE);
        else
                question_watch(q, 0, on_hang_up);
}

/* Reading */

/* Whether there is nothing more to wait for. The client may have ended then. */
static bool question_read_on(Question *q) {
        char *newline = memchr(q->line, '\n', q->n_line);

        if (newline)
                question_ask(q, (size_t) (newline - q->line));
        else if (q->n_line >= sizeof(q->line))
                question_say_no(q, "refused", OUTCOME_REQUEST_REFUSED);
        else
                return false;

        return true;
}

static int on_readable(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        Question *q = userdata;
        ssize_t k;

        k = recv(fd, q->line + q->n_line, sizeof(q->line) - q->n_line, MSG_DONTWAIT);
        if (k < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (k <= 0) {
                client_end(q->client, OUTCOME_CLOSED_EARLY);
                return 0;
        }

        q->n_line += (size_t) k;
        (void) question_read_on(q);
        return 0;
}

static int on_deadline(sd_event_source *s, uint64_t usec, void *userdata) {
        Question *q = userdata;

        client_end(q->client, OUTCOME_LINE_TIMEOUT);
        return 0;
}

static void question_begin(Client *c) {
        Question *q;

        q = c->session = new0(Question, 1);
        if (!q) {
                client_end(c, OUTCOME_OUT_OF_RESOURCES);
                return;
        }

        q->client = c;
        q->contents_fd = -EBADF;
        c->manager->n_questions++;
        if (c->manager->n_questions > QUESTIONS_MAX) {
                client_end(c, OUTCOME_TOO_MANY);
                return;
        }
        if (sd_event_add_time_relative(c->manager->event, &q->timer, CLOCK_MONOTONIC, WIRE_HANDSHAKE_USEC, 0,
                            on_deadline, q) < 0) {
                client_end(c, OUTCOME_OUT_OF_RESOURCES);
                return;
        }

        static_assert(WIRE_QUESTION_MAX >= WIRE_LINE_MAX, "what came behind the first line fits");
        q->n_line = c->n_rest;
        if (c->n_rest > 0)
                memcpy(q->line, c->rest, c->n_rest);
        free(TAKE_PTR(c->rest));

        if (!question_read_on(q))
                question_watch(q, EPOLLIN, on_readable);
}

/* Cut short, an answer must not end like a whole one. */
static void question_break_off(Question *q) {
        const struct linger reset = { .l_onoff = 1 };

        if (q->state != QUESTION_ANSWERING || q->sent == q->n_answer + q->n_contents)
                return;

        (void) setsockopt(q->client->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        q->client->fd = fd_close(q->client->fd);
}

static void question_free(Client *c) {
        Question *q = c->session;

        if (!q)
                return;

        sd_event_source_disable_unref(q->source);
        question_break_off(q);
        c->manager->n_questions--;
        if (q->counted)
                c->manager->n_busy[c->service->id.kind]--;
        sd_event_source_disable_unref(q->timer);
        supervisor_call_free(q->call);
        fd_close(q->contents_fd);
        free(q);
        c->session = NULL;
}

static void question_account(const Client *c, ConnectionEnd *end) {
        const Question *q = c->session;

        if (!q)
                return;

        end->bytes_in = q->n_line;
        end->bytes_out = q->sent;
}

/* The two services. What is put into a request is printed from what was understood, or is allowed byte by
 * byte: nothing in it needs escaping. */

static int format_paste(Question *q, size_t n, char **ret) {
        const Manifest *m = q->client->manager->manifest;
        char arguments[PASTE_LINE_MAX];
        PasteRequest request;
        int r;

        r = paste_request_parse(q->line, n, &request);
        if (r < 0)
                return r;

        q->with_length = request.with_length;

        return asprintf_to(ret, "{\"request\":\"paste\",\"id\":\"%s\",\"arguments\":\"%s\"}\n", m->id,
                        paste_request_format(&request, arguments));
}

static void format_error(const char *reason, char *buf, size_t size) {
        (void) snprintf(buf, size, WIRE_ERROR "%s\n", reason);
}

static int format_open(Question *q, size_t n, char **ret) {
        const Manifest *m = q->client->manager->manifest;

        if (!chrome_url_is_allowed(q->line, n))
                return -EPERM;

        return asprintf_to(ret, "{\"request\":\"open\",\"id\":\"%s\",\"url\":\"%.*s\"}\n", m->id, (int) n, q->line);
}

static void format_plain_no(const char *reason, char *buf, size_t size) {
        (void) snprintf(buf, size, WIRE_NO);
}

static const QuestionKind *kind_of(const Question *q) {
        static const QuestionKind clipboard = { .format_request = format_paste, .format_no = format_error },
                                  open = { .format_request = format_open, .format_no = format_plain_no };

        return q->client->service->id.kind == SERVICE_CLIPBOARD ? &clipboard : &open;
}

const ServiceOps service_question = {
        .begin = question_begin,
        .free = question_free,
        .account = question_account,
};
