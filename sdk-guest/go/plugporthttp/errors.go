package plugporthttp

import (
	"context"
	"fmt"

	"github.com/plugport/plugport/sdk-guest/go"
)

// DeniedError is the error of a request that the server's operator has not granted to the plugin. errors.As finds it
// within the *url.Error of net/http.
type DeniedError struct {
	// Request is the method, the scheme, the host and the port, such as `GET https://example.com`.
	Request string
	// Grant is the line that would grant it, for the operator to write under the plugin's grants.
	Grant string
}

// Denied is the error of a request that is not granted, such as `GET https://example.com`; for tests.
func Denied(request string) *DeniedError {
	return &DeniedError{Request: request, Grant: fmt.Sprintf("http = [%q]", request)}
}

// The message leaves out the grant: it may be shown to a model, and the grant is for the operator.
func (e *DeniedError) Error() string {
	return "this server does not grant the request " + e.Request + " to the plugin"
}

// As lets it be a [plugport.Error] of the kind Denied, also within the error of net/http.
func (e *DeniedError) As(target any) bool { return as(target, plugport.Denied, e) }

// Kind says why there is no response.
type Kind uint8

const (
	// PrivateAddress: the name leads to an address that is not public, and which is not granted.
	PrivateAddress Kind = iota + 1
	// Invalid: the request cannot be sent as it is.
	Invalid
	// UnknownHost: there is no host of this name.
	UnknownHost
	// Unreachable: the host cannot be reached.
	Unreachable
	// TLS: the host did not prove who it is, or does not speak TLS.
	TLS
	// TimedOut: the host took too long.
	TimedOut
	// OverLimit: a limit of the operator was reached.
	OverLimit
	// Unsent: the server could not send the request.
	Unsent
	// Broken: the response broke off, or is not HTTP.
	Broken
)

// Error is why there is no response, or why its body broke off. It is a net.Error.
type Error struct {
	Kind Kind
	// Limit is the name of the limit in the configuration, of the kind OverLimit.
	Limit  string
	reason string
}

func (e *Error) Error() string {
	switch e.Kind {
	case PrivateAddress:
		return "the name leads to an address that is not public, and this server does not grant that"
	case Invalid:
		return "the request cannot be sent" + because(e.reason)
	case UnknownHost:
		return "there is no host of this name"
	case Unreachable:
		return "the host cannot be reached"
	case TLS:
		return "the host did not prove who it is, or does not speak TLS"
	case TimedOut:
		return "the host took too long to answer"
	case OverLimit:
		return "the request is beyond what this server allows (limit `" + e.Limit + "`)"
	case Broken:
		return "the answer is broken" + because(e.reason)
	}
	return "the request could not be sent" + because(e.reason)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// Timeout tells whether the host took too long.
func (e *Error) Timeout() bool { return e.Kind == TimedOut }

// Temporary is what net.Error has beside Timeout.
func (e *Error) Temporary() bool { return e.Kind == TimedOut }

// Is lets a time-out be a context.DeadlineExceeded: deadlines are told to the server, which may notice them first.
func (e *Error) Is(target error) bool {
	return e.Kind == TimedOut && target == context.DeadlineExceeded
}

// As lets it be a [plugport.Error], if the server does not allow the request: of the kind Denied for a private address,
// and OverBudget for a limit.
func (e *Error) As(target any) bool {
	switch e.Kind {
	case PrivateAddress:
		return as(target, plugport.Denied, e)
	case OverLimit:
		return as(target, plugport.OverBudget, e)
	}
	return false
}

func as(target any, kind plugport.Kind, err error) bool {
	into, is := target.(**plugport.Error)
	if is {
		*into = plugport.Errorf(kind, "%s", err)
	}
	return is
}
