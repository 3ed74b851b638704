// Every feature of a plugin once, in Go. One test drives the guests of all languages, so each behaves alike.
package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/plugport/plugport/sdk-guest/go"
	"github.com/plugport/plugport/sdk-guest/go/config"
	"github.com/plugport/plugport/sdk-guest/go/kv"
	_ "github.com/plugport/plugport/sdk-guest/go/plugporthttp" // for net/http
)

type logArgs struct {
	Text string `json:"text" desc:"What to log."`
}

type printArgs struct {
	Text string `json:"text" desc:"What to print."`
}

func log(call *plugport.Call, args logArgs) (string, error) {
	call.Logger("features").Info("%s", args.Text)
	return "logged", nil
}

func print(_ *plugport.Call, args printArgs) (string, error) {
	fmt.Println(args.Text)
	return "printed", nil
}

func draw(*plugport.Call, struct{}) (string, error) {
	return fmt.Sprintf("%d %d", rand.Int63(), time.Now().Unix()), nil
}

func throw(*plugport.Call, struct{}) (string, error) {
	panic("nobody catches this")
}

type progressArgs struct {
	Steps int `json:"steps" desc:"How many." min:"0"`
}

func progress(call *plugport.Call, args progressArgs) (string, error) {
	for step := 1; step <= args.Steps; step++ {
		call.Progress(float64(step), float64(args.Steps), fmt.Sprintf("step %d", step))
	}
	return "done", nil
}

type questionArgs struct {
	Question string `json:"question" desc:"What to ask."`
}

func sample(call *plugport.Call, args questionArgs) (string, error) {
	question := plugport.TextRequest(args.Question)
	question.MaxTokens = 100
	answer, err := call.Sample(question)
	if err != nil {
		return "", err
	}
	return answer.Text(), nil
}

type answerForm struct {
	Answer string `json:"answer"`
}

func elicit(call *plugport.Call, args questionArgs) (string, error) {
	answer, err := plugport.Elicit[answerForm](call, args.Question)
	if err != nil {
		return "", err
	}
	switch answer.Action {
	case plugport.Accepted:
		return "accepted: " + answer.Value.Answer, nil
	case plugport.Declined:
		return "declined", nil
	}
	return "cancelled", nil
}

func roots(call *plugport.Call, _ struct{}) (string, error) {
	folders, err := call.Roots()
	if err != nil {
		return "", err
	}
	var uris []string
	for _, folder := range folders {
		uris = append(uris, folder.URI)
	}
	return strings.Join(uris, ", "), nil
}

type structuredArgs struct {
	A int `json:"a"`
	B int `json:"b"`
}

type structuredResult struct {
	Sum     int `json:"sum"`
	Product int `json:"product"`
}

func structured(_ *plugport.Call, args structuredArgs) (structuredResult, error) {
	return structuredResult{Sum: args.A + args.B, Product: args.A * args.B}, nil
}

type nestArgs struct {
	Depth int `json:"depth" desc:"How deep." min:"0"`
}

type nestResult struct {
	Inner any `json:"inner"`
}

func nest(_ *plugport.Call, args nestArgs) (nestResult, error) {
	var inner any = "here"
	for range args.Depth {
		inner = []any{inner}
	}
	return nestResult{inner}, nil
}

type failArgs struct {
	Why string `json:"why"`
}

func fail(_ *plugport.Call, args failArgs) (string, error) {
	return "", errors.New(args.Why)
}

func refuse(call *plugport.Call, _ struct{}) (string, error) {
	answer, err := call.Sample(plugport.TextRequest("May I?"))
	if err != nil {
		return "", err
	}
	return answer.Text(), nil
}

