package plugporttest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/plugport/plugport/sdk-guest/go"
	"github.com/plugport/plugport/sdk-guest/go/plugporttest"
)

// The cases are those of all SDKs; the Rust SDK compares them with the server's own validator.
const cases = "../../tests/validation/"

const prefix = "the arguments do not fit the tool's schema: "

// anything keeps the arguments as they came.
type anything struct{ text string }

func (a *anything) UnmarshalJSON(text []byte) error {
	a.text = string(text)
	return nil
}

func echo(_ *plugport.Call, args anything) (string, error) { return args.text, nil }

type stay struct {
	Nights int      `json:"nights" min:"1" max:"30"`
	Board  *string  `json:"board" enum:"full,half"`
	Guests []string `json:"guests,omitempty" max:"2"`
}

type stayForm struct {
	Nights int     `json:"nights" min:"1" max:"30"`
	Board  *string `json:"board" enum:"full,half"`
}

func init() {
	schema, err := os.ReadFile(cases + "schema.json")
	if err == nil {
		plugport.Tool("echo", "Say what came.", echo, plugport.InputSchema(string(schema)))
	}
	plugport.Tool("wrong", "Be wrong.", echo, plugport.InputSchema(`{"type":"array"}`))
	plugport.Tool("book", "Book a room.", func(_ *plugport.Call, args stay) (string, error) {
		return strings.Repeat("z", args.Nights), nil
	})
	plugport.Tool("empty", "Return no text.", empty)
	plugport.Tool("promised", "Return no text, against the schema.", empty, plugport.OutputSchema(`{"type":"object"}`))
	plugport.Tool("unwritable", "Return what is no JSON.", giveUnwritable)
	plugport.Tool("sum", "Add.", sum, plugport.OutputSchema(`{"type":"object","properties":{"sum":{"maximum":9}}}`))
}

// empty has structured content of no bytes, which a component leaves out.
func empty(_ *plugport.Call, _ struct{}) (plugport.ToolResult, error) {
	return plugport.ToolResult{Structured: json.RawMessage(nil)}, nil
}

func TestStructuredContentOfNoBytesIsLeftOut(t *testing.T) {
	if outcome := plugporttest.New().CallTool("empty", struct{}{}); outcome.Err != nil || outcome.IsError() {
		t.Error(outcome.Err, outcome.Text())
	}
	outcome := plugporttest.New().CallTool("promised", struct{}{})
	if !strings.HasSuffix(outcome.Text(), "it promises structured content and gave none") {
		t.Error(outcome.Err, outcome.Text())
	}
}

type sumArgs struct {
	A    int  `json:"a"`
	Lost bool `json:"lost,omitempty"`
}

// sum promises structured content.
func sum(_ *plugport.Call, args sumArgs) (plugport.ToolResult, error) {
	if args.Lost {
		return plugport.ToolResult{}, nil
	}
	return plugport.ToolResult{Structured: map[string]int{"sum": args.A}}, nil
}

// panics cannot be written as JSON.
type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no JSON") }

type unwritableArgs struct {
	Kind string `json:"kind"`
}

// unwritable is structured content that a tool without a schema returns, and how the words begin that the client gets.
var unwritable = map[string]struct {
	structured any
	text       string
	isRejected bool
}{
	"function": {func() {}, "the tool's result cannot be written as JSON: ", true},
	"panic":    {panics{}, "the plugin panicked while writing the answer: no JSON; its log has the stack", true},
	"broken": {
		json.RawMessage(`{"a":`),
		"the tool returned an invalid result: its structured content is not JSON that every client can read", false,
	},
}

func giveUnwritable(_ *plugport.Call, args unwritableArgs) (plugport.ToolResult, error) {
	content := []plugport.Content{plugport.Text("made")}
	return plugport.ToolResult{Content: content, Structured: unwritable[args.Kind].structured}, nil
}

func faultsOf(t *testing.T, outcome *plugporttest.Outcome) []string {
	t.Helper()
	if !outcome.IsError() {
		return nil
	}
	text, are := strings.CutPrefix(outcome.Text(), prefix)
	if !are {
		t.Error(outcome.Text())
	}
	return slices.Sorted(slices.Values(strings.Split(text, "; ")))
}

