/* Two replicas by the C interface alone, in one process: opened, used by
   RocksDB's own C functions, replicated, verified, and closed in the wrong
   order. */

#define _POSIX_C_SOURCE 200809L
#include "rocksync/c.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                            \
  do {                                                              \
    if (!(condition)) {                                             \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, phase, \
              #condition);                                          \
      exit(1);                                                      \
    }                                                               \
  } while (0)

static const char* phase = "start";
static char* error = NULL;

static void CheckNoError(int line) {
  if (error == NULL) return;
  fprintf(stderr, "line %d: %s: unexpected error: %s\n", line, phase, error);
  exit(1);
}
#define OK() CheckNoError(__LINE__)

/* The last call failed, with an error that contains `text`. */
static void CheckError(const char* text, int line) {
  if (error == NULL || strstr(error, text) == NULL) {
    fprintf(stderr, "line %d: %s: expected \"%s\", got %s\n", line, phase, text,
            error == NULL ? "no error" : error);
    exit(1);
  }
  rocksync_free(error);
  error = NULL;
}
#define FAILS(text) CheckError(text, __LINE__)

static char directory[] = "/tmp/rocksync_c_test.XXXXXX";

static const char* Path(const char* name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

static rocksync_options_t* NewReplication(void) {
  char secret[32];
  rocksync_options_t* replication = rocksync_options_create();
  memset(secret, 42, sizeof secret);
  rocksync_options_set_cluster_name(replication, "c");
  rocksync_options_set_cluster_secret(replication, secret, sizeof secret,
                                      &error);
  OK();
  rocksync_options_set_min_free_bytes(replication, 0);
  return replication;
}

static rocksync_t* Open(const char* name) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksync_options_t* replication = NewReplication();
  rocksync_t* db;
  rocksdb_options_set_create_if_missing(options, 1);
  db = rocksync_open(options, replication, Path(name), &error);
  OK();
  rocksync_options_destroy(replication);
  rocksdb_options_destroy(options);
  return db;
}

static void Put(rocksdb_t* db, const char* key, const char* value) {
  rocksdb_writeoptions_t* options = rocksdb_writeoptions_create();
  rocksdb_put(db, options, key, strlen(key), value, strlen(value), &error);
  OK();
  rocksdb_writeoptions_destroy(options);
}

static void Remove(rocksdb_t* db, const char* key) {
  rocksdb_writeoptions_t* options = rocksdb_writeoptions_create();
  rocksdb_delete(db, options, key, strlen(key), &error);
  OK();
  rocksdb_writeoptions_destroy(options);
}

static int Holds(rocksdb_t* db, const char* key, const char* value) {
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  size_t size;
  char* got = rocksdb_get(db, options, key, strlen(key), &size, &error);
  int equal;
  OK();
  rocksdb_readoptions_destroy(options);
  if (got == NULL) return value == NULL;
  equal =
      value != NULL && size == strlen(value) && memcmp(got, value, size) == 0;
  rocksdb_free(got);
  return equal;
}

static rocksync_transport_t* TrialTransport(uint64_t id) {
  char *ca, *certificate, *key;
  rocksync_transport_t* transport;
  rocksync_make_trial_certificate(Path("trial"), id, &ca, &certificate, &key,
                                  &error);
  OK();
  CHECK(rocksync_read_replica_id(certificate, &error) == id);
  OK();
  transport = rocksync_tls_transport_create(ca, certificate, key, &error);
  OK();
  rocksync_free(ca);
  rocksync_free(certificate);
  rocksync_free(key);
  return transport;
}

static rocksync_replicator_t* StartThatAllows(rocksync_t* db,
                                              const char* listen,
                                              unsigned char clones) {
  rocksync_transport_t* transport = TrialTransport(rocksync_replica_id(db));
  rocksync_replicator_options_t* options = rocksync_replicator_options_create();
  rocksync_replicator_t* replicator;
  rocksync_replicator_options_set_listen_address(options, listen);
  rocksync_replicator_options_set_allow_clones(options, clones);
  rocksync_replicator_options_set_interval_ms(options, 0);
  rocksync_replicator_options_set_scrub_interval_ms(options, 0);
  rocksync_replicator_options_set_io_timeout_ms(options, 20000);
  rocksync_replicator_options_set_max_session_bytes(options, 16 << 20);
  rocksync_replicator_options_set_prefer_round_trips(options, 1);
  replicator = rocksync_replicator_start(db, options, transport, &error);
  OK();
  rocksync_transport_destroy(transport);
  rocksync_replicator_options_destroy(options);
  return replicator;
}
static rocksync_replicator_t* Start(rocksync_t* db, const char* listen) {
  return StartThatAllows(db, listen, 1);
}

static int differences = 0;
static void Differs(void* state, int difference, const char* family,
                    size_t family_size, const char* key, size_t key_size) {
  CHECK(state == &differences);
  CHECK(difference == rocksync_missing_there);
  CHECK(family_size == 7 && memcmp(family, "default", 7) == 0);
  CHECK(key_size == 5 && memcmp(key, "later", 5) == 0);
  ++differences;
}

