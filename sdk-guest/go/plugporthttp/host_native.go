//go:build !wasip1

package plugporthttp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/plugport/plugport/sdk-guest/go/internal/hostdouble"
)

// Requests of tests: a function of the test answers them. Without one, nothing is granted.

type sent struct {
	host    *hostdouble.Host
	request outgoing
	body    bytes.Buffer
	// What comes: first the response or a failure, then pieces of its body, and its end.
	arrived chan arrival
	context context.Context
	cancel  context.CancelFunc
}

type arrival struct {
	head  incoming
	piece []byte
	err   error
}

// changed tells wait to look again.
var changed = make(chan struct{}, 1)

func send(request outgoing) (*sent, error) {
	double, err := hostdouble.Current()
	if err != nil {
		return nil, err
	}
	if request.header, err = acceptable(request.header); err != nil {
		return nil, err
	}
	s := &sent{host: double, request: request, arrived: make(chan arrival, 1)}
	s.context, s.cancel = context.WithCancel(context.Background())
	s.body.Write(request.body)
	if !double.Answers() {
		double.Record(s.recorded())
		origin := request.url
		if scheme, rest, is := strings.Cut(origin, "://"); is {
			rest, _, _ = strings.Cut(rest, "/")
			rest, _, _ = strings.Cut(rest, "?")
			origin = scheme + "://" + rest
		}
		return nil, Denied(request.method + " " + origin)
	}
	if !request.isPieces {
		s.finish()
	}
	return s, nil
}

func (s *sent) write(piece []byte) (bool, error) {
	if s.request.length >= 0 && int64(s.body.Len()+len(piece)) > s.request.length {
		return false, &Error{Kind: Invalid, reason: "its body is longer than was said"}
	}
	s.body.Write(piece)
	return true, nil
}

// finish lets the request arrive, unless its body is shorter than was said.
func (s *sent) finish() {
	if s.request.isPieces && int64(s.body.Len()) < s.request.length {
		s.arrive(arrival{err: &Error{Kind: Invalid, reason: "its body is shorter than was said"}})
		return
	}
	recorded := s.recorded()
	go s.answer(s.host.Record(recorded), recorded)
}

func (s *sent) recorded() hostdouble.Sent {
	header := http.Header{}
	for _, field := range s.request.header {
		header.Add(field[0], field[1])
	}
	return hostdouble.Sent{Method: s.request.method, URL: s.request.url, Header: header, Body: bytes.Clone(s.body.Bytes())}
}

func (s *sent) answer(answer hostdouble.Answer, recorded hostdouble.Sent) {
	request, err := http.NewRequestWithContext(s.context, recorded.Method, recorded.URL, bytes.NewReader(recorded.Body))
	if err != nil {
		s.arrive(arrival{err: &Error{Kind: Invalid, reason: err.Error()}})
		return
	}
	request.Header = recorded.Header.Clone()
	response, err := answer(request)
	if err != nil {
		s.arrive(arrival{err: err})
		return
	}
	head := incoming{status: response.StatusCode}
	for name, values := range response.Header {
		for _, value := range values {
			head.header = append(head.header, [2]string{name, value})
		}
	}
	s.arrive(arrival{head: head})
	if response.Body != nil {
		defer response.Body.Close()
		s.stream(response.Body)
	}
	s.arrive(arrival{})
}

func (s *sent) stream(body io.Reader) {
	for {
		piece := make([]byte, maxPiece)
		read, err := body.Read(piece)
		if read > 0 && !s.arrive(arrival{piece: piece[:read]}) {
			return
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			s.arrive(arrival{err: err})
			return
		}
	}
}

func (s *sent) arrive(what arrival) bool {
	select {
	case s.arrived <- what:
	case <-s.context.Done():
		return false
	}
	select {
	case changed <- struct{}{}:
	default:
	}
	return true
}

func (s *sent) response() (incoming, error) {
	what := <-s.arrived
	return what.head, what.err
}

func (s *sent) read() ([]byte, error) {
	what := <-s.arrived
	return what.piece, what.err
}

func (s *sent) drop() { s.cancel() }

func wait(requests []*sent, moment time.Duration) []int {
	late := time.After(moment)
	for {
		var found []int
		for at, request := range requests {
			if len(request.arrived) > 0 {
				found = append(found, at)
			}
		}
		if found != nil {
			return found
		}
		select {
		case <-changed:
		case <-late:
			return nil
		}
	}
}
