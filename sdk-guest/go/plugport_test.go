package plugport_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plugport/plugport/sdk-guest/go"
	"github.com/plugport/plugport/sdk-guest/go/internal/testhost"
	"github.com/plugport/plugport/sdk-guest/go/plugporttest"
)

type place struct {
	City string `json:"city" desc:"Its name." min:"1"`
}

type args struct {
	Word   string             `json:"word" desc:"A word."`
	Small  int8               `json:"small,omitempty"`
	Count  uint               `json:"count,omitempty" min:"1" max:"9" default:"3"`
	Share  *float64           `json:"share"`
	Tone   string             `json:"tone,omitempty" enum:"warm,cold" default:"warm"`
	Tags   []string           `json:"tags,omitempty" max:"4"`
	Sizes  map[string]float32 `json:"sizes,omitempty"`
	Place  *place             `json:"place,omitempty"`
	hidden int
}

type result struct {
	Word  string   `json:"word"`
	Count uint     `json:"count"`
	Tone  string   `json:"tone"`
	Tags  []string `json:"tags"`
	City  string   `json:"city,omitempty"`
}

type wish struct {
	Name string  `json:"name" min:"1"`
	Tone *string `json:"tone" enum:"formal,friendly"`
}

type variables struct {
	ID   int    `json:"id"`
	Part string `json:"part,omitempty"`
}

var offered = true

func init() {
	plugport.Tool("all", "Take everything.", func(_ *plugport.Call, args args) (result, error) {
		made := result{Word: args.Word, Count: args.Count, Tone: args.Tone, Tags: args.Tags}
		if args.Place != nil {
			made.City = args.Place.City
		}
		return made, nil
	}, plugport.Title("All"), plugport.ReadOnly(), plugport.OpenWorld(false))
	plugport.Tool("fail", "Fail.", func(*plugport.Call, struct{}) (string, error) {
		return "", fmt.Errorf("no luck: %w", errors.New("rain"))
	})
	plugport.Tool("panic", "Panic.", func(*plugport.Call, struct{}) (string, error) {
		var none []int
		return fmt.Sprint(none[len(none)]), nil
	})
	plugport.Tool("ask", "Ask.", ask)
	plugport.Tool("sometimes", "Be there.", func(*plugport.Call, struct{}) (string, error) { return "here", nil },
		plugport.When(func() bool { return offered }))
	plugport.Resource("notes://help", "help", "Help.", func(*plugport.Call) (string, error) { return "Read.", nil })
	plugport.ResourceTemplate("notes://note/{id}{?part}", "note", "One note.",
		func(_ *plugport.Call, at variables) (string, error) {
			if at.ID > 3 {
				return "", plugport.Errorf(plugport.NotFound, "there are 3 notes")
			}
			return fmt.Sprint("note ", at.ID, " ", at.Part), nil
		})
	plugport.Prompt("review", "Ask for a review.", func(_ *plugport.Call, args struct {
		Code  string `json:"code" desc:"What to review."`
		Lines int    `json:"lines,omitempty" default:"10"`
	}) ([]plugport.PromptMessage, error) {
		return []plugport.PromptMessage{plugport.UserMessage(fmt.Sprintf("Review %d lines of %s", args.Lines, args.Code))}, nil
	})
	plugport.CompletePrompt("review", "code", func(_ *plugport.Call, value string, _ plugport.CompletionContext) (plugport.Completion, error) {
		return plugport.Rank(value, "Las Palmas", "Paris", "Aspar", "Pa", "Oslo"), nil
	})
}

func ask(call *plugport.Call, _ struct{}) (string, error) {
	wish, err := plugport.Elicit[wish](call.Keyed("whom"), "Whom?")
	if err != nil {
		return "", err
	}
	filled, err := wish.Accepted()
	if err != nil {
		return "", err
	}
	answer, err := call.Sample(plugport.TextRequest("Greet " + filled.Name))
	if err != nil {
		return "", fmt.Errorf("no model: %w", err)
	}
	call.Warning("100%")
	call.Progress(1, 2, "half")
	call.ToolsChanged()
	return answer.Text(), nil
}