static void TestReplication(void) {
  rocksync_t *a, *b;
  rocksdb_t *a_db, *b_db;
  rocksync_replicator_t *from, *to;
  rocksync_change_feed_t* feed;
  const rocksync_changes_t* changes;
  const char* key;
  size_t size;
  uint64_t missed, written;
  char *address, *text;
  phase = "replication";
  a = Open("a");
  b = Open("b");
  CHECK(rocksync_replica_id(a) != 0);
  CHECK(rocksync_replica_id(a) != rocksync_replica_id(b));
  CHECK(rocksync_incarnation(a) == 1);
  rocksync_wait_for_index_build(a, 10000, &error);
  OK();
  a_db = rocksync_rocksdb(a, &error);
  OK();
  b_db = rocksync_rocksdb(b, &error);
  OK();
  Put(a_db, "of_a", "1");
  Put(b_db, "of_b", "2");

  CHECK(rocksync_subscribe(b, 100, &error) == NULL);
  FAILS("buffer_bytes");
  CHECK(rocksync_subscribe(b, SIZE_MAX, &error) == NULL);
  FAILS("at most 64 GiB");
  feed = rocksync_subscribe(b, 1 << 20, &error);
  OK();
  CHECK(rocksync_change_feed_next(feed, 0, &missed, &error) == NULL);
  OK();
  from = Start(a, "127.0.0.1:0");
  to = Start(b, "");
  address = rocksync_replicator_listen_address(from);
  rocksync_replicator_sync(to, address, &error);
  OK();
  CHECK(Holds(a_db, "of_b", "2"));
  CHECK(Holds(b_db, "of_a", "1"));
  CHECK(Holds(b_db, "of_c", NULL));
  changes = rocksync_change_feed_next(feed, 10000, &missed, &error);
  OK();
  CHECK(rocksync_changes_count(changes) == 1 && missed == 0);
  key = rocksync_changes_key(changes, 0, &size);
  CHECK(size == 4 && memcmp(key, "of_a", 4) == 0);
  CHECK(rocksync_changes_value(changes, 0, &size) != NULL && size == 0);
  CHECK(rocksync_changes_replica_id(changes, 0) == rocksync_replica_id(a));
  CHECK(!rocksync_changes_replaces(changes, 0));
  CHECK(rocksync_changes_replaced_time_ms(changes, 0) == 0);
  CHECK(rocksync_changes_replaced_replica_id(changes, 0) == 0);
  CHECK(rocksync_changes_source_id(changes, 0) == rocksync_replica_id(a));
  CHECK(rocksync_changes_source_id(changes, 1) == 0);
  written = rocksync_changes_time_ms(changes, 0);
  Remove(a_db, "of_a");
  rocksync_replicator_sync(to, address, &error);
  OK();
  changes = rocksync_change_feed_next(feed, 10000, NULL, &error);
  OK();
  CHECK(rocksync_changes_value(changes, 0, &size) == NULL);
  CHECK(rocksync_changes_replaces(changes, 0));
  CHECK(!rocksync_changes_replaced_tombstone(changes, 0));
  CHECK(rocksync_changes_replaced_time_ms(changes, 0) == written);
  CHECK(rocksync_changes_replaced_replica_id(changes, 0) ==
        rocksync_replica_id(a));
  Put(a_db, "of_a", "1");
  rocksync_replicator_sync(to, address, &error);
  OK();
  changes = rocksync_change_feed_next(feed, 10000, NULL, &error);
  OK();
  CHECK(rocksync_changes_replaced_tombstone(changes, 0));
  CHECK(rocksync_replicator_verify(to, address, 10, 0, NULL, NULL, &text,
                                   &error));
  OK();
  CHECK(strstr(text, "\"equal\":true,\"complete\":true,\"elements\":2,") !=
        NULL);
  rocksync_free(text);

  Put(b_db, "later", "3");
  CHECK(!rocksync_replicator_verify(to, address, 10, 0, &differences, Differs,
                                    NULL, &error));
  OK();
  CHECK(differences == 1);
  CHECK(!rocksync_replicator_verify(to, "nowhere", 10, 0, NULL, NULL, &text,
                                    &error));
  FAILS("Invalid argument");
  CHECK(strstr(text, "\"equal\":false,\"complete\":false,") != NULL);
  rocksync_free(text);

  text = rocksync_replicator_stats_json(to);
  CHECK(strstr(text, "\"pairs_applied\":3,") != NULL);
  rocksync_free(text);
  text = rocksync_replicator_stats_prometheus(to);
  CHECK(strstr(text, "# TYPE rocksync_pairs_applied_total counter\n") != NULL);
  rocksync_free(text);
  rocksync_replicator_scrub(to, &error);
  OK();
  rocksync_replicator_set_limits(to, 0, 0, 0, 0, &error);
  FAILS("max_sessions");
  rocksync_replicator_set_limits(to, 0, 0, 0, 2, &error);
  OK();
  {
    const char* peers[] = {address, "nowhere", NULL};
    rocksync_replicator_set_peers(to, peers, 1, &error);
    OK();
    rocksync_replicator_set_peers(to, peers, 2, &error);
    FAILS("nowhere");
    rocksync_replicator_set_peers(to, peers, 3, &error);
    FAILS("argument is NULL: peers");
    rocksync_replicator_set_peers(to, NULL, 1, &error);
    FAILS("argument is NULL: peers");
    text = rocksync_replicator_stats_json(to);
    CHECK(strstr(text, "\"configured\":true") != NULL);
    CHECK(strstr(text, "\"quarantined_now\":0") != NULL);
    CHECK(strstr(text, "\"index\":{\"done\":true") != NULL);
    rocksync_free(text);
    rocksync_replicator_set_peers(to, NULL, 0, &error);
    OK();
    text = rocksync_replicator_stats_json(to);
    CHECK(strstr(text, "\"configured\":true") == NULL);
    rocksync_free(text);
  }
  rocksync_replicator_pause(to);
  rocksync_replicator_sync(to, address, &error);
  FAILS("paused");
  rocksync_replicator_resume(to);
  rocksync_replicator_sync(to, "nowhere", &error);
  FAILS("Invalid argument");

  phase = "closing in the wrong order";
  CHECK(!rocksync_close(b, &error));
  FAILS("call rocksync_replicator_destroy first");
  rocksync_replicator_stop(to);
  rocksync_replicator_sync(to, address, &error);
  FAILS("Operation aborted");
  rocksync_replicator_set_limits(to, 0, 0, 0, 1, &error);
  FAILS("Operation aborted");
  CHECK(!rocksync_close(b, &error));
  FAILS("call rocksync_replicator_destroy first");
  rocksync_replicator_destroy(to);
  CHECK(!rocksync_close(b, &error));
  FAILS("call rocksdb_close on each first");
  CHECK(Holds(b_db, "later", "3"));
  rocksdb_close(b_db); /* one way to it, not the database */
  b_db = rocksync_rocksdb(b, &error);
  CHECK(Holds(b_db, "later", "3"));
  rocksdb_close(b_db);
  CHECK(rocksync_close(b, &error));
  OK();
  CHECK(rocksync_change_feed_next(feed, 10000, NULL, &error) == NULL);
  FAILS("Operation aborted");
  rocksync_change_feed_destroy(feed);
  rocksync_replicator_destroy(from);
  rocksdb_close(a_db);
  CHECK(rocksync_close(a, &error));
  OK();
  rocksync_free(address);
}

/* What a callback was told, or is to do. */
typedef struct {
  int calls;
  int finished;
  int go_on;
  int destroyed;
  char family[16];
  char key[16];
  char value[16];
  uint64_t writer;
} Told;

static void Keep(char* to, const char* from, size_t size) {
  snprintf(to, 16, "%.*s", from == NULL ? 1 : (int)size,
           from == NULL ? "-" : from);
}

static void BeforeApply(void* state, const rocksync_changes_t* changes) {
  Told* told = state;
  size_t size;
  const size_t last = rocksync_changes_count(changes) - 1;
  const char* text = rocksync_changes_family(changes, last, &size);
  Keep(told->family, text, size);
  text = rocksync_changes_key(changes, last, &size);
  Keep(told->key, text, size);
  text = rocksync_changes_value(changes, last, &size);
  Keep(told->value, text, size);
  told->writer = rocksync_changes_replica_id(changes, last);
  CHECK(rocksync_changes_time_ms(changes, last) > 1600000000000);
  /* Past the end. */
  CHECK(rocksync_changes_key(changes, last + 1, &size) == NULL && size == 0);
  CHECK(rocksync_changes_value(changes, last + 1, NULL) == NULL);
  CHECK(rocksync_changes_time_ms(changes, last + 1) == 0);
  CHECK(rocksync_changes_replica_id(changes, last + 1) == 0);
  CHECK(!rocksync_changes_replaces(changes, last + 1));
  ++told->calls;
  told->finished = rocksync_changes_replaces(changes, last);
}

static void Destroyed(void* state) { ++((Told*)state)->destroyed; }

/* One at a time here, as each has no listener. */
static void SessionTold(void* state, const char* session) {
  Told* told = state;
  ++told->calls;
  if (strstr(session, "\"finished\":true,\"proven_equal\":true,") != NULL) {
    ++told->finished;
  }
}

