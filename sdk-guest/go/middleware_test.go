package plugport

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

type spoken struct {
	Word string `json:"word"`
}

func speak(_ *Call, args spoken) (string, error) {
	if args.Word == "" {
		return "", errors.New("no word")
	}
	return args.Word, nil
}

// toolText calls a tool, and gives the text of its result.
func toolText(t *testing.T, name, args string) string {
	t.Helper()
	result, err := callTool(&Call{}, name, args)
	if err != nil || len(result.Content) == 0 {
		t.Fatal(result, err)
	}
	text, _ := result.Content[0].AsText()
	return text
}

func TestTheFirstMiddlewareIsTheOutermost(t *testing.T) {
	alone(t)
	var said []string
	noting := func(name string) func(Handler) Handler {
		return func(next Handler) Handler {
			return func(call *Call, request Request) (any, error) {
				said = append(said, name+" "+request.Method+" "+request.Name+" "+request.Arguments)
				made, err := next(call, request)
				said = append(said, "end of "+name)
				return made, err
			}
		}
	}
	Use(noting("one"))
	Use(noting("two"))
	Tool("speak", "Speak.", speak)
	if text := toolText(t, "speak", `{"word":"a"}`); text != "a" {
		t.Error(text)
	}
	const about = ` tools/call speak {"word":"a"}`
	if want := []string{"one" + about, "two" + about, "end of two", "end of one"}; !slices.Equal(said, want) {
		t.Error(said)
	}
}

func TestMiddlewareChangesArgumentsResultsAndErrors(t *testing.T) {
	alone(t)
	Use(func(next Handler) Handler {
		return func(call *Call, request Request) (any, error) {
			request.Arguments = strings.ReplaceAll(request.Arguments, "a", "b")
			made, err := next(call, request)
			if err != nil {
				return "caught: " + err.Error(), nil
			}
			result := made.(ToolResult)
			result.Content = append(result.Content, Text("!"))
			return result, nil
		}
	})
	Tool("speak", "Speak.", speak)
	result, err := callTool(&Call{}, "speak", `{"word":"a"}`)
	if err != nil || len(result.Content) != 2 || toolText(t, "speak", `{"word":"a"}`) != "b" {
		t.Error(result, err)
	}
	if text := toolText(t, "speak", `{"word":""}`); text != "caught: no word" {
		t.Error(text)
	}
}

func TestResourcesAndPromptsHaveMiddlewareToo(t *testing.T) {
	alone(t)
	var said []string
	Use(func(next Handler) Handler {
		return func(call *Call, request Request) (any, error) {
			said = append(said, request.Method+" "+request.Name+" "+request.Values["word"])
			if request.Name == "closed" {
				return nil, Errorf(Denied, "closed")
			}
			return next(call, request)
		}
	})
	ResourceTemplate("m://{word}", "m", "M.", speak)
	Prompt("p", "P.", speak)
	Prompt("closed", "P.", speak)
	values := map[string]string{"word": "a"}
	contents, err := readResource(&Call{}, "m://a", matchedTemplate{"m://{word}", values})
	if err != nil || contents[0].Text != "a" {
		t.Error(contents, err)
	}
	made, err := getPrompt(&Call{}, "p", values)
	if err != nil || len(made.Messages) != 1 {
		t.Error(made, err)
	}
	if _, err := getPrompt(&Call{}, "closed", values); KindOf(err) != Denied {
		t.Error(err)
	}
	if want := []string{"resources/read m://a a", "prompts/get p a", "prompts/get closed a"}; !slices.Equal(said, want) {
		t.Error(said)
	}
}

func TestMiddlewareOfAPromptReturnsWhatAPromptMay(t *testing.T) {
	alone(t)
	Use(func(Handler) Handler { return func(*Call, Request) (any, error) { return 7, nil } })
	Prompt("p", "P.", speak)
	_, err := getPrompt(&Call{}, "p", nil)
	mentions(t, err, "a prompt cannot be made of a value of type int")
}
