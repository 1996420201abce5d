package touchstone

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/golang/protobuf/proto"
	"github.com/golang/protobuf/ptypes/duration"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestNoKeyGoesToAnotherMachineInPlaintext(t *testing.T) {
	for target, local := range map[string]bool{
		"localhost:7443": true, "127.0.0.1:7443": true, "[::1]:7443": true, "unix:/run/touchstone.sock": true,
		"dns:///localhost:7443": true, "touchstone:7443": false, "10.0.0.1:7443": false, "localhost.example.org:7443": false,
		"127.0.0.1.example.org:7443": false, "dns:///touchstone:7443": false, "[fe80::1]:7443": false,
	} {
		client, err := Dial(target, WithKey("tsk_secret"))
		if (err == nil) != local {
			t.Errorf("%s: %v", target, err)
		}
		if err == nil {
			client.Close()
		} else if strings.Contains(err.Error(), "tsk_") {
			t.Errorf("the error has the key: %v", err)
		}
	}
}

func TestWhatNoHeaderHoldsIsNotSent(t *testing.T) {
	for _, key := range []string{"tsk_secret\n", "tsk_secret\x00", "tsk_secreté"} {
		if _, err := Dial("localhost:7443", WithKey(key)); err == nil || strings.Contains(err.Error(), "tsk_") {
			t.Errorf("%q: %v", key, err)
		}
	}
	for languages, sent := range map[string]bool{"zh-Hans, en;q=0.5": true, "en\r\nauthorization: x": false, "é": false} {
		outgoing, _ := metadata.FromOutgoingContext(WithLanguages(context.Background(), languages))
		if (len(outgoing["accept-language"]) == 1) != sent {
			t.Errorf("%q: %v", languages, outgoing)
		}
	}
}

func TestARefusalHasItsDetails(t *testing.T) {
	refused, err := status.New(codes.FailedPrecondition, "no").WithDetails(
		&errdetails.ErrorInfo{Reason: "PASSCODE_DISABLED", Metadata: map[string]string{"a": "b"}},
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "a.b", Description: "is empty"}}},
		&errdetails.RetryInfo{RetryDelay: &duration.Duration{Seconds: 1, Nanos: 5}},
		&errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{Subject: "application:shop"}}},
		&errdetails.LocalizedMessage{Locale: "en", Message: "Set a new passcode."},
	)
	if err != nil {
		t.Fatal(err)
	}
	var e *Error
	if !errors.As(errorOf(refused.Err()), &e) {
		t.Fatal("no Error")
	}
	if e.Reason != "PASSCODE_DISABLED" || e.Metadata["a"] != "b" || e.Fields["a.b"] != "is empty" ||
		e.RetryAfter != time.Second+5 || len(e.Quotas) != 1 || e.Quotas[0] != "application:shop" || e.Text != "Set a new passcode." {
		t.Errorf("%+v", e)
	}
	if e.Error() != "FailedPrecondition (PASSCODE_DISABLED): no; a.b: is empty" {
		t.Error(e.Error())
	}
	if status.Code(e) != codes.FailedPrecondition || !proto.Equal(status.Convert(e).Proto(), refused.Proto()) {
		t.Error("gRPC does not read it")
	}
	if errorOf(io.EOF) != io.EOF || errorOf(nil) != nil {
		t.Error("the end of a stream is no refusal")
	}
}

func TestOnlyWhatMayHappenTwiceIsRepeatedAfterUnavailable(t *testing.T) {
	names := map[string]bool{}
	for _, name := range repeatable() {
		names[name.Method] = true
	}
	for _, once := range []string{"SubmitAttempt", "CompleteBinding", "SetSecret", "RemoveSecret", "SetUnlockSettings", "ConsumeToken"} {
		if names[once] {
			t.Errorf("%s may not happen twice", once)
		}
	}
	if !names["BeginEvaluation"] || !names["GetProfile"] || len(names) < 15 {
		t.Errorf("%v", names)
	}
}