func equal[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestAToolIsDescribedByItsTypes(t *testing.T) {
	tools, err := plugporttest.Tools()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, tools[0].InputSchema, `{"type":"object","properties":{"word":{"type":"string","description":"A word."},`+
		`"small":{"type":"integer","minimum":-128,"maximum":127},"count":{"type":"integer","minimum":1,"maximum":9,"default":3},`+
		`"share":{"type":"number"},"tone":{"type":"string","enum":["warm","cold"],"default":"warm"},`+
		`"tags":{"type":"array","items":{"type":"string"},"maxItems":4},`+
		`"sizes":{"type":"object","additionalProperties":{"type":"number"}},`+
		`"place":{"type":"object","properties":{"city":{"type":"string","description":"Its name.","minLength":1}},`+
		`"required":["city"],"additionalProperties":false}},"required":["word"],"additionalProperties":false}`)
	equal(t, tools[0].OutputSchema, `{"type":"object","properties":{"word":{"type":"string"},"count":{"type":"integer","minimum":0},`+
		`"tone":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},"city":{"type":"string"}},`+
		`"required":["word","count","tone","tags"]}`)
	equal(t, *tools[0].ReadOnly && !*tools[0].OpenWorld && tools[0].Idempotent == nil, true)
	equal(t, tools[1].InputSchema, `{"type":"object","properties":{},"additionalProperties":false}`)
	equal(t, tools[1].OutputSchema, "")
}

func TestArgumentsAreReadAndDefaultsStandIn(t *testing.T) {
	outcome := plugporttest.New().CallTool("all", map[string]any{"word": "a", "place": place{"Rome"}})
	equal(t, outcome.Text(), `{"word":"a","count":3,"tone":"warm","tags":[],"city":"Rome"}`)
	var read result
	if err := outcome.Structured(&read); err != nil || read.City != "Rome" {
		t.Error(read, err)
	}
}

// unvalidated is what the SDK itself says of arguments, which clients read only if a schema of the author's own lets
// them pass.
func unvalidated(tool string, args any) error {
	text, _ := json.Marshal(args)
	_, err := testhost.SDK.CallTool(plugporttest.New().Call(), tool, string(text))
	return err
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	for text, given := range map[string]map[string]any{
		"the argument `word` is missing": {},
		"there is no argument `wort`; this tool takes word, small, count, share, tone, tags, sizes, place": {"word": "a", "wort": 1},
		"the argument `small` cannot be used: number 300 where a whole number from -128 to 127 is wanted":  {"word": "a", "small": 300},
		"the argument `place` cannot be used: number in city where string is wanted":                       {"word": "a", "place": map[string]any{"city": 1}},
	} {
		err := unvalidated("all", given)
		equal(t, err.Error(), text)
		equal(t, plugport.KindOf(err), plugport.InvalidParams)
	}
	equal(t, unvalidated("fail", map[string]any{"a": 1}).Error(), "there is no argument `a`; this tool takes none")
}

func TestAnErrorIsAToolErrorAndAPanicAnInternalOne(t *testing.T) {
	failed := plugporttest.New().CallTool("fail", struct{}{})
	equal(t, failed.Text(), "no luck: rain")
	equal(t, failed.Result.IsError, true)
	client := plugporttest.New()
	panicked := client.CallTool("panic", struct{}{})
	equal(t, plugport.KindOf(panicked.Err), plugport.Internal)
	equal(t, strings.Contains(panicked.Text(), "index out of range"), true)
	equal(t, strings.Contains(client.Logs()[0].Data.(string), "plugport_test.go"), true)
	equal(t, plugport.KindOf(plugporttest.New().CallTool("none", struct{}{}).Err), plugport.NotFound)
}

func TestTheClientIsAsked(t *testing.T) {
	client := plugporttest.New().Accepts(map[string]any{"name": "Ada"}).Samples("Hello, Ada!")
	equal(t, client.CallTool("ask", struct{}{}).Text(), "Hello, Ada!")
	asked := client.Requests()
	equal(t, fmt.Sprint(asked[0]), "{whom elicitation/create map[message:Whom? mode:form requestedSchema:map["+
		"properties:map[name:map[minLength:1 type:string] tone:map[enum:[formal friendly] type:string]] required:[name] type:object]]}")
	equal(t, fmt.Sprint(asked[1].Params), "map[maxTokens:1000 messages:[map[content:map[text:Greet Ada type:text] role:user]]]")
	equal(t, client.Logs()[0], plugporttest.LogRecord{Level: plugport.LevelWarning, Data: "100%"})
	equal(t, client.Progress()[0], plugporttest.ProgressRecord{Done: 1, Total: 2, Message: "half"})
	equal(t, client.Changes()[0], "tools")
}

func TestTheClientDeclaresExtensions(t *testing.T) {
	apps := "io.modelcontextprotocol/ui"
	equal(t, len(plugporttest.New().Call().Client().Extensions), 0)
	client := plugporttest.New().HasExtensions("io.modelcontextprotocol/tasks", apps).Call().Client()
	equal(t, client.Extensions[1], apps)
	equal(t, client.Supports(apps), true)
	equal(t, client.Supports("io.modelcontextprotocol"), false)
}

