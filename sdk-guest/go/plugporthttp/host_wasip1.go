//go:build wasip1

package plugporthttp

import (
	"math"
	"time"
	"unsafe"

	client "github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_http_client"
	witRuntime "github.com/plugport/plugport/sdk-guest/go/internal/wit/runtime"
	wit "github.com/plugport/plugport/sdk-guest/go/internal/wit/types"
)

// Requests that the host sends.

type sent struct{ host *client.SentRequest }

func send(request outgoing) (*sent, error) {
	sending := client.Request{Method: request.method, Url: request.url, Body: client.MakeBodyBytes(request.body)}
	for _, field := range request.header {
		sending.Headers = append(sending.Headers, wit.Tuple2[string, string]{F0: field[0], F1: field[1]})
	}
	if request.isPieces {
		length := wit.None[uint64]()
		if request.length >= 0 {
			length = wit.Some(uint64(request.length))
		}
		sending.Body = client.MakeBodyPieces(length)
	}
	sending.TimeoutMs = wit.None[uint32]()
	if request.timeout > 0 {
		sending.TimeoutMs = milliseconds(request.timeout)
	}
	result := client.Send(sending)
	if result.IsErr() {
		return nil, failed(result.Err())
	}
	return &sent{result.Ok()}, nil
}

// write hands over a piece. false: the host takes no more.
func (s *sent) write(piece []byte) (bool, error) {
	result := s.host.Write(piece)
	if result.IsErr() {
		return false, failed(result.Err())
	}
	return result.Ok(), nil
}

func (s *sent) finish() { s.host.Finish() }

func (s *sent) response() (incoming, error) {
	result := s.host.Response()
	if result.IsErr() {
		return incoming{}, failed(result.Err())
	}
	response := result.Ok()
	head := incoming{status: int(response.Status)}
	for _, field := range response.Headers {
		head.header = append(head.header, [2]string{field.F0, field.F1})
	}
	return head, nil
}

// read takes a piece of the body; it is empty at the end.
func (s *sent) read() ([]byte, error) {
	result := s.host.Read()
	if result.IsErr() {
		return nil, failed(result.Err())
	}
	piece := result.Ok()
	witRuntime.Release(unsafe.Pointer(unsafe.SliceData(piece)))
	return piece, nil
}

func (s *sent) drop() { s.host.Drop() }

// wait returns the positions of the requests that have news.
func wait(requests []*sent, moment time.Duration) []int {
	handles := make([]*client.SentRequest, len(requests))
	for at, request := range requests {
		handles[at] = request.host
	}
	found := client.Wait(handles, milliseconds(moment))
	positions := make([]int, len(found))
	for at, position := range found {
		positions[at] = int(position)
	}
	witRuntime.Release(unsafe.Pointer(unsafe.SliceData(found)))
	return positions
}

// milliseconds rounds up.
func milliseconds(of time.Duration) wit.Option[uint32] {
	ms := (of + time.Millisecond - 1) / time.Millisecond
	return wit.Some(uint32(min(ms, math.MaxUint32)))
}

func failed(failure client.Failure) error {
	switch failure.Tag() {
	case client.FailureDenied:
		denial := failure.Denied()
		return &DeniedError{Request: denial.Request, Grant: denial.Grant}
	case client.FailurePrivateAddress:
		return &Error{Kind: PrivateAddress}
	case client.FailureInvalid:
		return &Error{Kind: Invalid, reason: failure.Invalid()}
	case client.FailureUnknownHost:
		return &Error{Kind: UnknownHost}
	case client.FailureUnreachable:
		return &Error{Kind: Unreachable}
	case client.FailureTls:
		return &Error{Kind: TLS}
	case client.FailureTimedOut:
		return &Error{Kind: TimedOut}
	case client.FailureOverLimit:
		return &Error{Kind: OverLimit, Limit: failure.OverLimit()}
	case client.FailureBroken:
		return &Error{Kind: Broken, reason: failure.Broken()}
	}
	return &Error{Kind: Unsent, reason: failure.Unsent()}
}
