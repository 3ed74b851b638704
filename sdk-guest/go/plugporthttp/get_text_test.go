package plugporthttp_test

import (
	"net/http"
	"testing"

	"github.com/plugport/plugport/sdk-guest/go/plugporthttp"
	"github.com/plugport/plugport/sdk-guest/go/plugporttest"
)

func TestATextIsTheBodyOfAGoodResponse(t *testing.T) {
	client := plugporttest.New().AnswersHTTP(func(request *http.Request) (*http.Response, error) {
		if request.URL.Path == "/there" {
			return plugporttest.HTTPResponse(200, "hello"), nil
		}
		return plugporttest.HTTPResponse(404, "nothing"), nil
	})
	client.Run(func() {
		if text, err := plugporthttp.GetText("https://a.test/there"); text != "hello" || err != nil {
			t.Error(text, err)
		}
		text, err := plugporthttp.GetText("https://a.test/")
		if err == nil || err.Error() != "https://a.test/ answers 404" || text != "" {
			t.Error(text, err)
		}
	})
}