func TestAClientOfATestWaitsForCallsThatDetach(t *testing.T) {
	call := plugporttest.New().Call()
	equal(t, call.Detach("rendering"), false)
	equal(t, call.Detach(""), false)
}

func TestErrorsAreHandedOn(t *testing.T) {
	for want, client := range map[plugport.Kind]*plugporttest.Client{
		plugport.MissingCapability: plugporttest.New().Accepts(map[string]any{"name": "Ada"}),
		plugport.Rejected:          plugporttest.New().Declines(),
		plugport.RPC:               plugporttest.New().Accepts(map[string]any{"name": 7}),
		plugport.Denied:            plugporttest.New().ElicitsWith(nil, plugport.Errorf(plugport.Denied, "no")),
	} {
		outcome := client.CallTool("ask", struct{}{})
		equal(t, plugport.KindOf(outcome.Err), want)
	}
}

func TestSeveralRequestsAreSentAtOnce(t *testing.T) {
	client := plugporttest.New().Samples("A title").HasRoots(plugport.Root{URI: "file:///a"})
	batch := plugport.AddForm[wish](new(plugport.InputBatch).Sample("title", plugport.TextRequest("?")).Roots("folders"), "wish", "?")
	answers, err := client.Call().RequestInputs(batch)
	if err != nil {
		t.Fatal(err)
	}
	title, _ := answers.Sampled("title")
	roots, _ := answers.Roots("folders")
	_, rejected := plugport.FormResult[wish](answers, "wish")
	_, unknown := answers.Roots("none")
	equal(t, title.Text()+roots[0].URI, "A titlefile:///a")
	equal(t, plugport.KindOf(rejected), plugport.MissingCapability)
	equal(t, plugport.KindOf(unknown), plugport.Internal)
}

func TestResourcesAreRead(t *testing.T) {
	client := plugporttest.New()
	help, err := client.ReadResource("notes://help")
	equal(t, err == nil && help[0].Text == "Read.", true)
	const note = "notes://note/{id}{?part}"
	contents, err := client.ReadTemplate(note, "notes://note/2?part=a%20b", map[string]string{"id": "2", "part": "a b"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, contents[0].URI+" "+contents[0].MIMEType, "notes://note/2?part=a%20b text/plain")
	equal(t, contents[0].Text, "note 2 a b")
	before, err := client.ReadTemplate(note, "notes://help", map[string]string{"id": "2"})
	equal(t, err == nil && before[0].Text == "Read.", true)
	for _, id := range []string{"x", "", "9"} {
		_, err := client.ReadTemplate(note, "notes://note/"+id, map[string]string{"id": id})
		equal(t, plugport.KindOf(err), plugport.NotFound)
	}
	for _, template := range []string{"", "notes://note/{id}", "notes://help"} {
		_, err := client.ReadTemplate(template, "notes://note/2", map[string]string{"id": "2"})
		equal(t, plugport.KindOf(err), plugport.NotFound)
	}
	templates, err := plugporttest.ResourceTemplates()
	equal(t, err == nil && templates[0].MIMEType == "text/plain", true)
}

func TestPromptsAreMadeAndCompleted(t *testing.T) {
	client := plugporttest.New()
	prompts, err := plugporttest.Prompts()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, fmt.Sprint(prompts[0].Arguments), "[{code  What to review. true} {lines   false}]")
	made, err := client.GetPrompt("review", map[string]string{"code": "x"})
	text, _ := made.Messages[0].Content.AsText()
	equal(t, text, "Review 10 lines of x")
	equal(t, err, nil)
	_, err = client.GetPrompt("review", map[string]string{"code": "x", "lines": "many"})
	equal(t, err.Error(), "the argument `lines` cannot be used: \"many\" where a whole number from -9223372036854775808 to 9223372036854775807 is wanted")
	completed, _ := client.CompletePrompt("review", "code", "pa", nil)
	equal(t, strings.Join(completed.Values, ","), "Pa,Paris,Las Palmas,Aspar")
	none, err := client.CompletePrompt("review", "lines", "", nil)
	equal(t, len(none.Values) == 0 && err == nil, true)
}

func TestAToolMayComeAndGo(t *testing.T) {
	offered = false
	defer func() { offered = true }()
	tools, _ := plugporttest.Tools()
	equal(t, slices.ContainsFunc(tools, func(tool plugport.ToolInfo) bool { return tool.Name == "sometimes" }), false)
	equal(t, plugport.KindOf(plugporttest.New().CallTool("sometimes", struct{}{}).Err), plugport.NotFound)
}
