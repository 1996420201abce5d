package touchstone

import (
	"encoding/json"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"touchstone.example.org/touchstone/touchstonev1"
)

var files = []protoreflect.FileDescriptor{
	touchstonev1.File_touchstone_v1_administration_proto,
	touchstonev1.File_touchstone_v1_bindings_proto,
	touchstonev1.File_touchstone_v1_evaluation_proto,
	touchstonev1.File_touchstone_v1_secrets_proto,
	touchstonev1.File_touchstone_v1_tokens_proto,
}

type methodName struct {
	Service string `json:"service,omitempty"`
	Method  string `json:"method,omitempty"`
}

type retryPolicy struct {
	MaxAttempts          int      `json:"maxAttempts"`
	InitialBackoff       string   `json:"initialBackoff"`
	MaxBackoff           string   `json:"maxBackoff"`
	BackoffMultiplier    float64  `json:"backoffMultiplier"`
	RetryableStatusCodes []string `json:"retryableStatusCodes"`
}

type methodConfig struct {
	Name        []methodName `json:"name"`
	RetryPolicy retryPolicy  `json:"retryPolicy"`
}

// serviceConfig says how gRPC picks an address, and which calls it repeats (gRFC A6), by the promises of the .proto files. A call that ended with ABORTED had no effect.
// One that ended with UNAVAILABLE may have had one: it is repeated only if the method's idempotency_level allows that.
func serviceConfig(balancing string) string {
	fields := map[string]interface{}{
		"methodConfig": []methodConfig{
			{repeatable(), retry("ABORTED", "UNAVAILABLE")},
			{[]methodName{{}}, retry("ABORTED")},
		},
		// Fewer retries while most calls fail.
		"retryThrottling": map[string]float64{"maxTokens": 10, "tokenRatio": 0.1},
	}
	if balancing != "" {
		fields["loadBalancingConfig"] = []map[string]struct{}{{balancing: {}}}
	}
	config, err := json.Marshal(fields)
	if err != nil {
		panic(err) // strings and numbers can be marshalled
	}
	return string(config)
}

func retry(codes ...string) retryPolicy {
	return retryPolicy{3, "0.1s", "2s", 2, codes}
}

func repeatable() (names []methodName) {
	for _, file := range files {
		for i := 0; i < file.Services().Len(); i++ {
			service := file.Services().Get(i)
			for j := 0; j < service.Methods().Len(); j++ {
				method := service.Methods().Get(j)
				options := method.Options().(*descriptorpb.MethodOptions)
				if options.GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN {
					names = append(names, methodName{string(service.FullName()), string(method.Name())})
				}
			}
		}
	}
	return names
}
