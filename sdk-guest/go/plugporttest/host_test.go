package plugporttest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/plugport/plugport/sdk-guest/go"
	"github.com/plugport/plugport/sdk-guest/go/config"
	"github.com/plugport/plugport/sdk-guest/go/kv"
	_ "github.com/plugport/plugport/sdk-guest/go/plugporthttp"
	"github.com/plugport/plugport/sdk-guest/go/plugporttest"
)

// page fetches a page once.
func page(*plugport.Call, struct{}) (string, error) {
	store, err := kv.Open()
	if err != nil {
		return "", err
	}
	if text, found, err := store.GetText("page"); found || err != nil {
		return text, err
	}
	address, err := config.Require("address")
	if err != nil {
		return "", err
	}
	response, err := http.Get(address)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	return string(text), store.Set("page", text)
}

func init() { plugport.Tool("page", "A page.", page) }

func TestEachClientHasAServerOfItsOwn(t *testing.T) {
	client := plugporttest.New().HasConfig(map[string]string{"address": "https://a.test"}, nil)
	client.AnswersHTTP(func(*http.Request) (*http.Response, error) { return plugporttest.HTTPResponse(200, "hello"), nil })
	for range 2 {
		if text := client.CallTool("page", struct{}{}).Text(); text != "hello" {
			t.Error(text)
		}
	}
	if sent := client.HTTPRequests(); len(sent) != 1 || sent[0].URL != "https://a.test" {
		t.Error(sent)
	}
	other := plugporttest.New()
	text := other.CallTool("page", struct{}{}).Text()
	if text != "this plugin needs the setting `address`, which its operator has not made" {
		t.Error(text)
	}
	text = other.HasConfig(nil, map[string]string{"address": "https://b.test"}).CallTool("page", struct{}{}).Text()
	if text != `Get "https://b.test": this server does not grant the request GET https://b.test to the plugin` {
		t.Error(text)
	}
	if keys, _ := other.Store().Keys(); len(keys) != 0 {
		t.Error(keys)
	}
}

func TestCallsOfOneClientMayRunAtOnce(t *testing.T) {
	client := plugporttest.New()
	met := make(chan struct{})
	go client.Run(func() { met <- struct{}{} })
	client.Run(func() { <-met })
}

func TestWhatIsNotGrantedIsDeniedInTheWordsOfTheServer(t *testing.T) {
	client := plugporttest.New().Samples("!").HasRoots(plugport.Root{URI: "file:///a"}).Denies()
	_, sampling := client.Call().Sample(plugport.TextRequest("?"))
	_, roots := client.Call().Roots()
	var store error
	client.Run(func() { _, store = kv.Open() })
	for name, err := range map[string]error{"sampling": sampling, "roots": roots, "kv": store} {
		words := "not allowed: this server does not grant `" + name + "` to the plugin"
		if plugport.KindOf(err) != plugport.Denied || !strings.HasPrefix(err.Error(), words) {
			t.Error(name, err)
		}
	}
}
