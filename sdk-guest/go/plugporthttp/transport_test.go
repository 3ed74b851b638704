package plugporthttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plugport/plugport/sdk-guest/go/plugporthttp"
	"github.com/plugport/plugport/sdk-guest/go/plugporttest"
)

// echoes answers with what was sent.
func echoes(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	response := plugporttest.HTTPResponse(201, "got "+string(body))
	response.Header.Set("X-A", "b")
	return response, err
}

// hangs answers when the request is given up.
func hangs(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

func text(response *http.Response, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func TestRequestsAreAnsweredAndSeen(t *testing.T) {
	client := plugporttest.New().AnswersHTTP(echoes)
	client.Run(func() {
		response, err := http.Post("https://user:pass@a.test/ü?x= ü#f", "text/plain", strings.NewReader("hällo"))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		if response.Status != "201 Created" || response.Header.Get("x-a") != "b" || string(body) != "got hällo" {
			t.Error(response, string(body))
		}
		response.Body.Close()
		if _, err := response.Body.Read(make([]byte, 1)); err != http.ErrBodyReadAfterClose {
			t.Error(err)
		}
		piped, pipe := io.Pipe()
		go func() {
			fmt.Fprint(pipe, "a")
			time.Sleep(time.Millisecond)
			fmt.Fprint(pipe, strings.Repeat("b", 100_000))
			pipe.Close()
		}()
		if body, err := text(http.Post("https://a.test", "text/plain", piped)); len(body) != 100_005 || err != nil {
			t.Error(len(body), err)
		}
		if response, err := http.Head("https://a.test"); err != nil || response.Body != http.NoBody {
			t.Error(response, err)
		}
	})
	sent := client.HTTPRequests()
	first := sent[0]
	if len(sent) != 3 || first.Method != "POST" || first.URL != "https://a.test/%C3%BC?x=%20%C3%BC" || string(first.Body) != "hällo" {
		t.Error(first)
	}
	if first.Header.Get("Authorization") != "Basic dXNlcjpwYXNz" || first.Header.Get("User-Agent") != "Go-http-client/1.1" {
		t.Error(first.Header)
	}
}

func TestWithoutAnAnswerRequestsAreDenied(t *testing.T) {
	client := plugporttest.New()
	client.Run(func() {
		_, err := http.Get("https://b.test:8443/x?y")
		var denied *plugporthttp.DeniedError
		if !errors.As(err, &denied) || denied.Request != "GET https://b.test:8443" ||
			denied.Grant != `http = ["GET https://b.test:8443"]` {
			t.Error(err)
		}
		if !strings.HasSuffix(err.Error(), "this server does not grant the request GET https://b.test:8443 to the plugin") {
			t.Error(err)
		}
	})
	if len(client.HTTPRequests()) != 1 {
		t.Error(client.HTTPRequests())
	}
	if _, err := http.Get("https://b.test"); err == nil || !strings.Contains(err.Error(), "there is no host here") {
		t.Error(err)
	}
}

func TestFailuresAreTyped(t *testing.T) {
	for _, failure := range []*plugporthttp.Error{
		{Kind: plugporthttp.TimedOut}, {Kind: plugporthttp.OverLimit, Limit: "http_requests"},
	} {
		fails := func(*http.Request) (*http.Response, error) { return nil, failure }
		plugporttest.New().AnswersHTTP(fails).Run(func() {
			_, err := http.Get("https://a.test")
			var got *plugporthttp.Error
			if !errors.As(err, &got) || got != failure {
				t.Error(err)
			}
			var late net.Error
			isLate := failure.Kind == plugporthttp.TimedOut
			if !errors.As(err, &late) || late.Timeout() != isLate || errors.Is(err, context.DeadlineExceeded) != isLate {
				t.Error(err)
			}
		})
	}
}

func TestADeadlineEndsARequestAndABody(t *testing.T) {
	plugporttest.New().AnswersHTTP(hangs).Run(func() {
		quick := http.Client{Timeout: 5 * time.Millisecond}
		_, err := quick.Get("https://a.test")
		var late net.Error
		if !errors.As(err, &late) || !late.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		enough := errors.New("enough")
		time.AfterFunc(time.Millisecond, func() { cancel(enough) })
		request, _ := http.NewRequestWithContext(ctx, "GET", "https://a.test", nil)
		if _, err := http.DefaultClient.Do(request); !errors.Is(err, enough) {
			t.Error(err)
		}
		if _, err := http.DefaultClient.Do(request); !errors.Is(err, enough) {
			t.Error(err)
		}
	})
	endless, never := io.Pipe()
	defer never.Close()
	answer := func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: endless}, nil
	}
	plugporttest.New().AnswersHTTP(answer).Run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		defer cancel()
		request, _ := http.NewRequestWithContext(ctx, "GET", "https://a.test", nil)
		go never.Write([]byte("begin"))
		if body, err := text(http.DefaultClient.Do(request)); body != "begin" || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(body, err)
		}
	})
}

