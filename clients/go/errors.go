package touchstone

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Error is a call without an answer: the service refused it, or the call did not reach it. A policy's decision is never an error: the
// answer carries it. Find it with errors.As; status.FromError takes it, too.
type Error struct {
	Code codes.Code
	// Message is English, for developers.
	Message string
	// Reason is the cause, for a program: upper snake case, never changed; empty if the service gave none.
	Reason string
	// Metadata comes with the reason: "first_sequence" and so on.
	Metadata map[string]string
	// Fields says what is wrong with each wrong field, by its path: "posture.domain_state".
	Fields map[string]string
	// RetryAfter says when to try again; 0 if the service does not say.
	RetryAfter time.Duration
	// Quotas name the limits that were reached, and whose: "application:shop".
	Quotas []string
	// Text is for the person, if the refusal concerns them, in the language of the call.
	Text string

	status *status.Status
}

func (e *Error) Error() string {
	text := e.Code.String()
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	text += ": " + e.Message
	problems := make([]string, 0, len(e.Fields))
	for field, problem := range e.Fields {
		// The service's message names the first wrong fields, too.
		if named := fmt.Sprintf("%s: %s", field, problem); !strings.Contains(e.Message, named) {
			problems = append(problems, "; "+named)
		}
	}
	sort.Strings(problems)
	return text + strings.Join(problems, "")
}

// GRPCStatus is what gRPC's own functions read.
func (e *Error) GRPCStatus() *status.Status { return e.status }

// errorOf leaves the end of a stream as it is.
func errorOf(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	refused, _ := status.FromError(err)
	e := &Error{Code: refused.Code(), Message: refused.Message(), status: refused}
	// Details that cannot be read are errors in this list, and treated as absent.
	for _, detail := range refused.Details() {
		e.add(detail)
	}
	return e
}

func (e *Error) add(detail interface{}) {
	switch detail := detail.(type) {
	case *errdetails.ErrorInfo:
		e.Reason, e.Metadata = detail.GetReason(), detail.GetMetadata()
	case *errdetails.BadRequest:
		e.Fields = map[string]string{}
		for _, violation := range detail.GetFieldViolations() {
			e.Fields[violation.GetField()] = violation.GetDescription()
		}
	case *errdetails.RetryInfo:
		delay := detail.GetRetryDelay()
		e.RetryAfter = time.Duration(delay.GetSeconds())*time.Second + time.Duration(delay.GetNanos())
	case *errdetails.QuotaFailure:
		for _, violation := range detail.GetViolations() {
			e.Quotas = append(e.Quotas, violation.GetSubject())
		}
	case *errdetails.LocalizedMessage:
		e.Text = detail.GetMessage()
	}
}
