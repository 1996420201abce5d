"use strict";
// Client for Touchstone, the server side of Touch ID, Face ID and gesture login.

const { Client, Stream } = require("./lib/client.js");
const {
  Aborted, Cancelled, DeadlineExceeded, FailedPrecondition, InvalidArgument, NotFound, OutOfRange, PermissionDenied,
  ResourceExhausted, TouchstoneError, Unauthenticated, Unavailable,
} = require("./lib/errors.js");

// In this form Node finds the names for `import`, too.
module.exports = {
  Aborted, Cancelled, Client, DeadlineExceeded, FailedPrecondition, InvalidArgument, NotFound, OutOfRange, PermissionDenied,
  ResourceExhausted, Stream, TouchstoneError, Unauthenticated, Unavailable,
};
