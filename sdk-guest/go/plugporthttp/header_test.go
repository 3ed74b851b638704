package plugporthttp_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/plugport/plugport/sdk-guest/go/plugporthttp"
	"github.com/plugport/plugport/sdk-guest/go/plugporttest"
)

// sentWith sends a request with this header, and returns the one that arrived.
func sentWith(header http.Header) (http.Header, error) {
	client := plugporttest.New().AnswersHTTP(echoes)
	var err error
	client.Run(func() {
		request, _ := http.NewRequest("GET", "https://a.test", nil)
		request.Header = header
		var response *http.Response
		if response, err = http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
		}
	})
	if err != nil {
		return nil, err
	}
	return client.HTTPRequests()[0].Header, nil
}

func TestWhatNetHTTPLeavesOutIsNotSent(t *testing.T) {
	arrived, err := sentWith(http.Header{
		"Host": {"b.test"}, "Transfer-Encoding": {"chunked"}, "Trailer": {"X-T"}, "Content-Length": {"7"},
		"User-Agent": {""}, "X-A": {"b", "c"},
	})
	if err != nil || len(arrived) != 1 || len(arrived["X-A"]) != 2 {
		t.Error(arrived, err)
	}
	arrived, err = sentWith(http.Header{"User-Agent": {"mine", "other"}})
	if err != nil || len(arrived["User-Agent"]) != 1 || arrived.Get("User-Agent") != "mine" {
		t.Error(arrived, err)
	}
}

func TestFieldsOfTheConnectionAreRejected(t *testing.T) {
	for _, name := range []string{
		"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Upgrade",
		"Http2-Settings", "host",
	} {
		_, err := sentWith(http.Header{name: {"x"}})
		var failure *plugporthttp.Error
		if !errors.As(err, &failure) || failure.Kind != plugporthttp.Invalid {
			t.Error(name, err)
		}
	}
	plugporttest.New().AnswersHTTP(echoes).Run(func() {
		request, _ := http.NewRequest("GET", "https://a.test", nil)
		request.Host = "b.test"
		_, err := plugporthttp.Transport{}.RoundTrip(request)
		if err == nil || err.Error() != "the request cannot be sent: the header field `host` is not one that may be set" {
			t.Error(err)
		}
		for _, header := range []http.Header{{"a b": {"c"}}, {"": {"c"}}, {"A": {"b\r\nc: d"}}} {
			request.Host, request.Header = "", header
			if _, err := (plugporthttp.Transport{}).RoundTrip(request); err == nil {
				t.Error(header)
			}
		}
	})
}
