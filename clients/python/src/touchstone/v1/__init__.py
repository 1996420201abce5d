"""The messages of the API, generated from Protos/touchstone/v1."""