static void TestHookAndProgress(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_writeoptions_t* apply = rocksdb_writeoptions_create();
  rocksync_options_t* replication = NewReplication();
  rocksync_replicator_options_t* replicator_options =
      rocksync_replicator_options_create();
  rocksync_transport_t* plain =
      rocksync_insecure_plaintext_transport_create(&error);
  rocksync_t *a, *b;
  rocksdb_t* a_db;
  rocksync_replicator_t *from, *to;
  char* address;
  Told hook, unused, progress;
  phase = "hook and progress";
  OK();
  memset(&hook, 0, sizeof hook);
  memset(&unused, 0, sizeof unused);
  memset(&progress, 0, sizeof progress);

  rocksdb_options_set_create_if_missing(options, 1);
  rocksync_options_set_apply_hook(replication, &unused, Destroyed, BeforeApply);
  CHECK(unused.destroyed == 0);
  rocksync_options_set_apply_hook(replication, &hook, Destroyed, BeforeApply);
  CHECK(unused.destroyed == 1);
  rocksdb_writeoptions_disable_WAL(apply, 1);
  rocksync_options_set_apply_write_options(replication, apply, &error);
  OK();
  CHECK(rocksync_open(options, replication, Path("hooked"), &error) == NULL);
  FAILS("disableWAL");
  rocksdb_writeoptions_disable_WAL(apply, 0);
  rocksync_options_set_apply_write_options(replication, apply, &error);
  OK();
  b = rocksync_open(options, replication, Path("hooked"), &error);
  OK();
  rocksync_options_destroy(replication);
  CHECK(hook.destroyed == 0);
  a = Open("writer");
  CHECK(rocksync_index_build_percent(NULL) == 0);
  rocksync_wait_for_index_build(a, 10000, &error);
  OK();
  CHECK(rocksync_index_build_percent(a) == 100);
  a_db = rocksync_rocksdb(a, &error);

  rocksync_replicator_options_set_interval_ms(replicator_options, 0);
  rocksync_replicator_options_set_stream_buffer_bytes(replicator_options, 1);
  CHECK(rocksync_replicator_start(b, replicator_options, plain, &error) ==
        NULL);
  FAILS("stream_buffer_bytes");
  rocksync_replicator_options_set_stream_buffer_bytes(replicator_options,
                                                      1 << 20);
  rocksync_replicator_options_set_zone(
      replicator_options,
      "a zone whose name is longer than the sixty-four bytes that it may have");
  CHECK(rocksync_replicator_start(b, replicator_options, plain, &error) ==
        NULL);
  FAILS("zone");
  rocksync_replicator_options_set_zone(replicator_options, "east");
  rocksync_replicator_options_set_stream_syncs(replicator_options, 0);
  rocksync_replicator_options_set_stream(replicator_options, 0);
  rocksync_replicator_options_set_progress(replicator_options, &progress,
                                           SessionTold);
  to = rocksync_replicator_start(b, replicator_options, plain, &error);
  OK();
  rocksync_replicator_options_set_progress(replicator_options, NULL, NULL);
  rocksync_replicator_options_set_listen_address(replicator_options,
                                                 "127.0.0.1:0");
  from = rocksync_replicator_start(a, replicator_options, plain, &error);
  OK();
  address = rocksync_replicator_listen_address(from);

  Put(a_db, "key", "first");
  rocksync_replicator_sync(to, address, &error);
  OK();
  CHECK(hook.calls == 1 && !hook.finished);
  CHECK(strcmp(hook.family, "default") == 0 && strcmp(hook.key, "key") == 0);
  CHECK(strcmp(hook.value, "first") == 0);
  CHECK(hook.writer == rocksync_replica_id(a));
  CHECK(progress.calls >= 1 && progress.finished == 1);
  {
    rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
    rocksdb_delete(a_db, write, "key", 3, &error);
    OK();
    rocksdb_writeoptions_destroy(write);
  }
  rocksync_replicator_sync(to, address, &error);
  OK();
  CHECK(hook.calls == 2 && hook.finished && strcmp(hook.value, "-") == 0);

  rocksync_free(address);
  rocksync_replicator_destroy(from);
  rocksync_replicator_destroy(to);
  rocksdb_close(a_db);
  CHECK(rocksync_close(a, &error));
  CHECK(hook.destroyed == 0);
  CHECK(rocksync_close(b, &error));
  OK();
  CHECK(hook.destroyed == 1);
  rocksync_transport_destroy(plain);
  rocksync_replicator_options_destroy(replicator_options);
  rocksdb_writeoptions_destroy(apply);
  rocksdb_options_destroy(options);
}

/* Moves one from the first key to the second. */
static unsigned char Move(void* state, rocksync_values_t* values) {
  Told* told = state;
  size_t size;
  const char* first = rocksync_values_get(values, 0, &size);
  char digit[1];
  ++told->calls;
  if (first == NULL || !told->go_on) return 0;
  CHECK(size == 1);
  digit[0] = (char)(first[0] - 1);
  rocksync_values_set(values, 0, digit, 1);
  first = rocksync_values_get(values, 1, &size);
  digit[0] = first == NULL ? '1' : (char)(first[0] + 1);
  rocksync_values_set(values, 1, digit, 1);
  CHECK(rocksync_values_get(values, 2, &size) == NULL && size == 0);
  return 1;
}

static unsigned char Delete(void* state, rocksync_values_t* values) {
  (void)state;
  rocksync_values_set(values, 0, NULL, 0);
  return 1;
}

static unsigned char SetPastTheEnd(void* state, rocksync_values_t* values) {
  (void)state;
  rocksync_values_set(values, 0, "lost", 4);
  rocksync_values_set(values, 1, "lost", 4);
  return 1;
}

static unsigned char WriteInside(void* state, rocksync_values_t* values) {
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  (void)values;
  rocksdb_put(state, write, "inside", 6, "", 0, &error);
  FAILS("Update");
  rocksdb_writeoptions_destroy(write);
  return 1;
}

static void TestUpdate(void) {
  rocksync_t* db = Open("update");
  rocksdb_t* way = rocksync_rocksdb(db, &error);
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  const char* keys[] = {"from", "to", "from"};
  const size_t sizes[] = {4, 2, 4};
  Told told;
  phase = "update";
  memset(&told, 0, sizeof told);
  Put(way, "from", "5");
  rocksync_update(db, write, 2, NULL, keys, sizes, &told, Move, &error);
  FAILS("Operation aborted: rocksync: `change` gave the update up");
  CHECK(told.calls == 1 && Holds(way, "from", "5") && Holds(way, "to", NULL));
  told.go_on = 1;
  rocksync_update(db, write, 2, NULL, keys, sizes, &told, Move, &error);
  OK();
  CHECK(Holds(way, "from", "4") && Holds(way, "to", "1"));
  rocksync_update(db, write, 2, NULL, keys, sizes, &told, Move, &error);
  OK();
  CHECK(Holds(way, "from", "3") && Holds(way, "to", "2"));
  rocksync_update(db, write, 3, NULL, keys, sizes, &told, Move, &error);
  FAILS("names a key twice");
  rocksync_update(db, write, 1, NULL, keys, sizes, NULL, SetPastTheEnd, &error);
  FAILS("key number 1, and the update has 1");
  CHECK(Holds(way, "from", "3"));
  rocksync_update(db, write, 1, NULL, keys, sizes, way, WriteInside, &error);
  OK();
  CHECK(Holds(way, "inside", NULL));
  rocksync_update(db, write, 1, NULL, keys, sizes, NULL, Delete, &error);
  OK();
  CHECK(Holds(way, "from", NULL));
  rocksync_update(db, write, 1, NULL, keys, NULL, NULL, Delete, &error);
  FAILS("argument is NULL: key_sizes");
  keys[0] = NULL;
  rocksync_update(db, write, 1, NULL, keys, sizes, NULL, Delete, &error);
  FAILS("argument is NULL: a key");
  rocksync_update(db, write, 1, NULL, keys, sizes, NULL, NULL, &error);
  FAILS("argument is NULL: change");
  rocksync_update(NULL, write, 1, NULL, keys, sizes, NULL, Delete, &error);
  FAILS("argument is NULL: db");
  CHECK(rocksync_values_get(NULL, 0, NULL) == NULL);
  rocksync_values_set(NULL, 0, "x", 1);
  rocksdb_writeoptions_destroy(write);
  rocksdb_close(way);
  CHECK(rocksync_close(db, &error));
  OK();
}

