package plugporthttp_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/plugport/plugport/sdk-guest/go"
	"github.com/plugport/plugport/sdk-guest/go/plugporthttp"
	"github.com/plugport/plugport/sdk-guest/go/plugporttest"
)

func getText(*plugport.Call, struct{}) (string, error) { return text(http.Get("https://a.test")) }

func getPage(*plugport.Call) (string, error) { return text(http.Get("https://a.test")) }

func init() {
	plugport.Tool("get-text", "Get a text.", getText)
	plugport.Resource("kinds://page", "page", "A page.", getPage)
}

func TestWhatTheServerDoesNotAllowHasTheKindsOfThePlugin(t *testing.T) {
	for _, failure := range []struct {
		err  error
		kind plugport.Kind
	}{
		{plugporthttp.Denied("GET https://a.test"), plugport.Denied},
		{&plugporthttp.Error{Kind: plugporthttp.PrivateAddress}, plugport.Denied},
		{&plugporthttp.Error{Kind: plugporthttp.OverLimit, Limit: "http_ms"}, plugport.OverBudget},
		{&plugporthttp.Error{Kind: plugporthttp.TimedOut}, 0},
	} {
		client := plugporttest.New().AnswersHTTP(func(*http.Request) (*http.Response, error) { return nil, failure.err })
		client.Run(func() {
			_, err := http.Get("https://a.test")
			if !errors.Is(err, failure.err) || plugport.KindOf(err) != failure.kind {
				t.Error(err, plugport.KindOf(err))
			}
		})
		outcome := client.CallTool("get-text", struct{}{})
		if !outcome.Result.IsError || outcome.Text() != `Get "https://a.test": `+failure.err.Error() {
			t.Error(outcome)
		}
		_, err := client.ReadResource("kinds://page")
		expected := failure.kind
		if expected == 0 {
			expected = plugport.Internal
		}
		if plugport.KindOf(err) != expected {
			t.Error(err, expected)
		}
	}
}
