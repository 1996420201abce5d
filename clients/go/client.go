// Package touchstone is a client for Touchstone, the server side of Touch ID, Face ID and gesture login.
//
// A Client has all methods of the API. The messages are in touchstonev1.
package touchstone

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"touchstone.example.org/touchstone/touchstonev1"
)

// defaultTimeout is from a call to its answer, with all retries.
const defaultTimeout = 10 * time.Second

// Client calls a service. Goroutines may share it. Its calls return an *Error if there is no answer.
type Client struct {
	touchstonev1.BindingServiceClient
	touchstonev1.EvaluationServiceClient
	touchstonev1.SecretServiceClient
	touchstonev1.TokenServiceClient
	touchstonev1.AdministrationServiceClient
	connection *grpc.ClientConn
}

// Option changes how a Client connects or calls.
type Option func(*settings)

type settings struct {
	key     string
	tls     *tls.Config
	timeout time.Duration
	dial    []grpc.DialOption
	// balancing is gRPC's name of a policy; empty for all calls to one address.
	balancing string
}

// WithKey sends the caller's key, as `touchstone callers new-key` printed it. It is never sent to another machine in plaintext.
func WithKey(key string) Option { return func(s *settings) { s.key = key } }

// WithTLS encrypts: the configuration has the authorities of the service's certificate, and the caller's own certificate if it has one.
// Without it calls go in plaintext, which the service takes on its own machine alone.
func WithTLS(config *tls.Config) Option { return func(s *settings) { s.tls = config } }

// WithTimeout bounds each unary call whose context has no deadline, with all retries. The default is 10 seconds.
func WithTimeout(timeout time.Duration) Option { return func(s *settings) { s.timeout = timeout } }

// WithBalancing shares calls among the target's addresses by gRPC's policy of that name: "round_robin" for replicas. gRPC for Go finds all
// addresses of a name if the target is "dns:///host:port". Without this option all calls go to one address that answers.
func WithBalancing(policy string) Option { return func(s *settings) { s.balancing = policy } }

// WithDialOptions hands options to gRPC, which take the place of the client's own: a service configuration given here also replaces
// which calls are repeated.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(s *settings) { s.dial = append(s.dial, options...) }
}

// Dial makes a client of a target: "host:port", "unix:path", or another name of gRPC's. It connects in the background.
func Dial(target string, options ...Option) (*Client, error) {
	s := settings{timeout: defaultTimeout}
	for _, option := range options {
		option(&s)
	}
	if s.key != "" && s.tls == nil && !isLocal(target) {
		return nil, fmt.Errorf("touchstone: no key is sent to %s in plaintext: use WithTLS", target)
	}
	if !isHeader(s.key) {
		return nil, errors.New("touchstone: the key has a line break or another character that no header has")
	}
	dial := []grpc.DialOption{
		grpc.WithDefaultServiceConfig(serviceConfig(s.balancing)),
		grpc.WithDisableServiceConfig(),
		grpc.WithUserAgent("touchstone-client-go"),
		grpc.WithUnaryInterceptor(s.unary),
		grpc.WithStreamInterceptor(s.stream),
	}
	if s.tls == nil {
		// Also in later versions of gRPC, which have another way to say it.
		// A proxy of the environment would get the key.
		dial = append(dial, grpc.WithInsecure(), grpc.WithNoProxy())
	} else {
		dial = append(dial, grpc.WithTransportCredentials(credentials.NewTLS(s.tls)))
	}
	connection, err := grpc.Dial(target, append(dial, s.dial...)...)
	if err != nil {
		return nil, err
	}
	return &Client{
		touchstonev1.NewBindingServiceClient(connection),
		touchstonev1.NewEvaluationServiceClient(connection),
		touchstonev1.NewSecretServiceClient(connection),
		touchstonev1.NewTokenServiceClient(connection),
		touchstonev1.NewAdministrationServiceClient(connection),
		connection,
	}, nil
}

// Close ends the connection and all running calls.
func (c *Client) Close() error { return c.connection.Close() }

// WithLanguages asks for texts in the person's language, as in Accept-Language: "zh-Hans, en;q=0.5". What no header can hold is left out.
func WithLanguages(ctx context.Context, languages string) context.Context {
	if !isHeader(languages) {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "accept-language", languages)
}

func (s settings) unary(
	ctx context.Context, method string, request, answer interface{}, connection *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	if _, has := ctx.Deadline(); !has && s.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.timeout)
		defer cancel()
	}
	return errorOf(invoke(s.authorized(ctx), method, request, answer, connection, options...))
}

func (s settings) stream(
	ctx context.Context, description *grpc.StreamDesc, connection *grpc.ClientConn, method string, open grpc.Streamer,
	options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	opened, err := open(s.authorized(ctx), description, connection, method, options...)
	if err != nil {
		return nil, errorOf(err)
	}
	return stream{opened}, nil
}

func (s settings) authorized(ctx context.Context) context.Context {
	if s.key == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.key)
}

type stream struct{ grpc.ClientStream }

func (s stream) RecvMsg(message interface{}) error { return errorOf(s.ClientStream.RecvMsg(message)) }

// isHeader is true for printable ASCII.
func isHeader(value string) bool {
	for i := 0; i < len(value); i++ {
		if value[i] < ' ' || value[i] > '~' {
			return false
		}
	}
	return true
}

// isLocal is true for addresses of this machine alone: loopback, or a Unix socket.
func isLocal(target string) bool {
	if strings.HasPrefix(target, "unix:") || strings.HasPrefix(target, "unix-abstract:") {
		return true
	}
	for _, scheme := range []string{"dns:", "passthrough:"} {
		if strings.HasPrefix(target, scheme) {
			target = strings.TrimLeft(strings.TrimPrefix(target, scheme), "/")
		}
	}
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		host = target
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
