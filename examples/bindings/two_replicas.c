/* Two replicas of a database, which are made equal:
   cc -std=c99 two_replicas.c -o two_replicas $(pkg-config --cflags --libs
   rocksync) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocksync/c.h"

static void Check(char* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", error);
  exit(1);
}

static rocksync_t* Open(const char* name) {
  char* error = NULL;
  char secret[32];
  memset(secret, 42, sizeof secret); /* yours: random, the same everywhere */
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksync_options_t* replication = rocksync_options_create();
  rocksync_options_set_cluster_name(replication, "orders");
  rocksync_options_set_cluster_secret(replication, secret, sizeof secret,
                                      &error);
  Check(error);
  rocksync_t* db = rocksync_open(options, replication, name, &error);
  Check(error);
  rocksync_options_destroy(replication);
  rocksdb_options_destroy(options);
  return db;
}

static void Put(rocksync_t* db, const char* key, const char* value) {
  char* error = NULL;
  rocksdb_t* rocksdb = rocksync_rocksdb(db, &error);
  Check(error);
  rocksdb_writeoptions_t* options = rocksdb_writeoptions_create();
  rocksdb_put(rocksdb, options, key, strlen(key), value, strlen(value), &error);
  Check(error);
  rocksdb_writeoptions_destroy(options);
  rocksdb_close(rocksdb); /* ends this way to the database, and nothing else */
}

/* Without `listen` it dials only. */
static rocksync_replicator_t* Replicate(rocksync_t* db, const char* listen) {
  char *error = NULL, *ca, *certificate, *key;
  rocksync_make_trial_certificate("trial", rocksync_replica_id(db), &ca,
                                  &certificate, &key, &error);
  Check(error);
  rocksync_transport_t* transport =
      rocksync_tls_transport_create(ca, certificate, key, &error);
  Check(error);
  rocksync_replicator_options_t* options = rocksync_replicator_options_create();
  if (listen != NULL) {
    rocksync_replicator_options_set_listen_address(options, listen);
  }
  rocksync_replicator_t* replicator =
      rocksync_replicator_start(db, options, transport, &error);
  Check(error);
  rocksync_replicator_options_destroy(options);
  rocksync_transport_destroy(transport);
  rocksync_free(ca);
  rocksync_free(certificate);
  rocksync_free(key);
  return replicator;
}

static void Close(rocksync_t* db, rocksync_replicator_t* replicator) {
  char* error = NULL;
  rocksync_replicator_destroy(replicator);
  rocksync_close(db, &error);
  Check(error);
}

int main(void) {
  char* error = NULL;
  rocksync_t* a = Open("a");
  rocksync_t* b = Open("b");
  Put(a, "from a", "1");
  Put(b, "from b", "2");
  rocksync_replicator_t* of_a = Replicate(a, "127.0.0.1:0");
  rocksync_replicator_t* of_b = Replicate(b, NULL);
  char* address = rocksync_replicator_listen_address(of_a);
  rocksync_replicator_sync(of_b, address, &error);
  Check(error);
  unsigned char equal =
      rocksync_replicator_verify(of_b, address, 1, 0, NULL, NULL, NULL, &error);
  Check(error);
  printf("equal: %s\n", equal ? "true" : "false");
  rocksync_free(address);
  Close(b, of_b);
  Close(a, of_a);
  return 0;
}