static unsigned char CloneTold(void* state, int stage, uint64_t bytes_done,
                               uint64_t bytes) {
  Told* told = state;
  CHECK(stage >= rocksync_clone_asking &&
        stage <= rocksync_clone_carrying_over);
  CHECK(bytes_done <= bytes || bytes == 0);
  ++told->calls;
  if (stage == rocksync_clone_proving) ++told->finished;
  return told->go_on == 1 ||
         (told->go_on == 2 && stage < rocksync_clone_opening);
}

static void TestClone(void) {
  const uint64_t id = 0xc10e;
  rocksync_t* source = Open("cloned");
  rocksdb_t* way = rocksync_rocksdb(source, &error);
  rocksync_replicator_t* serving = Start(source, "127.0.0.1:0");
  char* address = rocksync_replicator_listen_address(serving);
  rocksdb_options_t* options = rocksdb_options_create();
  rocksync_options_t* replication = NewReplication();
  rocksync_transport_t* transport = TrialTransport(id);
  rocksync_clone_options_t* clone =
      rocksync_clone_options_create(transport, address);
  rocksync_t* db;
  rocksdb_t* clones_way;
  uint64_t carried_over = 0;
  char* why;
  Told told;
  phase = "clone";
  memset(&told, 0, sizeof told);
  Put(way, "key", "copied");
  CHECK(!rocksync_clone(options, replication, Path("clone"), 0, NULL, NULL,
                        NULL, &why, &error));
  FAILS("argument is NULL: clone");
  CHECK(!rocksync_clone(options, replication, Path("clone"), 1, NULL, NULL,
                        clone, &why, &error));
  FAILS("argument is NULL: family_names");
  CHECK(!rocksync_clone(options, replication, Path("clone"), -3, NULL, NULL,
                        clone, &why, &error));
  FAILS("-3 column families");
  rocksync_clone_options_set_connections(clone, 0);
  CHECK(!rocksync_clone(options, replication, Path("clone"), 0, NULL, NULL,
                        clone, &why, &error));
  FAILS("connections");
  CHECK(why == NULL);
  rocksync_clone_options_set_connections(clone, 2);
  CHECK(rocksync_clone_replica_id(Path("clone"), &error) == 0);
  OK();
  CHECK(rocksync_clone_replica_id(NULL, &error) == 0);
  FAILS("argument is NULL: name");
  rocksync_clone_options_set_io_timeout_ms(clone, 20000);
  rocksync_clone_options_set_progress(clone, &told, CloneTold);
  CHECK(!rocksync_clone(options, replication, Path("clone"), 0, NULL, NULL,
                        clone, NULL, &error));
  FAILS("Operation aborted");
  CHECK(told.calls > 0);
  told.go_on = 1;
  rocksync_replicator_destroy(serving);
  serving = StartThatAllows(source, address, 0);
  CHECK(!rocksync_clone(options, replication, Path("clone"), 0, NULL, NULL,
                        clone, &why, &error));
  FAILS("the option allow_clones is false");
  rocksync_replicator_destroy(serving);
  serving = Start(source, address);
  told.go_on = 2;
  CHECK(!rocksync_clone(options, replication, Path("clone"), 0, NULL, NULL,
                        clone, &why, &error));
  FAILS("Operation aborted");
  CHECK(rocksync_clone_replica_id(Path("clone"), &error) == id);
  OK();
  told.go_on = 1;
  CHECK(rocksync_clone(options, replication, Path("clone"), 0, NULL, NULL,
                       clone, &why, &error));
  OK();
  CHECK(why == NULL && told.finished > 0);
  CHECK(rocksync_clone_replica_id(Path("clone"), &error) == 0);
  OK();

  /* The clone goes on alone, and is brought up to date. */
  db = rocksync_open(options, replication, Path("clone"), &error);
  OK();
  clones_way = rocksync_rocksdb(db, &error);
  CHECK(Holds(clones_way, "key", "copied"));
  Put(clones_way, "alone", "kept");
  rocksdb_close(clones_way);
  CHECK(rocksync_close(db, &error));
  OK();
  Put(way, "later", "copied, too");
  CHECK(!rocksync_resync(options, replication, Path("clone"), 0, NULL, NULL,
                         NULL, 0, &carried_over, &why, &error));
  FAILS("argument is NULL: clone");
  CHECK(!rocksync_resync(options, replication, Path("clone"), 0, NULL, NULL,
                         clone, 1.5, &carried_over, &why, &error));
  FAILS("copy_from_share");
  CHECK(!rocksync_resync(options, replication, Path("none"), 0, NULL, NULL,
                         clone, 0, NULL, NULL, &error));
  FAILS("no replica is in");
  CHECK(rocksync_resync(options, replication, Path("clone"), 0, NULL, NULL,
                        clone, 0, &carried_over, &why, &error));
  OK();
  CHECK(why == NULL && carried_over == 1);
  rocksync_clone_options_set_progress(clone, NULL, NULL);
  rocksync_clone_options_cancel(clone);
  rocksync_clone_options_cancel(NULL);
  CHECK(!rocksync_clone(options, replication, Path("cancelled"), 0, NULL, NULL,
                        clone, &why, &error));
  FAILS("Operation aborted");
  CHECK(!rocksync_resync(options, replication, Path("clone"), 0, NULL, NULL,
                         clone, 0, &carried_over, &why, &error));
  FAILS("Operation aborted");
  rocksync_clone_options_destroy(clone);
  rocksync_transport_destroy(transport);
  rocksync_replicator_destroy(serving);
  rocksdb_close(way);
  CHECK(rocksync_close(source, &error));

  db = rocksync_open(options, replication, Path("clone"), &error);
  OK();
  CHECK(rocksync_replica_id(db) == id);
  way = rocksync_rocksdb(db, &error);
  CHECK(Holds(way, "key", "copied"));
  CHECK(Holds(way, "later", "copied, too"));
  CHECK(Holds(way, "alone", "kept"));
  rocksdb_close(way);
  CHECK(rocksync_close(db, &error));
  OK();
  clone = rocksync_clone_options_create(NULL, NULL);
  CHECK(!rocksync_clone(options, replication, Path("none"), 0, NULL, NULL,
                        clone, NULL, &error));
  FAILS("transport is null");
  rocksync_clone_options_destroy(clone);
  rocksync_clone_options_destroy(NULL);
  rocksync_clone_options_set_connections(NULL, 1);
  rocksync_clone_options_set_progress(NULL, NULL, NULL);
  rocksync_free(address);
  rocksync_options_destroy(replication);
  rocksdb_options_destroy(options);
}

/* What would wait for its own thread is refused in callbacks. */
static rocksync_t* asked_db;
static rocksync_replicator_t* asked;
static char* refusals[3];

static unsigned char UpdateThatCloses(void* state, rocksync_values_t* values) {
  CHECK(!rocksync_close(asked_db, &refusals[0]));
  rocksync_values_set(values, 0, "v", 1);
  if (state != NULL) rocksync_values_set(values, 0, "v", (size_t)-1);
  return 1;
}

