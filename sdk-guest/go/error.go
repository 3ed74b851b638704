package plugport

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Kind says why something failed, in the words of the WIT.
type Kind uint8

const (
	// NotFound: there is nothing of this name or URI.
	NotFound Kind = iota + 1
	// InvalidParams: the arguments do not fit.
	InvalidParams
	// Internal: an error that the caller cannot correct.
	Internal
	// MissingCapability: the client lacks the capability sampling, elicitation or roots.
	MissingCapability
	// Denied: the server's operator has not granted it to the plugin.
	Denied
	// OverBudget: the operator's budget for it is spent.
	OverBudget
	// TimedOut: the client did not respond in time.
	TimedOut
	// Cancelled: the client no longer waits.
	Cancelled
	// Rejected: the person, or the client itself, rejected the request.
	Rejected
	// RPC: a JSON-RPC error, sent unchanged.
	RPC
)

// Error is why the host failed, and what a tool, a resource or a prompt may fail with when a plain error will not do. A
// function may return an error that it received, and the client gets the matching MCP error.
type Error struct {
	Kind    Kind
	Message string
	// Code and Data belong to the kind RPC.
	Code int32
	Data json.RawMessage
}

// Errorf makes an error of a kind.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// KindOf tells the kind of an error that is an [Error] or wraps one, and 0 for all others.
func KindOf(err error) Kind {
	var own *Error
	if errors.As(err, &own) && own != nil {
		return own.Kind
	}
	return 0
}

func (e *Error) Error() string {
	if e == nil {
		return "a nil *plugport.Error was returned as an error; return nil itself"
	}
	switch e.Kind {
	case MissingCapability:
		return "the client lacks the capability `" + e.Message + "`"
	case Denied:
		return "not allowed: " + e.Message
	case OverBudget:
		return "over budget: " + e.Message
	case TimedOut:
		return "the client did not answer in time"
	case Cancelled:
		return "the call was cancelled"
	case Rejected:
		return "rejected: " + e.Message
	}
	return e.Message
}

// toError is an error where MCP knows only errors: the SDK's own unchanged, any other as an internal one.
func toError(err error) *Error {
	var own *Error
	if errors.As(err, &own) && own != nil {
		return own
	}
	return Errorf(Internal, "%s", err)
}
