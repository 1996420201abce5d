"""What the tests of Touchstone by strangers share: stock gRPC stubs, a service process, a phone, a calling service."""
