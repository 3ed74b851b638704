package plugporthttp

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxPiece is the longest piece of a body that the server takes, bytes. A body that is known to be no longer is sent as
// a whole.
const maxPiece = 64 << 10

// grace is what the server waits longer than until a deadline, so that the error is usually that of the context.
const grace = 100 * time.Millisecond

// Transport is an http.RoundTripper that gives requests to the server. It follows no redirect, keeps no cookies and
// decompresses nothing; an http.Client does the first two.
type Transport struct{}

// RoundTrip sends a request and returns when the response has begun. The request's context ends both, and its deadline
// is the server's too.
func (Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	sending, body, err := outgoingOf(request)
	if err != nil {
		return nil, err
	}
	x, err := begin(request.Context(), sending, body)
	if err != nil {
		return nil, err
	}
	head, err := x.awaitHead()
	if err != nil {
		return nil, err
	}
	return responseOf(request, head, x), nil
}

// outgoing is a request as the interface has it.
type outgoing struct {
	method, url string
	header      [][2]string
	// body is all of the body, unless it comes in pieces. The length of those is -1 if it is not known.
	body     []byte
	isPieces bool
	length   int64
	timeout  time.Duration
}

// outgoingOf reads a request. The body is returned if it is to be sent in pieces, and closed otherwise.
func outgoingOf(request *http.Request) (sending outgoing, body io.ReadCloser, err error) {
	body = request.Body
	if body == nil {
		body = http.NoBody
	}
	defer func() {
		if !sending.isPieces || err != nil {
			body.Close()
		}
	}()
	if request.URL == nil || request.URL.Host == "" {
		return sending, body, &Error{Kind: Invalid, reason: "it has no URL with a host"}
	}
	sending.method, sending.url = request.Method, written(request.URL)
	if sending.method == "" {
		sending.method = http.MethodGet
	}
	sending.header = fields(request)
	if deadline, has := request.Context().Deadline(); has {
		sending.timeout = max(time.Until(deadline), 0) + grace
	}
	switch length := request.ContentLength; {
	case body == http.NoBody:
	case length > 0 && length <= maxPiece:
		sending.body, err = whole(body, int(length))
	default:
		sending.isPieces, sending.length = true, length
		if length == 0 {
			sending.length = -1
		}
	}
	return sending, body, err
}

// written is a URL without user, which is a header field, and in ASCII.
func written(of *url.URL) string {
	plain := *of
	plain.User, plain.Fragment, plain.RawFragment = nil, "", ""
	var text strings.Builder
	for _, letter := range []byte(plain.String()) {
		if letter > ' ' && letter < 0x7f {
			text.WriteByte(letter)
		} else {
			fmt.Fprintf(&text, "%%%02X", letter)
		}
	}
	return text.String()
}

// unsent are the fields of a request's header that net/http does not send either; User-Agent has rules of its own.
var unsent = []string{"Host", "Trailer", "Transfer-Encoding", "User-Agent"}

func fields(request *http.Request) [][2]string {
	var fields [][2]string
	for name, values := range request.Header {
		if slices.Contains(unsent, name) {
			continue
		}
		for _, value := range values {
			fields = append(fields, [2]string{strings.ToValidUTF8(name, "?"), strings.ToValidUTF8(value, "?")})
		}
	}
	slices.SortStableFunc(fields, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	agent := "Go-http-client/1.1"
	if _, has := request.Header["User-Agent"]; has {
		agent = request.Header.Get("User-Agent")
	}
	if agent != "" {
		fields = append(fields, [2]string{"User-Agent", strings.ToValidUTF8(agent, "?")})
	}
	if request.Host != "" && request.Host != request.URL.Host {
		fields = append(fields, [2]string{"Host", request.Host}) // which the server rejects, and says why
	}
	return fields
}

// whole is a body of this length.
func whole(body io.Reader, length int) ([]byte, error) {
	all := make([]byte, length+1)
	read, err := io.ReadFull(body, all)
	switch {
	case err != nil && err != io.ErrUnexpectedEOF && err != io.EOF:
		return nil, err
	case read != length:
		return nil, &Error{Kind: Invalid, reason: "its body does not have the length that was said"}
	}
	return all[:length], nil
}

func responseOf(request *http.Request, head incoming, x *exchange) *http.Response {
	header := make(http.Header, len(head.header))
	for _, field := range head.header {
		header.Add(field[0], field[1])
	}
	length := int64(-1)
	if said, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64); err == nil && said >= 0 {
		length = said
	}
	response := &http.Response{
		Status:     strings.TrimSpace(strconv.Itoa(head.status) + " " + http.StatusText(head.status)),
		StatusCode: head.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, ContentLength: length, Request: request, Body: (*body)(x),
	}
	isEmpty := head.status == http.StatusNoContent || head.status == http.StatusNotModified
	if isEmpty || request.Method == http.MethodHead {
		response.Body.Close()
		response.Body = http.NoBody
	}
	if isEmpty || length == 0 {
		response.ContentLength = 0
	}
	return response
}
