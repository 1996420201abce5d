// The echo that DispatchRPC is measured against, on grpc-go: bytes as they are (no protobuf).
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
)

type rawCodec struct{}

func (rawCodec) Marshal(v interface{}) ([]byte, error) { return *v.(*[]byte), nil }

func (rawCodec) Unmarshal(data []byte, v interface{}) error {
	*v.(*[]byte) = data
	return nil
}

func (rawCodec) Name() string { return "proto" }

func echo(_ interface{}, _ context.Context, decode func(interface{}) error, _ grpc.UnaryServerInterceptor) (interface{}, error) {
	message := new([]byte)
	return message, decode(message)
}

// With a certificate and a key TLS, otherwise plaintext.
func options() []grpc.ServerOption {
	if len(os.Args) < 3 {
		return nil
	}
	identity, err := credentials.NewServerTLSFromFile(os.Args[1], os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	return []grpc.ServerOption{grpc.Creds(identity)}
}

func main() {
	encoding.RegisterCodec(rawCodec{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(options()...)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bench.Echo",
		HandlerType: (*interface{})(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Echo", Handler: echo}},
	}, nil)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(server.Serve(listener))
}
