module touchstone.example.org/touchstone

go 1.19

// The versions that it is tested with (Debian 12). It takes later ones, too.
require (
	google.golang.org/genproto v0.0.0-20200413115906-b5235f65be36
	google.golang.org/grpc v1.33.3
	google.golang.org/protobuf v1.28.1
)
