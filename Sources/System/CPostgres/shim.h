// What Swift cannot call of libpq: macros that are characters.
#include <libpq-fe.h>

/// The error's five characters of SQLSTATE; null where the server gave none.
static inline const char *cpostgres_sqlstate(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}

/// One line, in the server's language.
static inline const char *cpostgres_primary_message(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}

/// ERROR, WARNING, NOTICE …, in English.
static inline const char *cpostgres_severity(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
}