func textOf(address string) (string, error) {
	response, err := http.Get(address)
	if err != nil {
		var failure *url.Error
		if errors.As(err, &failure) {
			err = failure.Err
		}
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

type fetchTextArgs struct {
	URL string `json:"url" desc:"Where it is."`
}

func fetchText(_ *plugport.Call, args fetchTextArgs) (string, error) { return textOf(args.URL) }

type fetchAllArgs struct {
	URLs []string `json:"urls" desc:"Where they are."`
}

func fetchAll(_ *plugport.Call, args fetchAllArgs) (string, error) {
	texts, errs := make([]string, len(args.URLs)), make([]error, len(args.URLs))
	var all sync.WaitGroup
	for at, address := range args.URLs {
		all.Go(func() { texts[at], errs[at] = textOf(address) })
	}
	all.Wait()
	return strings.Join(texts, "\n"), errors.Join(errs...)
}

type visitArgs struct {
	Name string `json:"name" desc:"Who visits."`
}

func countVisits(_ *plugport.Call, args visitArgs) (string, error) {
	store, err := kv.Open()
	if err != nil {
		return "", err
	}
	visits, err := store.Increment(args.Name, 1)
	return fmt.Sprint(visits), err
}

// readMuch makes the host write far more than the plugin keeps.
func readMuch(*plugport.Call, struct{}) (string, error) {
	store, err := kv.Open()
	if err != nil {
		return "", err
	}
	if err := store.Set("much", make([]byte, 256<<10)); err != nil {
		return "", err
	}
	for range 200 {
		if _, _, err := store.Get("much"); err != nil {
			return "", err
		}
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return fmt.Sprintf("%d MiB", memory.Sys>>20), nil
}

// greetConfigured logs the secret, which the client must not see.
func greetConfigured(call *plugport.Call, _ struct{}) (string, error) {
	greeting, err := config.Require("greeting")
	if err != nil {
		return "", err
	}
	token, err := config.Require("token")
	call.Info("%s", token)
	return fmt.Sprintf("%s %d", greeting, utf8.RuneCountInString(token)), err
}

type detachArgs struct {
	Status string `json:"status" desc:"What to tell people meanwhile."`
}

func detach(call *plugport.Call, args detachArgs) (string, error) {
	return fmt.Sprint(call.Detach(args.Status)), nil
}

func extensions(call *plugport.Call, _ struct{}) (string, error) {
	return strings.Join(call.Client().Extensions, ", "), nil
}

type sleepArgs struct {
	MS int `json:"ms" desc:"How many milliseconds." min:"0"`
}

func sleep(_ *plugport.Call, args sleepArgs) (string, error) {
	time.Sleep(time.Duration(args.MS) * time.Millisecond)
	return "rested", nil
}

func greeting(*plugport.Call) (string, error) {
	return "Hello from go", nil
}

type echoValues struct {
	Word string `json:"word"`
}

func echo(_ *plugport.Call, values echoValues) (string, error) {
	return values.Word, nil
}

type greetArgs struct {
	Name string `json:"name" desc:"Whom to greet."`
}

func greet(_ *plugport.Call, args greetArgs) (string, error) {
	return "Greet " + args.Name + " warmly.", nil
}

func names(_ *plugport.Call, value string, _ plugport.CompletionContext) (plugport.Completion, error) {
	var fitting []string
	for _, name := range []string{"Ada", "Alan", "Grace"} {
		if strings.HasPrefix(name, value) {
			fitting = append(fitting, name)
		}
	}
	return plugport.Suggest(fitting...), nil
}

func init() {
	plugport.Tool("log", "Log a text.", log)
	plugport.Tool("print", "Print a text.", print)
	plugport.Tool("draw", "Draw a random number, and tell the time.", draw)
	plugport.Tool("throw", "Fail with what nobody recovers.", throw)
	plugport.Tool("progress", "Report progress step by step.", progress)
	plugport.Tool("sample", "Ask the client's model.", sample)
	plugport.Tool("elicit", "Ask the person.", elicit)
	plugport.Tool("roots", "Say which folders there are.", roots)
	plugport.Tool("structured", "Add and multiply.", structured, plugport.ReadOnly())
	plugport.Tool("nest", "Answer with lists in lists.", nest)
	plugport.Tool("fail", "Fail.", fail)
	plugport.Tool("refuse", "Ask the model without being allowed to.", refuse)
	plugport.Tool("fetch-text", "Fetch a text.", fetchText)
	plugport.Tool("fetch-all", "Fetch several texts at once.", fetchAll)
	plugport.Tool("count-visits", "Count the visits of someone.", countVisits)
	plugport.Tool("read-much", "Read a large value many times, and say how large the memory has become.", readMuch)
	plugport.Tool("greet-configured", "Say the greeting of the settings, and how long the secret is.", greetConfigured)
	plugport.Tool("detach", "Let the client go on without waiting, and say whether it does.", detach)
	plugport.Tool("extensions", "Say which extensions the client declared.", extensions)
	plugport.Tool("sleep", "Sleep.", sleep)
	plugport.Resource("features://greeting", "greeting", "A greeting.", greeting)
	plugport.ResourceTemplate("features://echo/{word}", "echo", "Says a word again.", echo)
	plugport.Prompt("greet", "Ask for a greeting.", greet)
	plugport.CompletePrompt("greet", "name", names)
}

func main() {}
