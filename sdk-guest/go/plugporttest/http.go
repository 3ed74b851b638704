package plugporttest

import (
	"io"
	"net/http"
	"strings"

	"github.com/plugport/plugport/sdk-guest/go/internal/hostdouble"
)

// RecordedHTTPRequest is a request to another host.
type RecordedHTTPRequest = hostdouble.Sent

// AnswersHTTP lets a function answer requests to other hosts, which are denied otherwise. The response needs a status
// code and may have a header and a body, as [HTTPResponse] makes it; an error is the failure of the request. The
// function may be called by several goroutines at once.
func (c *Client) AnswersHTTP(answer func(*http.Request) (*http.Response, error)) *Client {
	c.host.SetAnswer(answer)
	return c
}

// HTTPRequests is the requests to other hosts so far.
func (c *Client) HTTPRequests() []RecordedHTTPRequest { return c.host.Sent() }

// HTTPResponse is a response with this body.
func HTTPResponse(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}