func TestGoroutinesWaitTogether(t *testing.T) {
	var arrived sync.WaitGroup
	arrived.Add(10)
	meets := func(request *http.Request) (*http.Response, error) {
		arrived.Done()
		arrived.Wait() // all ten are under way
		return plugporttest.HTTPResponse(200, strings.Repeat(request.URL.Path, 50_000)), nil
	}
	plugporttest.New().AnswersHTTP(meets).Run(func() {
		var all sync.WaitGroup
		for n := range 10 {
			all.Go(func() {
				body, err := text(http.Get(fmt.Sprintf("https://a.test/%d", n)))
				if len(body) != 100_000 || err != nil {
					t.Error(n, len(body), err)
				}
			})
		}
		all.Wait()
	})
}

func TestRedirectsAreRequestsOfTheirOwn(t *testing.T) {
	client := plugporttest.New().AnswersHTTP(func(request *http.Request) (*http.Response, error) {
		response := plugporttest.HTTPResponse(200, "there")
		if request.URL.Host == "a.test" {
			response.StatusCode = 307
			response.Header.Set("Location", "https://b.test/3")
		}
		return response, nil
	})
	client.Run(func() {
		if body, err := text(http.Post("https://a.test", "a/b", strings.NewReader("x"))); body != "there" || err != nil {
			t.Error(body, err)
		}
	})
	if sent := client.HTTPRequests(); len(sent) != 2 || sent[1].Method != "POST" || string(sent[1].Body) != "x" {
		t.Error(sent)
	}
}

func TestWhatCannotBeSentIsAnError(t *testing.T) {
	plugporttest.New().AnswersHTTP(echoes).Run(func() {
		for _, length := range []int64{2, 4} {
			request, _ := http.NewRequest("POST", "https://a.test", io.NopCloser(strings.NewReader("abc")))
			request.ContentLength = length
			_, err := http.DefaultClient.Do(request)
			if err == nil || !strings.Contains(err.Error(), "its body does not have the length that was said") {
				t.Error(err)
			}
		}
		for length, words := range map[int64]string{70_000: "longer", 90_000: "shorter"} {
			request, _ := http.NewRequest("POST", "https://a.test", io.NopCloser(strings.NewReader(strings.Repeat("x", 80_000))))
			request.ContentLength = length
			_, err := http.DefaultClient.Do(request)
			if err == nil || !strings.HasSuffix(err.Error(), "the request cannot be sent: its body is "+words+" than was said") {
				t.Error(err)
			}
		}
		broken := errors.New("broken")
		piped, pipe := io.Pipe()
		pipe.CloseWithError(broken)
		if _, err := http.Post("https://a.test", "a/b", piped); !errors.Is(err, broken) {
			t.Error(err)
		}
		_, err := plugporthttp.Transport{}.RoundTrip(&http.Request{URL: &url.URL{}})
		if err == nil || err.Error() != "the request cannot be sent: it has no URL with a host" {
			t.Error(err)
		}
		clone := http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
		if _, err := clone.Get("http://a.test"); err == nil || !strings.Contains(err.Error(), "give the http.Client plugporthttp.Transport{}") {
			t.Error(err)
		}
	})
}
