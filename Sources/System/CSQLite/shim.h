// What Swift cannot call of SQLite: variadic functions and function-like macros; and what Glibc's Swift module leaves out.
#include <sqlite3.h>

// Declared by <stdio.h> for _GNU_SOURCE only.
extern int renameat2(int old_directory, const char *old_path, int new_directory, const char *new_path,
                     unsigned int flags);

/// Fails with EEXIST where there is something at the new path, and with EINVAL where the file system cannot do this.
static inline int csqlite_rename_noreplace(const char *old_path, const char *new_path) {
  // AT_FDCWD, RENAME_NOREPLACE.
  return renameat2(-100, old_path, -100, new_path, 1);
}

/// Bound text and blobs are copied before the call returns.
static inline sqlite3_destructor_type csqlite_transient(void) {
  return SQLITE_TRANSIENT;
}

/// Closing the last connection leaves the database file as it is.
static inline int csqlite_disable_checkpoint_on_close(sqlite3 *db, int disabled) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, disabled, (int *)0);
}

/// Why the system refused a read, a write or an fsync of the log, or else of the database file: an errno, 0 where none did.
static inline int csqlite_last_errno(sqlite3 *db) {
  sqlite3_file *log = 0;
  int error = 0;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK && log && log->pMethods)
    log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &error);
  if (error == 0) sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &error);
  return error;
}
