"use strict";
// Client for Touchstone, the server side of Touch ID, Face ID and gesture login.

const { Client, Stream } = require("./lib/client.js");
const {
  Aborted, Cancelled, DeadlineExceeded, FailedPrecondition, InvalidArgument, NotFound, OutOfRange, PermissionDenied,
  ResourceExhausted, TouchstoneError, Unauthenticated, Unavailable,
} = require("./lib/errors.js");

// Node finds the names for `import` in this form alone.
module.exports = {
  Aborted, Cancelled, Client, DeadlineExceeded, FailedPrecondition, InvalidArgument, NotFound, OutOfRange, PermissionDenied,
  ResourceExhausted, Stream, TouchstoneError, Unauthenticated, Unavailable,
};
