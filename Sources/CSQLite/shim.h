// What Swift cannot call of SQLite: variadic functions and function-like macros.
#include <sqlite3.h>

/// Bound text and blobs are copied before the call returns.
static inline sqlite3_destructor_type csqlite_transient(void) {
  return SQLITE_TRANSIENT;
}

/// Closing the last connection leaves the database file as it is.
static inline int csqlite_disable_checkpoint_on_close(sqlite3 *db, int disabled) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, disabled, (int *)0);
}