static void ProgressThatAsks(void* state, const char* session) {
  (void)state;
  if (strstr(session, "\"finished\":true") == NULL || refusals[1] != NULL)
    return;
  rocksync_replicator_sync(asked, "127.0.0.1:1", &refusals[1]);
  rocksync_replicator_verify(asked, "127.0.0.1:1", 1, 0, NULL, NULL, NULL,
                             &refusals[2]);
}

static void CheckRefusal(int i, const char* text) {
  error = refusals[i];
  refusals[i] = NULL;
  FAILS(text);
}

static void TestCallsInCallbacks(void) {
  const char* key = "k";
  size_t size = 1;
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksync_transport_t* plain =
      rocksync_insecure_plaintext_transport_create(&error);
  rocksync_replicator_options_t* options = rocksync_replicator_options_create();
  rocksdb_t* way;
  phase = "calls in callbacks";
  OK();
  asked_db = Open("callbacks");
  rocksync_update(asked_db, write, 1, NULL, &key, &size, NULL, UpdateThatCloses,
                  &error);
  OK();
  CheckRefusal(0, "Operation aborted");
  way = rocksync_rocksdb(asked_db, &error);
  CHECK(Holds(way, "k", "v"));
  rocksdb_close(way);

  phase = "sizes that are none";
  rocksync_update(asked_db, write, 1, NULL, &key, &size, &size,
                  UpdateThatCloses, &error);
  FAILS("a value of");
  CheckRefusal(0, "Operation aborted");
  size = (size_t)-1;
  rocksync_update(asked_db, write, 1, NULL, &key, &size, NULL, UpdateThatCloses,
                  &error);
  FAILS("max_key_bytes");
  CHECK(rocksync_delete_range_in_chunks(asked_db, write, NULL, key, size, key,
                                        1, &error) == 0);
  FAILS("no key is as long");
  {
    const uint64_t id = 1;
    rocksync_set_members(asked_db, 1, &id, size, &error);
    FAILS("members");
  }

  phase = "calls in progress";
  rocksync_replicator_options_set_interval_ms(options, 0);
  rocksync_replicator_options_set_progress(options, NULL, ProgressThatAsks);
  asked = rocksync_replicator_start(asked_db, options, plain, &error);
  OK();
  rocksync_replicator_sync(asked, "127.0.0.1:1", &error);
  FAILS("");
  CheckRefusal(1, "Invalid argument");
  CheckRefusal(2, "Invalid argument");
  rocksync_replicator_destroy(asked);
  rocksync_replicator_options_destroy(options);
  rocksync_transport_destroy(plain);
  rocksdb_writeoptions_destroy(write);
  CHECK(rocksync_close(asked_db, &error));
  OK();
}

/* A database of the cluster `cluster`, in the directory of that name. */
static rocksync_t* OpenOf(const char* cluster, const char* name, uint64_t id) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksync_options_t* replication = NewReplication();
  rocksync_t* db;
  rocksdb_options_set_create_if_missing(options, 1);
  rocksync_options_set_cluster_name(replication, cluster);
  rocksync_options_set_new_replica_id(replication, id);
  db = rocksync_open(options, replication, Path(name), &error);
  OK();
  CHECK(rocksync_replica_id(db) == id);
  rocksync_options_destroy(replication);
  rocksdb_options_destroy(options);
  return db;
}

static void TestSharedListener(void) {
  const char* const clusters[] = {"orders", "stock"};
  const char* const names[] = {"peer_orders", "peer_stock"};
  rocksync_transport_t* transport = TrialTransport(77);
  rocksync_replicator_options_t* options = rocksync_replicator_options_create();
  rocksync_shared_listener_t* listener;
  rocksync_t* dbs[2];
  rocksdb_t* ways[2];
  rocksync_replicator_t* replicators[2];
  char* address;
  int i;
  phase = "shared listener";
  CHECK(rocksync_shared_listener_start(NULL, "127.0.0.1:0", &error) == NULL);
  FAILS("argument is NULL: transport");
  CHECK(rocksync_shared_listener_start(transport, NULL, &error) == NULL);
  FAILS("argument is NULL: address");
  CHECK(rocksync_shared_listener_address(NULL) == NULL);
  rocksync_shared_listener_destroy(NULL);
  listener = rocksync_shared_listener_start(transport, "127.0.0.1:0", &error);
  OK();
  CHECK(rocksync_shared_listener_start(transport, "127.0.0.1:0", &error) ==
        NULL);
  FAILS("already listening");
  rocksync_replicator_options_set_interval_ms(options, 0);
  rocksync_replicator_options_set_shared_listener(NULL, listener);
  rocksync_replicator_options_set_shared_listener(options, listener);
  for (i = 0; i < 2; ++i) {
    dbs[i] = OpenOf(clusters[i], clusters[i], 77);
    ways[i] = rocksync_rocksdb(dbs[i], &error);
    Put(ways[i], "cluster", clusters[i]);
    replicators[i] = rocksync_replicator_start(
        dbs[i], options, i == 0 ? NULL : transport, &error);
    OK();
  }
  address = rocksync_shared_listener_address(listener);
  rocksync_shared_listener_destroy(listener);
  rocksync_transport_destroy(transport);
  rocksync_replicator_options_destroy(options);
  for (i = 0; i < 2; ++i) {
    rocksync_t* peer = OpenOf(clusters[i], names[i], 78);
    rocksync_replicator_t* to = Start(peer, "");
    rocksdb_t* way = rocksync_rocksdb(peer, &error);
    rocksync_replicator_sync(to, address, &error);
    OK();
    CHECK(Holds(way, "cluster", clusters[i]));
    rocksync_replicator_destroy(to);
    rocksdb_close(way);
    CHECK(rocksync_close(peer, &error));
    OK();
  }
  for (i = 0; i < 2; ++i) {
    rocksync_replicator_destroy(replicators[i]);
    rocksdb_close(ways[i]);
    CHECK(rocksync_close(dbs[i], &error));
    OK();
  }
  rocksync_free(address);
}

/* What would wait for threads that are the parent's alone. */
static void InChild(rocksync_t* db, rocksync_replicator_t* replicator,
                    const char* address) {
  alarm(60); /* the child would wait without end */
  rocksync_replicator_sync(replicator, address, &error);
  FAILS("call it there; a child may exec");
  rocksync_replicator_scrub(replicator, &error);
  FAILS("threads are not here");
  rocksync_replicator_set_peers(replicator, NULL, 0, &error);
  FAILS("forked from the one that opened the database");
  rocksync_replicator_set_limits(replicator, 1, 1, 1, 1, &error);
  FAILS("forked from the one that opened the database");
  CHECK(rocksync_replicator_stats_json(replicator) == NULL);
  CHECK(rocksync_replicator_stats_prometheus(replicator) == NULL);
  rocksync_replicator_pause(replicator);
  rocksync_replicator_stop(replicator);
  rocksync_replicator_destroy(replicator);
  CHECK(!rocksync_check_close(db, 0, 0, &error));
  FAILS("Operation aborted: rocksync: this process was forked");
  CHECK(!rocksync_close(db, &error));
  FAILS("Operation aborted: rocksync: this process was forked");
  _exit(0);
}

static void TestChildOfFork(void) {
  rocksync_t* db;
  rocksync_replicator_t* replicator;
  char* address;
  pid_t child;
  int status = 0;

  phase = "child of fork";
  db = Open("forked");
  replicator = Start(db, "127.0.0.1:0");
  address = rocksync_replicator_listen_address(replicator);
  child = fork();
  CHECK(child >= 0);
  if (child == 0) InChild(db, replicator, address);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  rocksync_free(address);
  rocksync_replicator_destroy(replicator);
  rocksync_close(db, &error);
  OK();
}

