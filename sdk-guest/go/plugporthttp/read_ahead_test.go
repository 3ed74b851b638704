package plugporthttp_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plugport/plugport/sdk-guest/go/plugporttest"
)

// placed is a body that keeps a place until it ends.
type placed struct {
	io.Reader
	places chan struct{}
}

func (p placed) Close() error {
	<-p.places
	return nil
}

func TestUnreadBodiesLeaveTheirPlacesToRequestsThatWait(t *testing.T) {
	places := make(chan struct{}, 4)
	answer := func(request *http.Request) (*http.Response, error) {
		select {
		case places <- struct{}{}:
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
		return &http.Response{StatusCode: 200, Body: placed{strings.NewReader(strings.Repeat("x", 512<<10)), places}}, nil
	}
	plugporttest.New().AnswersHTTP(answer).Run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		var responses []*http.Response
		for range 10 {
			request, _ := http.NewRequestWithContext(ctx, "GET", "https://a.test", nil)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			responses = append(responses, response)
		}
		for _, response := range responses {
			if body, err := text(response, nil); len(body) != 512<<10 || err != nil {
				t.Error(len(body), err)
			}
		}
	})
}

// endless counts what is read of it.
type endless struct{ read atomic.Int64 }

func (e *endless) Read(into []byte) (int, error) {
	e.read.Add(int64(len(into)))
	return len(into), nil
}

func TestReadingAheadIsBounded(t *testing.T) {
	var body endless
	answer := func(request *http.Request) (*http.Response, error) {
		if request.URL.Path == "/waits" {
			return hangs(request)
		}
		return &http.Response{StatusCode: 200, Body: io.NopCloser(&body)}, nil
	}
	plugporttest.New().AnswersHTTP(answer).Run(func() {
		response, err := http.Get("https://a.test")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		waits := http.Client{Timeout: 200 * time.Millisecond}
		if _, err := waits.Get("https://a.test/waits"); err == nil {
			t.Error("it did not wait")
		}
		// The double holds two pieces more.
		if read := body.read.Load(); read > 1<<20+2*64<<10 {
			t.Error(read)
		}
	})
}
