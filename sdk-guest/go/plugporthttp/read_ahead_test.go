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

// permitted is a body that keeps a permit until it ends.
type permitted struct {
	io.Reader
	permits chan struct{}
}

func (p permitted) Close() error {
	<-p.permits
	return nil
}

func TestUnreadBodiesLeaveTheirPermitsToRequestsThatWait(t *testing.T) {
	permits := make(chan struct{}, 4)
	answer := func(request *http.Request) (*http.Response, error) {
		select {
		case permits <- struct{}{}:
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
		body := strings.NewReader(strings.Repeat("x", 512<<10))
		return &http.Response{StatusCode: 200, Body: permitted{body, permits}}, nil
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

// reading is a function as a reader.
type reading func(into []byte) (int, error)

func (r reading) Read(into []byte) (int, error) { return r(into) }

// upload sends three pieces, and returns what a function says before the third.
func upload[T any](t *testing.T, before func() T) (found T) {
	pieces := 0
	body := reading(func(into []byte) (int, error) {
		switch pieces++; pieces {
		case 3:
			found = before()
		case 4:
			return 0, io.EOF
		}
		return copy(into, "piece"), nil
	})
	if got, err := text(http.Post("https://a.test/upload", "a/b", body)); got != "ok" || err != nil {
		t.Error(got, err)
	}
	return found
}

func TestAnUploadWaitsForUnreadBodiesBeforeItsSecondPiece(t *testing.T) {
	permits := make(chan struct{}, 4)
	answer := func(request *http.Request) (*http.Response, error) {
		if request.URL.Path == "/upload" {
			return plugporttest.HTTPResponse(200, "ok"), nil
		}
		permits <- struct{}{}
		late := reading(func([]byte) (int, error) {
			time.Sleep(50 * time.Millisecond)
			return 0, io.EOF
		})
		return &http.Response{StatusCode: 200, Body: permitted{late, permits}}, nil
	}
	plugporttest.New().AnswersHTTP(answer).Run(func() {
		for range 4 {
			response, err := http.Get("https://a.test")
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
		}
		if left := upload(t, func() int { return len(permits) }); left != 0 {
			t.Error(left)
		}
	})
}

func TestAnUploadDoesNotWaitLongForABodyThatDoesNotEnd(t *testing.T) {
	stuck, never := io.Pipe()
	defer never.Close()
	answer := func(request *http.Request) (*http.Response, error) {
		if request.URL.Path == "/upload" {
			return plugporttest.HTTPResponse(200, "ok"), nil
		}
		return &http.Response{StatusCode: 200, Body: stuck}, nil
	}
	plugporttest.New().AnswersHTTP(answer).Run(func() {
		response, err := http.Get("https://a.test")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		begun := time.Now()
		if took := upload(t, func() time.Duration { return time.Since(begun) }); took < time.Second || took > 10*time.Second {
			t.Error(took)
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