struct Use {
  rocksync_t* db;
  pthread_mutex_t mutex;
  int over;
};

static int IsOver(struct Use* use) {
  int over;
  pthread_mutex_lock(&use->mutex);
  over = use->over;
  pthread_mutex_unlock(&use->mutex);
  return over;
}

static void* UseUntilOver(void* state) {
  struct Use* use = state;
  char* refused = NULL;
  while (!IsOver(use)) rocksdb_close(rocksync_rocksdb(use->db, &refused));
  return refused;
}

/* At the fork a thread of the parent may hold any lock of the library's. */
static void InChildOfUser(rocksync_t* db, rocksync_transport_t* transport) {
  rocksync_replicator_options_t* options = rocksync_replicator_options_create();
  alarm(60); /* the child would wait without end */
  CHECK(!rocksync_close(db, &error));
  FAILS("forked from the one that opened the database");
  CHECK(rocksync_rocksdb(db, &error) == NULL);
  FAILS("a child may exec, or leave by _exit");
  CHECK(rocksync_replicator_start(db, options, transport, &error) == NULL);
  FAILS("forked from the one that opened the database");
  _exit(0);
}

static void TestForkWhileItIsUsed(void) {
  struct Use use;
  rocksync_transport_t* transport;
  pthread_t users[2];
  void* refused;
  int i;
  int status = 0;

  phase = "fork while it is used";
  use.db = Open("used");
  transport = rocksync_insecure_plaintext_transport_create(&error);
  OK();
  use.over = 0;
  CHECK(pthread_mutex_init(&use.mutex, NULL) == 0);
  for (i = 0; i < 2; ++i) {
    CHECK(pthread_create(&users[i], NULL, UseUntilOver, &use) == 0);
  }
  for (i = 0; i < 40; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) InChildOfUser(use.db, transport);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  pthread_mutex_lock(&use.mutex);
  use.over = 1;
  pthread_mutex_unlock(&use.mutex);
  for (i = 0; i < 2; ++i) {
    CHECK(pthread_join(users[i], &refused) == 0);
    CHECK(refused == NULL);
  }
  rocksync_transport_destroy(transport);
  rocksync_close(use.db, &error);
  OK();
}

static void TestIteratorHoldsUpClose(void) {
  rocksync_t* db = Open("a");
  rocksdb_t* way = rocksync_rocksdb(db, &error);
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  rocksdb_iterator_t* iterator = rocksdb_create_iterator(way, read);
  phase = "iterator";
  CHECK(rocksync_check_close(db, 1, 1, &error));
  OK();
  CHECK(!rocksync_check_close(db, 1, 0, &error));
  FAILS("iterators are held");
  CHECK(!rocksync_check_close(db, 0, 1, &error));
  FAILS("1 rocksdb_t");
  CHECK(!rocksync_check_close(NULL, 0, 0, &error));
  FAILS("argument is NULL");
  rocksdb_close(way);
  CHECK(!rocksync_close(db, &error));
  FAILS("iterators are held");
  rocksdb_iter_destroy(iterator);
  rocksdb_readoptions_destroy(read);
  CHECK(rocksync_close(db, &error));
  OK();
}

static void TestSnapshotHoldsUpClose(void) {
  rocksync_t* db = Open("a");
  rocksdb_t* way = rocksync_rocksdb(db, &error);
  rocksdb_t* other = rocksync_rocksdb(db, &error);
  const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(way);
  phase = "snapshot";
  rocksdb_close(way);
  CHECK(!rocksync_close(db, &error));
  FAILS("1 rocksdb_t");
  rocksdb_release_snapshot(other, snapshot);
  rocksdb_close(other);
  CHECK(rocksync_close(db, &error));
  OK();
}

static void TestFamilies(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksync_options_t* replication = NewReplication();
  const char* names[] = {"default", "more"};
  const char* twice[] = {"default", "default"};
  const char* index[] = {"default", "__rocksync_index"};
  const char* empty[] = {"default", ""};
  const rocksdb_options_t* each[2];
  rocksdb_column_family_handle_t* handles[2];
  rocksdb_column_family_handle_t* made;
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksync_t* db;
  rocksdb_t* way;
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  rocksdb_iterator_t* iterator;
  uint64_t id;
  size_t count, size;
  int i;
  char* text;
  phase = "families";
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  each[0] = each[1] = options;
  CHECK(rocksync_open_column_families(options, replication, Path("families"), 2,
                                      twice, each, handles, &error) == NULL);
  FAILS("two column families named default");
  CHECK(rocksync_open_column_families(options, replication, Path("families"), 2,
                                      index, each, handles, &error) == NULL);
  FAILS("the index is opened by the library; leave it out");
  CHECK(rocksync_open_column_families(options, replication, Path("families"),
                                      -1, names, each, handles,
                                      &error) == NULL);
  FAILS("-1 column families");
  CHECK(rocksync_open_column_families(options, replication, Path("families"), 2,
                                      empty, each, handles, &error) == NULL);
  FAILS("a column family with an empty name: name it");
  CHECK(access(Path("families"), F_OK) != 0);
  db = rocksync_open_column_families(options, replication, Path("families"), 2,
                                     names, each, handles, &error);
  OK();
  way = rocksync_rocksdb(db, &error);
  OK();
  rocksdb_put_cf(way, write, handles[1], "key", 3, "value", 5, &error);
  OK();
  /* What would let RocksDB delete a handle of ours. */
  made = rocksdb_create_column_family(way, options, "x", &error);
  FAILS("rocksync_create_column_family");
  /* RocksDB's own, which is empty; newer versions make none. */
  if (made != NULL) rocksdb_column_family_handle_destroy(made);
  made = rocksync_create_column_family(db, options, "made", &error);
  OK();
  text = rocksdb_column_family_handle_get_name(made, &size);
  CHECK(size == 4 && memcmp(text, "made", 4) == 0);
  rocksdb_free(text);
  rocksdb_put_cf(way, write, made, "key", 3, "other", 5, &error);
  OK();
  text = rocksync_replicated_families(db, &count, &error);
  OK();
  CHECK(count == 3 && memcmp(text, "default\0made\0more", 18) == 0);
  rocksync_free(text);
  rocksync_drop_column_family(db, made, &error);
  OK();
  rocksdb_put_cf(way, write, made, "key", 3, "late", 4, &error);
  FAILS("was dropped");
  /* A close that is refused leaves the handles as they were. */
  iterator = rocksdb_create_iterator_cf(way, read, made);
  CHECK(!rocksync_close(db, &error));
  FAILS("still open");
  rocksdb_iter_destroy(iterator);
  text = rocksdb_get_cf(way, read, made, "key", 3, &size, &error);
  OK();
  CHECK(size == 5 && memcmp(text, "other", 5) == 0);
  rocksdb_free(text);
  rocksync_column_family_handle_destroy(db, made, &error);
  OK();
  rocksync_column_family_handle_destroy(db, made, &error);
  FAILS("destroyed already");
  for (i = 0; i < 2; ++i) {
    made = rocksync_create_column_family(db, options, "made", &error);
    OK();
    rocksdb_put_cf(way, write, made, "key", 3, "other", 5, &error);
    OK();
    rocksync_drop_column_family(db, made, &error);
    OK();
    if (i == 0) {
      rocksync_column_family_handle_destroy(db, made, &error);
      OK();
    }
  }
  CHECK(rocksync_delete_range_in_chunks(db, write, handles[1], "a", 1, "z", 1,
                                        &error) == 1);
  OK();
  CHECK(rocksync_delete_range_in_chunks(db, write, NULL, "a", 1, "z", 1,
                                        &error) == 0);
  OK();
  id = rocksync_replica_id(db);
  rocksync_set_members(db, 1, &id, 1, &error);
  OK();
  rocksync_set_members(db, 1, &id, 1, &error);
  FAILS("epoch");
  rocksync_collect_tombstones(db, &error);
  OK();
  /* Twice, with a dropped family whose handle nobody gave back: at first
     refused by the database itself. */
  iterator = rocksdb_create_iterator_cf(way, read, handles[1]);
  rocksdb_close(way);
  CHECK(!rocksync_close(db, &error));
  FAILS("iterators are held");
  rocksdb_iter_destroy(iterator);
  rocksdb_readoptions_destroy(read);
  CHECK(rocksync_close(db, &error));
  OK();

  phase = "detaching";
  rocksync_detach(options, Path("families"), 0, NULL, NULL, &error);
  OK();
  rocksdb_writeoptions_destroy(write);
  rocksync_options_destroy(replication);
  rocksdb_options_destroy(options);
}

