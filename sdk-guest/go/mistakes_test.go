package plugport

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/plugport/plugport/sdk-guest/go/internal/schema"
)

type endless struct {
	Next []endless `json:"next"`
}

type pipe struct {
	Pipe chan int `json:"pipe"`
}

type number struct {
	N int `json:"n" max:"many"`
}

// alone runs a test with nothing registered but its own.
func alone(t *testing.T) {
	saved := registered
	registered.tools, registered.resources, registered.prompts, registered.completers = nil, nil, nil, nil
	registered.middleware = nil
	t.Cleanup(func() { registered = saved })
}

func mentions(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not in: %v", text, err)
		}
	}
}

func nothing[A any](*Call, A) (string, error) { return "", nil }

func TestMistakesAreToldWhenToolsAreListed(t *testing.T) {
	alone(t)
	Tool("one", "One.", nothing[struct{}])
	Tool("one", " ", nothing[endless], MIMEType("text/html"))
	Tool("two", "Two.", nothing[pipe], InputSchema("{"), Extra(map[string]any{"f": func() {}}))
	Tool("three", "Three.", nothing[pipe])
	Tool("four", "Four.", nothing[number])
	Tool("five", "Five.", nothing[string])
	_, err := listTools()
	mentions(t, err,
		"the tool `one` is registered twice; rename one",
		"the tool `one` has no description; say in a sentence what it is for",
		"the tool `one` cannot have the option MIMEType; take it away",
		"plugport.endless contains itself, which a schema made of it cannot",
		"the tool `two` has a schema that is not JSON",
		"the tool `two` has an Extra that cannot be JSON",
		"plugport.pipe.pipe is a chan int, which JSON cannot hold",
		"the tag `max:\"many\"` must be a number",
		"string is not a struct; let the tool take a struct with one field for each argument")
}

func TestMistakesAreToldWhenResourcesAndPromptsAreListed(t *testing.T) {
	alone(t)
	ResourceTemplate("a://{x}{/y}", "a", "A.", func(_ *Call, _ struct {
		X int    `json:"x"`
		Y string `json:"y"`
	}) (string, error) {
		return "", nil
	})
	ResourceTemplate("b://{x", "b", "B.", nothing[struct{}])
	Prompt("p", "P.", nothing[pipe])
	CompletePrompt("p", "none", nil)
	CompleteTemplate("none", "x", nil)
	_, err := listResources()
	mentions(t, err, "\"y\" may be left out of the URI; add omitempty", "a `{` is not closed", "`x` of `none` is completed, but there is no such argument")
	_, err = listPrompts()
	mentions(t, err, "the field \"pipe\" of plugport.pipe is a chan int", "`none` of `p` is completed")
}

func TestOnlyFlatStructsAreForms(t *testing.T) {
	for _, form := range []reflect.Type{reflect.TypeFor[endless](), reflect.TypeFor[pipe](), reflect.TypeFor[int](), reflect.TypeFor[struct {
		List []string `json:"list"`
	}]()} {
		if _, err := schema.Form(form); err == nil {
			t.Error(form)
		}
	}
	choices, err := schema.Form(reflect.TypeFor[struct {
		List []string `json:"list,omitempty" enum:"a,b" title:"Lists"`
	}]())
	if want := `{"type":"object","properties":{"list":{"type":"array","title":"Lists","items":{"type":"string","enum":["a","b"]}}}}`; string(choices) != want || err != nil {
		t.Error(string(choices), err)
	}
}

func TestChoicesReachWhatIsInListsAndMaps(t *testing.T) {
	text, err := schema.Input(reflect.TypeFor[struct {
		Deep map[string][]string `json:"deep" enum:"a,b"`
	}]())
	want := `{"type":"object","properties":{"deep":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string","enum":["a","b"]}}}},"required":["deep"],"additionalProperties":false}`
	if text != want || err != nil {
		t.Error(text, err)
	}
}

func TestTemplatesHaveTheirVariablesInOrder(t *testing.T) {
	for template, want := range map[string]string{
		"a:b":                           "[]",
		"a:{x}/{y}":                     "[{[x] false} {[y] false}]",
		"a:{+x}{/y}{?p,q}{&r}{#f}/more": "[{[x] false} {[y] true} {[p q] true} {[r] true} {[f] true}]",
	} {
		expressions, err := parseTemplate(template)
		if err != nil || fmt.Sprint(expressions) != want {
			t.Error(template, expressions, err)
		}
	}
	for _, template := range []string{"a:{x*}", "a:{x,y}", "a:{;x}", "a:{}", "a:{x"} {
		if _, err := parseTemplate(template); err == nil {
			t.Error(template)
		}
	}
}

func TestBlocksAreWrittenAsMCPWritesThem(t *testing.T) {
	text, err := sampleParams(CreateMessageRequest{Messages: []Message{UserSays(TextBlock("a"), ImageBlock([]byte{0, 1}, "image/png")), AssistantSays(TextBlock(""))}})
	want := `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","data":"AAE=","mimeType":"image/png"}]},` +
		`{"role":"assistant","content":{"type":"text","text":""}}],"maxTokens":1000}`
	if text != want || err != nil {
		t.Error(text, err)
	}
	sampled, err := readSampled(`{"role":"assistant","model":"m","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"7","name":"add","input":{"a":1}}]}`)
	if err != nil || sampled.Text() != "x" || len(sampled.ToolUses()) != 1 {
		t.Error(sampled, err)
	}
	written, _ := params(ToolErrorBlock(sampled.ToolUses()[0], "no"))
	if written != `{"type":"tool_result","toolUseId":"7","content":[{"type":"text","text":"no"}],"isError":true}` {
		t.Error(written)
	}
}