func TestArgumentsAreRejectedInTheWordsOfTheServer(t *testing.T) {
	text, err := os.ReadFile(cases + "cases.json")
	if err != nil {
		t.Skip("the cases are in the repository")
	}
	var all []struct {
		Args, Reaches json.RawMessage
		Faults        []string
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, it := range all {
		outcome := plugporttest.New().CallTool("echo", it.Args)
		slices.Sort(it.Faults)
		if got := faultsOf(t, outcome); !slices.Equal(got, it.Faults) {
			t.Errorf("%s\ngot  %q\nwant %q", it.Args, got, it.Faults)
		}
		if it.Reaches != nil && sorted(outcome.Text()) != sorted(string(it.Reaches)) {
			t.Error(outcome.Text())
		}
	}
}

// The cases are written by `cargo run -p plugport-tests --bin argument_types`.
func TestGeneratedArgumentsAreAcceptedWhereTheServerAcceptsThem(t *testing.T) {
	path := os.Getenv("PLUGPORT_VALIDATION_CASES")
	if path == "" {
		t.Skip("there are no generated cases")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var it struct {
			Schema, Args string
			Accepted     bool
		}
		if err := json.Unmarshal([]byte(line), &it); err != nil {
			t.Fatal(err)
		}
		name, known := tools[it.Schema]
		if !known {
			name = fmt.Sprint("generated", len(tools))
			tools[it.Schema] = name
			plugport.Tool(name, "Say what came.", echo, plugport.InputSchema(it.Schema))
		}
		outcome := plugporttest.New().CallTool(name, json.RawMessage(it.Args))
		rejected := outcome.IsError() && strings.HasPrefix(outcome.Text(), prefix)
		if rejected == it.Accepted {
			t.Errorf("%s of %s: %s", it.Args, it.Schema, outcome.Text())
		}
	}
}

// sorted is JSON without space, its members in the order of the alphabet.
func sorted(text string) string {
	var value any
	_ = json.Unmarshal([]byte(text), &value)
	made, _ := json.Marshal(value)
	return string(made)
}

func TestLimitsOfTypesAreThoseOfTestsToo(t *testing.T) {
	for _, it := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"nights": 99}, "/nights: 99 is greater than the maximum of 30"},
		{map[string]any{"nights": 1, "board": "no"}, `/board: "no" is not one of "full" or "half"`},
		{map[string]any{"nights": 1, "guests": []int{1}}, `/guests/0: 1 is not of type "string"`},
		{map[string]any{"night": 1, "nights": 1}, "/night: not a known property"},
	} {
		if got := faultsOf(t, plugporttest.New().CallTool("book", it.args)); !slices.Equal(got, []string{it.want}) {
			t.Errorf("got  %q\nwant %q", got, it.want)
		}
	}
	null := plugporttest.New().CallTool("book", map[string]any{"nights": 3, "board": nil, "guests": nil})
	if null.Text() != "zzz" {
		t.Error(null.Text())
	}
	long := plugporttest.New().CallTool("book", map[string]any{"nights": strings.Repeat("é", 1_000)}).Text()
	if len(long) > len(prefix)+303 || !strings.HasSuffix(long, "é…") {
		t.Error(long)
	}
}

func TestASchemaThatTheServerWouldRejectIsTold(t *testing.T) {
	outcome := plugporttest.New().CallTool("wrong", struct{}{})
	if plugport.KindOf(outcome.Err) != plugport.Internal || !strings.Contains(outcome.Text(), "would reject this tool") {
		t.Error(outcome.Text())
	}
}

func TestAResultThatDoesNotFitIsRejectedInTheWordsOfTheServer(t *testing.T) {
	if outcome := plugporttest.New().CallTool("sum", sumArgs{A: 9}); outcome.IsError() {
		t.Error(outcome.Text())
	}
	for args, why := range map[sumArgs]string{
		{A: 10}:      "its structured content does not fit its schema: /sum: 10 is greater than the maximum of 9",
		{Lost: true}: "it promises structured content and gave none",
	} {
		outcome := plugporttest.New().CallTool("sum", args)
		if want := "the tool returned an invalid result: " + why; !outcome.IsError() || outcome.Text() != want {
			t.Errorf("got  %q\nwant %q", outcome.Text(), want)
		}
	}
}

func TestAResultThatIsNoJSONIsTheErrorThatTheServerGives(t *testing.T) {
	for kind, it := range unwritable {
		outcome := plugporttest.New().CallTool("unwritable", unwritableArgs{kind})
		if !outcome.IsError() || !strings.HasPrefix(outcome.Text(), it.text) || (outcome.Err != nil) != it.isRejected {
			t.Errorf("%s: got  %q, %v\nwant %q", kind, outcome.Text(), outcome.Err, it.text)
		}
		if it.isRejected && plugport.KindOf(outcome.Err) != plugport.Internal {
			t.Error(kind, outcome.Err)
		}
	}
	if outcome := plugporttest.New().CallTool("unwritable", unwritableArgs{"none"}); outcome.Text() != "made" {
		t.Error(outcome.Text())
	}
}

func TestAFormThatDoesNotFitIsNoResponseAsAtTheServer(t *testing.T) {
	fill := func(content any) error {
		_, err := plugport.Elicit[stayForm](plugporttest.New().Accepts(content).Call(), "Stay?")
		return err
	}
	if err := fill(stayForm{Nights: 3}); err != nil {
		t.Error(err)
	}
	for why, content := range map[string]map[string]any{
		"the field `nights` does not fit the form": {"nights": 99},
		"the field `nights` is missing":            {"board": "full"},
		"the field `more` is not part of the form": {"nights": 3, "more": map[string]any{}},
	} {
		err := fill(content)
		if plugport.KindOf(err) != plugport.RPC || err.Error() != "the client's response cannot be used: "+why {
			t.Error(err)
		}
	}
}

func TestAFormIsCheckedAsTheServerChecksIt(t *testing.T) {
	text, err := os.ReadFile(cases + "forms.json")
	if err != nil {
		t.Skip("the cases are in the repository")
	}
	var forms struct {
		Form  json.RawMessage
		Cases []struct {
			Content json.RawMessage
			Fault   string
		}
	}
	if err := json.Unmarshal(text, &forms); err != nil {
		t.Fatal(err)
	}
	for _, it := range forms.Cases {
		result := map[string]any{"action": "accept"}
		if it.Content != nil {
			result["content"] = it.Content
		}
		_, err := plugporttest.New().ElicitsWith(result, nil).Call().ElicitForm("?", forms.Form)
		switch {
		case it.Fault == "" && err != nil:
			t.Errorf("%s: %v", it.Content, err)
		case it.Fault != "" && (err == nil || err.Error() != "the client's response cannot be used: "+it.Fault):
			t.Errorf("%s: got %v, want %s", it.Content, err, it.Fault)
		}
	}
}