static int Backwards(void* state, const char* a, size_t a_size, const char* b,
                     size_t b_size) {
  const int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
  (void)state;
  if (order != 0) return -order;
  return a_size == b_size ? 0 : a_size < b_size ? 1 : -1;
}
static const char* NameOfBackwards(void* state) {
  (void)state;
  return "test.Backwards";
}
static void NoDestructor(void* state) { (void)state; }

static void TestDetachWithAComparator(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_t* backwards = rocksdb_options_create();
  rocksdb_comparator_t* comparator = rocksdb_comparator_create(
      NULL, &NoDestructor, &Backwards, &NameOfBackwards);
  rocksync_options_t* replication = NewReplication();
  const char* names[] = {"default", "backwards"};
  const rocksdb_options_t* each[2];
  rocksdb_column_family_handle_t* handles[2];
  rocksync_t* db;
  phase = "detaching with a comparator";
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  rocksdb_options_set_comparator(backwards, comparator);
  rocksync_options_set_comparators_tell_all_bytes_apart(replication, 1);
  each[0] = options;
  each[1] = backwards;
  db = rocksync_open_column_families(options, replication, Path("backwards"), 2,
                                     names, each, handles, &error);
  OK();
  CHECK(rocksync_close(db, &error));
  OK();
  rocksync_detach(options, Path("backwards"), 0, NULL, NULL, &error);
  FAILS("test.Backwards");
  rocksync_detach(options, Path("backwards"), 1, names + 1, NULL, &error);
  FAILS("argument is NULL: family_options");
  rocksync_detach(options, Path("backwards"), 1, names + 1, each + 1, &error);
  OK();
  rocksync_options_destroy(replication);
  rocksdb_options_destroy(backwards);
  rocksdb_options_destroy(options);
  rocksdb_comparator_destroy(comparator);
}

/* Of a variable that is not set, mostly. */
static void TestEmptyNames(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  const char* const empty[] = {"", NULL};
  size_t i;
  phase = "empty names";
  rocksdb_options_set_create_if_missing(options, 1);
  for (i = 0; i < 6; ++i) {
    rocksync_options_t* replication = NewReplication();
    const char* name = empty[i % 2];
    if (i / 2 == 0) rocksync_options_add_family(replication, name);
    if (i / 2 == 1) rocksync_options_add_merge_family(replication, name);
    if (i / 2 == 2) rocksync_options_add_discard_history_of(replication, name);
    CHECK(rocksync_open(options, replication, Path("empty"), &error) == NULL);
    FAILS(i / 2 == 0   ? "ReplicatedDBOptions::families holds an empty name"
          : i / 2 == 1 ? "merge_families holds an empty name: name a column"
                       : "discard_history_of holds an empty name");
    rocksync_options_destroy(replication);
  }
  CHECK(access(Path("empty"), F_OK) != 0);
  CHECK(rocksync_read_replica_id("", &error) == 0);
  FAILS("the name of the certificate's file is empty: give");
  rocksdb_options_destroy(options);
}

static void TestOptionsAreThose(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksync_options_t* replication = NewReplication();
  rocksync_t* db;
  phase = "options";
  /* create_if_missing is off. */
  CHECK(rocksync_open(options, replication, Path("none"), &error) == NULL);
  FAILS("create_if_missing");
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_allow_ingest_behind(options, 0);
  rocksdb_options_set_unordered_write(options, 1);
  CHECK(rocksync_open(options, replication, Path("none"), &error) == NULL);
  FAILS("unordered_write");
  rocksdb_options_set_unordered_write(options, 0);
  rocksync_options_set_max_key_bytes(replication, 4);
  rocksync_options_set_max_value_bytes(replication, 8);
  rocksync_options_set_index_write_buffer_bytes(replication, 1 << 20);
  rocksync_options_set_max_delete_range_keys(replication, 2);
  rocksync_options_set_max_clock_ahead_ms(replication, 1000);
  rocksync_options_set_adopt_existing(replication, 0);
  db = rocksync_open(options, replication, Path("limits"), &error);
  OK();
  {
    rocksdb_t* way = rocksync_rocksdb(db, &error);
    rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
    rocksdb_put(way, write, "12345", 5, "", 0, &error);
    FAILS("max_key_bytes");
    rocksdb_put(way, write, "1", 1, "123456789", 9, &error);
    FAILS("max_value_bytes");
    rocksdb_writeoptions_destroy(write);
    rocksdb_close(way);
  }
  CHECK(rocksync_close(db, &error));
  OK();
  rocksync_options_add_family(replication, "gone");
  CHECK(rocksync_open(options, replication, Path("limits"), &error) == NULL);
  FAILS("default");
  rocksync_options_add_discard_history_of(replication, "default");
  db = rocksync_open(options, replication, Path("limits"), &error);
  OK();
  CHECK(rocksync_close(db, &error));
  OK();
  rocksync_options_destroy(replication);
  rocksdb_options_destroy(options);
}

static void TestSecrets(void) {
  rocksync_options_t* replication = rocksync_options_create();
  FILE* file;
  phase = "secrets";
  rocksync_options_set_cluster_secret(replication, "short", 5, &error);
  FAILS("32 bytes, not 5");
  rocksync_options_read_cluster_secret(replication, Path("secret"), &error);
  FAILS("is not there: give the file that all replicas of the cluster have");
  file = fopen(Path("secret"), "wb");
  CHECK(fwrite("0123456789abcdef0123456789abcdef\n", 1, 33, file) == 33);
  fclose(file);
  rocksync_options_read_cluster_secret(replication, Path("secret"), &error);
  FAILS("no newline");
  file = fopen(Path("secret"), "wb");
  CHECK(fwrite("0123456789abcdef0123456789abcdef", 1, 32, file) == 32);
  fclose(file);
  rocksync_options_read_cluster_secret(replication, Path("secret"), &error);
  OK();
  rocksync_options_destroy(replication);
}

/* Every function takes NULL where an object should be. */
static void TestNull(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksync_options_t* replication = NewReplication();
  rocksync_replicator_options_t* replicator_options =
      rocksync_replicator_options_create();
  rocksync_t* db = Open("null");
  rocksync_transport_t* transport =
      rocksync_insecure_plaintext_transport_create(&error);
  char* text;
  size_t count;
  phase = "null";
  OK();
  CHECK(rocksync_open(NULL, replication, "x", &error) == NULL);
  FAILS("argument is NULL: options");
  CHECK(rocksync_open(options, NULL, "x", &error) == NULL);
  FAILS("argument is NULL: replication");
  CHECK(rocksync_open(options, replication, NULL, &error) == NULL);
  FAILS("argument is NULL: name");
  CHECK(rocksync_open(options, replication, Path("none"), NULL) == NULL);
  CHECK(rocksync_open_column_families(options, replication, Path("none"), 1,
                                      NULL, NULL, NULL, &error) == NULL);
  FAILS("family_names");
  CHECK(!rocksync_close(NULL, &error));
  FAILS("argument is NULL: db");
  CHECK(rocksync_rocksdb(NULL, &error) == NULL);
  FAILS("argument is NULL: db");
  CHECK(rocksync_create_column_family(db, NULL, "x", &error) == NULL);
  FAILS("argument is NULL: options");
  rocksync_drop_column_family(db, NULL, &error);
  FAILS("argument is NULL: family");
  rocksync_column_family_handle_destroy(db, NULL, &error);
  FAILS("argument is NULL: family");
  rocksync_column_family_handle_destroy(NULL, NULL, &error);
  FAILS("argument is NULL: db");
  CHECK(rocksync_replicated_families(db, NULL, &error) == NULL);
  FAILS("argument is NULL: count");
  CHECK(rocksync_replicated_families(NULL, &count, &error) == NULL);
  FAILS("argument is NULL: db");
  CHECK(rocksync_replica_id(NULL) == 0);
  CHECK(rocksync_incarnation(NULL) == 0);
  rocksync_wait_for_index_build(NULL, 0, &error);
  FAILS("argument is NULL: db");
  rocksync_set_members(db, 1, NULL, 1, &error);
  FAILS("argument is NULL: replica_ids");
  rocksync_set_members(db, 1, NULL, 0, &error);
  FAILS("Invalid argument");
  rocksync_collect_tombstones(NULL, &error);
  FAILS("argument is NULL: db");
  CHECK(rocksync_delete_range_in_chunks(db, NULL, NULL, "a", 1, "b", 1,
                                        &error) == 0);
  FAILS("argument is NULL: options");
  rocksync_detach(options, NULL, 0, NULL, NULL, &error);
  FAILS("argument is NULL: name");
  rocksync_detach(options, Path("nothere"), 0, NULL, NULL, &error);
  FAILS("nothere is not there: give the directory of a database");
  rocksync_make_trial_certificate(NULL, 1, &text, &text, &text, &error);
  FAILS("argument is NULL: directory");
  rocksync_make_trial_certificate(Path("trial"), 1, NULL, &text, &text, &error);
  FAILS("argument is NULL: ca_file");
  CHECK(rocksync_read_replica_id(NULL, &error) == 0);
  FAILS("argument is NULL: certificate_file");
  CHECK(rocksync_tls_transport_create("x", "y", NULL, &error) == NULL);
  FAILS("argument is NULL: private_key_file");
  CHECK(rocksync_replicator_start(NULL, replicator_options, transport,
                                  &error) == NULL);
  FAILS("argument is NULL: db");
  CHECK(rocksync_replicator_start(db, replicator_options, NULL, &error) ==
        NULL);
  FAILS("argument is NULL: transport");
  rocksync_replicator_options_add_peer(replicator_options, NULL);
  CHECK(rocksync_replicator_start(db, replicator_options, transport, &error) ==
        NULL);
  FAILS("address");
  rocksync_replicator_sync(NULL, "x", &error);
  FAILS("argument is NULL: replicator");
  CHECK(!rocksync_replicator_verify(NULL, "x", 1, 0, NULL, NULL, NULL, &error));
  FAILS("argument is NULL: replicator");
  rocksync_replicator_scrub(NULL, &error);
  FAILS("argument is NULL: replicator");
  rocksync_replicator_set_limits(NULL, 0, 0, 0, 1, &error);
  FAILS("argument is NULL: replicator");
  CHECK(rocksync_subscribe(NULL, 1 << 20, &error) == NULL);
  FAILS("argument is NULL: db");
  CHECK(rocksync_change_feed_next(NULL, 0, NULL, &error) == NULL);
  FAILS("argument is NULL: feed");
  rocksync_change_feed_destroy(NULL);
  rocksync_replicator_set_peers(NULL, NULL, 0, &error);
  FAILS("argument is NULL: replicator");
  CHECK(rocksync_replicator_listen_address(NULL) == NULL);
  CHECK(rocksync_replicator_stats_json(NULL) == NULL);
  CHECK(rocksync_replicator_stats_prometheus(NULL) == NULL);
  rocksync_options_set_cluster_name(NULL, "x");
  rocksync_options_set_cluster_secret(NULL, "x", 1, &error);
  FAILS("argument is NULL: options");
  rocksync_options_read_cluster_secret(replication, NULL, &error);
  FAILS("argument is NULL: file");
  rocksync_options_add_family(NULL, "x");
  rocksync_options_set_adopt_existing(NULL, 1);
  rocksync_options_set_apply_write_options(replication, NULL, &error);
  FAILS("argument is NULL: write_options");
  rocksync_options_set_apply_hook(NULL, NULL, NULL, NULL);
  rocksync_options_set_apply_hook(replication, NULL, NULL, NULL);
  CHECK(rocksync_changes_count(NULL) == 0);
  CHECK(rocksync_changes_key(NULL, 0, &count) == NULL && count == 0);
  rocksync_replicator_options_set_stream(NULL, 0);
  rocksync_replicator_options_set_zone(NULL, "x");
  rocksync_replicator_options_set_max_peers_per_interval(NULL, 1);
  rocksync_replicator_options_set_max_stream_peers(NULL, 1);
  rocksync_replicator_options_set_progress(NULL, NULL, NULL);
  rocksync_replicator_options_add_peer(NULL, "x");
  rocksync_replicator_options_set_interval_ms(NULL, 1);
  rocksync_replicator_options_set_bytes_per_second(NULL, 1);
  rocksync_replicator_stop(NULL);
  rocksync_replicator_pause(NULL);
  rocksync_replicator_resume(NULL);
  rocksync_replicator_destroy(NULL);
  rocksync_transport_destroy(NULL);
  rocksync_replicator_options_destroy(NULL);
  rocksync_options_destroy(NULL);
  rocksync_free(NULL);

  rocksync_transport_destroy(transport);
  rocksync_replicator_options_destroy(replicator_options);
  CHECK(rocksync_close(db, NULL));
  rocksync_options_destroy(replication);
  rocksdb_options_destroy(options);
}

int main(void) {
  char command[300];
  CHECK(mkdtemp(directory) != NULL);
  CHECK(strlen(rocksync_version()) >= 5);
  TestReplication();
  TestHookAndProgress();
  TestUpdate();
  TestClone();
  TestSharedListener();
  TestSnapshotHoldsUpClose();
  TestChildOfFork();
  TestForkWhileItIsUsed();
  TestIteratorHoldsUpClose();
  TestCallsInCallbacks();
  TestFamilies();
  TestDetachWithAComparator();
  TestEmptyNames();
  TestOptionsAreThose();
  TestSecrets();
  TestNull();
  snprintf(command, sizeof command, "rm -rf %s", directory);
  return system(command);
}
